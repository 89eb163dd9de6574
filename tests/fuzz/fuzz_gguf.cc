// SPDX-License-Identifier: Apache-2.0
// Any bytes as a GGUF file: opens, or ends in an error with a message. Then everything is looked at
// that a loader would look at.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "gguf/reader.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

// Reads what it is given, so that a sanitizer sees it; the sum keeps the compiler from leaving it
// out.
uint64_t sum_of(std::span<const std::byte> bytes) {
  uint64_t sum = 0;
  for (const std::byte byte : bytes) sum += std::to_integer<uint64_t>(byte);
  return sum;
}

uint64_t read_key(const pawl::gguf::Metadata& metadata, std::string_view key) {
  uint64_t sum = 0;
  if (const auto number = metadata.get_u32(key); number.ok()) sum += *number;
  if (const auto number = metadata.get_u64(key); number.ok()) sum += *number;
  if (const auto number = metadata.get_f32(key); number.ok()) sum += *number > 0 ? 1 : 0;
  if (const auto flag = metadata.get_bool(key); flag.ok()) sum += *flag ? 1 : 0;
  if (const auto text = metadata.get_string(key); text.ok()) sum += std::string(*text).size();
  if (const auto texts = metadata.get_string_array(key); texts.ok()) {
    for (const std::string_view text : *texts) sum += std::string(text).size();
  }
  if (const auto numbers = metadata.get_i32_array(key); numbers.ok()) {
    for (size_t i = 0; i < numbers->size(); ++i) sum += static_cast<uint32_t>((*numbers)[i]);
  }
  if (const auto numbers = metadata.get_f32_array(key); numbers.ok()) {
    for (size_t i = 0; i < numbers->size(); ++i) sum += (*numbers)[i] > 0 ? 1 : 0;
  }
  if (const auto layers = metadata.get_u32_per_layer(key, 2); layers.ok()) sum += (*layers)[1];
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto opened = pawl::gguf::open_bytes(std::as_bytes(std::span(data, size)));
  if (!opened.ok()) {
    require(!opened.error().message.empty());
    require(opened.error().message.find('\n') == std::string::npos);
    return 0;
  }
  const pawl::gguf::File& file = **opened;
  volatile uint64_t sum = 0;
  for (const auto& entry : file.metadata().entries()) {
    require(file.metadata().find(entry.key) == &entry.value);
    sum = sum + pawl::gguf::describe(entry.value, 4).size() + read_key(file.metadata(), entry.key);
  }
  for (const auto& tensor : file.tensors()) {
    require(file.find_tensor(tensor.name) == &tensor);
    require(tensor.n_dims >= 1 && tensor.n_dims <= 4 && !tensor.data.empty());
    sum = sum + sum_of(tensor.data);
  }
  return 0;
}
