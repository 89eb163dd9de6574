// SPDX-License-Identifier: Apache-2.0
#include "model/pooling.h"

#include <array>
#include <cmath>
#include <string>

namespace pawl::model {
namespace {

struct PoolingRow {
  Pooling pooling;
  std::string_view name;
  uint32_t number;  // in files; 0 is none, 4 a score of a pair of texts
};

constexpr std::array kRows = {PoolingRow{Pooling::kMean, "mean", 1},
                              PoolingRow{Pooling::kFirst, "cls", 2},
                              PoolingRow{Pooling::kLast, "last", 3}};

}  // namespace

std::string_view pooling_name(Pooling pooling) {
  for (const PoolingRow& row : kRows) {
    if (row.pooling == pooling) return row.name;
  }
  return "";
}

std::optional<Pooling> find_pooling(std::string_view name) {
  for (const PoolingRow& row : kRows) {
    if (row.name == name) return row.pooling;
  }
  return std::nullopt;
}

base::Result<std::optional<Pooling>> read_pooling(const gguf::Metadata& metadata) {
  PAWL_TRY(const std::string_view architecture, metadata.get_string("general.architecture"));
  const std::string key = std::string(architecture) + ".pooling_type";
  PAWL_TRY(const uint32_t number, metadata.get_u32_or(key, 0));
  if (number == 0) return std::optional<Pooling>();
  for (const PoolingRow& row : kRows) {
    if (row.number == number) return std::optional(row.pooling);
  }
  return base::Error{
      base::ErrorCode::kUnsupported,
      "key '" + key + "': " + std::to_string(number) + " is none of 1 (mean), 2 (cls), 3 (last)",
      ""};
}

bool finish_pooling(Pooling pooling, int64_t positions, bool is_normalised,
                    std::span<float> vector) {
  if (pooling == Pooling::kMean && positions > 0) {
    for (float& x : vector) x /= static_cast<float>(positions);
  }
  double squares = 0;
  for (const float x : vector) squares += static_cast<double>(x) * static_cast<double>(x);
  if (!std::isfinite(squares)) return false;
  if (!is_normalised || squares == 0) return true;
  const double inverse = 1 / std::sqrt(squares);
  for (float& x : vector) x = static_cast<float>(static_cast<double>(x) * inverse);
  return true;
}

}  // namespace pawl::model
