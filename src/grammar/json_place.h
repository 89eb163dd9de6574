// SPDX-License-Identifier: Apache-2.0
// Where one stands in a JSON text that grows: what is open, and what may come. It reads valid JSON
// only, whole or cut anywhere; white space between lexemes is passed over.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::grammar {

// Threads: none. Small, and copied freely.
class JsonPlace {
 public:
  enum class At : uint8_t {
    kValue,   // a value comes (or, right behind [, its end)
    kKey,     // a key comes (or, right behind {, its end)
    kColon,   // behind a key
    kString,  // in a string: a value's or a key's
    kPlain,   // in a number or a word
    kBehind,  // behind a value
  };

  void push(std::string_view bytes);

  At at() const { return at_; }
  bool is_escaped() const { return is_escaped_; }  // the next byte, in a string
  size_t depth() const { return open_.size(); }

  // The same for two texts that differ in nothing but what values and keys were already closed.
  void append_to(std::string& fingerprint) const;

 private:
  void take(char byte);

  std::string open_;
  std::vector<uint32_t> closed_;  // of each that is open: the members or items behind us
  At at_ = At::kValue;
  bool is_key_ = false, is_escaped_ = false;
  uint32_t length_ = 0;  // bytes of the string, number or word at hand
};

}  // namespace pawl::grammar
