// SPDX-License-Identifier: Apache-2.0
#include "kv/state_pool.h"

#include <string>
#include <utility>

#include "base/check.h"

namespace pawl::kv {
namespace {

constexpr int64_t kAlignment = 16;  // in floats

}  // namespace

base::Result<StatePool> StatePool::create(int32_t slots, int64_t floats) {
  PAWL_CHECK(slots > 0 && floats >= 0);
  floats = (floats + kAlignment - 1) / kAlignment * kAlignment;
  int64_t bytes = 0;
  if (__builtin_mul_overflow(floats, int64_t{slots} * static_cast<int64_t>(sizeof(float)), &bytes))
    bytes = INT64_MAX;
  auto memory = base::Arena::create(bytes);
  if (!memory.ok()) {
    return base::Error{base::ErrorCode::kOutOfMemory,
                       "no memory for the states of " + std::to_string(slots) + " sequences of " +
                           std::to_string(floats * static_cast<int64_t>(sizeof(float))) + " bytes",
                       "kv"};
  }
  return StatePool(std::move(memory).value(), slots, floats);
}

StatePool::StatePool(base::Arena memory, int32_t slots, int64_t floats)
    : memory_(std::move(memory)), floats_(floats), is_taken_(static_cast<size_t>(slots), 0) {
  for (StateId id = slots - 1; id >= 0; --id) free_.push_back(id);
}

std::optional<StateId> StatePool::take() {
  if (free_.empty()) return std::nullopt;
  const StateId id = free_.back();
  free_.pop_back();
  is_taken_[static_cast<size_t>(id)] = 1;
  return id;
}

void StatePool::release(StateId id) {
  uint8_t& is_taken = is_taken_[static_cast<size_t>(id)];
  PAWL_CHECK(is_taken != 0);
  is_taken = 0;
  free_.push_back(id);
}

float* StatePool::state(StateId id) const {
  if (floats_ == 0) return nullptr;
  return reinterpret_cast<float*>(memory_.data()) + id * floats_;
}

}  // namespace pawl::kv
