// SPDX-License-Identifier: Apache-2.0
// The first half alone: rows of logits for the positions of a text, or one vector for all of it,
// with nobody choosing anything.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/token.h"
#include "engine/runtime.h"
#include "model/pooling.h"

namespace pawl::probe {

struct RowsOptions {
  int64_t first = 0;  // position of the first row wanted
  int64_t last = 0;   // and of the last, inclusive; REQUIRES: 0 <= first <= last < ids.size()
  int chunk = 512;    // positions per forward pass; changes no bit
};

// Calls row(position, logits [vocabulary]) for each position in order. The view is valid during the
// call. Errors: kInvalidArgument for an empty text or an id outside the vocabulary; kOutOfMemory.
base::Result<void> compute_rows(engine::Runtime& runtime, std::span<const base::TokenId> ids,
                                const RowsOptions& options,
                                const std::function<void(int64_t, std::span<const float>)>& row);

// The row of the last position, from nothing but the ids: one pass over all of them and an empty
// cache, or passes of 4,096 where there are more. Errors as above.
base::Result<std::vector<float>> compute_last_row(engine::Runtime& runtime,
                                                  std::span<const base::TokenId> ids);

// One vector for the text [width], as a request with pooling gives it. Errors as above.
base::Result<std::vector<float>> compute_embedding(engine::Runtime& runtime,
                                                   std::span<const base::TokenId> ids,
                                                   model::Pooling pooling, bool is_normalised);

}  // namespace pawl::probe
