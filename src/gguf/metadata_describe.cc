// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <string>

#include "gguf/metadata.h"
#include "gguf/value.h"

namespace pawl::gguf {
namespace {

constexpr size_t kShownTextBytes = 160;

bool continues_a_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

// In double quotes, on one line. Bytes beyond ASCII stay as they are, and none of a character is
// cut off.
std::string text_for_people(std::string_view text) {
  size_t shown = std::min(text.size(), kShownTextBytes);
  while (shown > 0 && shown < text.size() && continues_a_character(text[shown])) --shown;
  std::string out = "\"";
  for (const char c : text.substr(0, shown)) {
    switch (c) {
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) {
          out += c;
        } else {
          out += "\\x";
          out += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
          out += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
        }
    }
  }
  return out + (shown < text.size() ? "...\"" : "\"");
}

std::string decimal(double number, int digits) {
  char buffer[40];
  std::snprintf(buffer, sizeof(buffer), "%.*g", digits, number);
  return buffer;
}

std::string array_for_people(const Value& array, size_t max_elements) {
  std::string out = "[";
  Cursor cursor(array.payload);
  for (uint64_t i = 0; i < array.count && i < max_elements; ++i) {
    // Nested arrays count as depth 1 again: their depth was checked when the file was opened.
    const auto element = read_value(cursor, array.element, 1);
    if (!element.ok()) break;
    if (i != 0) out += ", ";
    out += describe(*element, max_elements);
  }
  if (array.count > max_elements) out += max_elements == 0 ? "..." : ", ...";
  return out + "] (" + std::to_string(array.count) + " " +
         std::string(value_type_name(array.element)) + ")";
}

}  // namespace

std::string describe(const Value& value, size_t max_elements) {
  switch (value.type) {
    case ValueType::kUint8:
      return std::to_string(number_of<uint8_t>(value));
    case ValueType::kInt8:
      return std::to_string(number_of<int8_t>(value));
    case ValueType::kUint16:
      return std::to_string(number_of<uint16_t>(value));
    case ValueType::kInt16:
      return std::to_string(number_of<int16_t>(value));
    case ValueType::kUint32:
      return std::to_string(number_of<uint32_t>(value));
    case ValueType::kInt32:
      return std::to_string(number_of<int32_t>(value));
    case ValueType::kUint64:
      return std::to_string(number_of<uint64_t>(value));
    case ValueType::kInt64:
      return std::to_string(number_of<int64_t>(value));
    case ValueType::kFloat32:
      return decimal(static_cast<double>(number_of<float>(value)), 7);
    case ValueType::kFloat64:
      return decimal(number_of<double>(value), 16);
    case ValueType::kBool:
      return number_of<uint8_t>(value) != 0 ? "true" : "false";
    case ValueType::kString:
      return text_for_people(as_text(value.payload));
    case ValueType::kArray:
      return array_for_people(value, max_elements);
  }
  return "";
}

}  // namespace pawl::gguf
