// SPDX-License-Identifier: Apache-2.0
// One vector for a whole text, made of the final hidden states of its positions: what the output
// matrix would have read, after the last norm.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "gguf/metadata.h"

namespace pawl::model {

enum class Pooling {
  kMean,   // of all positions
  kLast,   // of the last position, which has seen them all
  kFirst,  // of the first position ("cls")
};

// "mean", "last", "cls".
std::string_view pooling_name(Pooling pooling);
std::optional<Pooling> find_pooling(std::string_view name);

// What the file's key "<architecture>.pooling_type" says; nothing where it says none or is missing.
// Error kUnsupported for a kind that is not here.
base::Result<std::optional<Pooling>> read_pooling(const gguf::Metadata& metadata);

// The sum that a forward pass leaves → the vector: the mean is divided by the positions; then, if
// wanted, the vector is brought to length 1. Zeros stay zeros. False: it holds what is no number.
[[nodiscard]] bool finish_pooling(Pooling pooling, int64_t positions, bool is_normalised,
                                  std::span<float> vector);

}  // namespace pawl::model
