// SPDX-License-Identifier: Apache-2.0
// Reads little-endian numbers and texts from bytes, never beyond them. A read that does not fit
// fails and moves nothing.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace pawl::gguf {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they stand");

class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  size_t position() const { return position_; }
  size_t remaining() const { return bytes_.size() - position_; }

  template <typename T>
  [[nodiscard]] bool read(T* value) {
    if (remaining() < sizeof(T)) return false;
    std::memcpy(value, bytes_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return true;
  }

  [[nodiscard]] bool take(uint64_t count, std::span<const std::byte>* part) {
    if (count > remaining()) return false;
    *part = bytes_.subspan(position_, static_cast<size_t>(count));
    position_ += static_cast<size_t>(count);
    return true;
  }

  // A u64 length and that many bytes.
  [[nodiscard]] bool read_text(std::span<const std::byte>* text) {
    const size_t before = position_;
    uint64_t length = 0;
    if (read(&length) && take(length, text)) return true;
    position_ = before;
    return false;
  }

 private:
  std::span<const std::byte> bytes_;
  size_t position_ = 0;
};

inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A foreign name for a message: in quotes, one line, ASCII, at most 80 characters of it.
inline std::string quoted(std::string_view name) {
  constexpr size_t kShown = 80;
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "'";
  for (const char c : name.substr(0, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  if (name.size() > kShown) out += "...";
  return out + "'";
}

}  // namespace pawl::gguf
