// SPDX-License-Identifier: Apache-2.0
// An answer whose prompt opened the model's thinking, taken apart as it comes: thinking up to the
// mark that closes it, the answer behind it.
#pragma once

#include <string>
#include <string_view>

namespace pawl::server {

class ThinkingReader {
 public:
  // Appends what is decided to `thinking` and `answer`. What may be the head of the mark is held
  // back; line breaks right behind it belong to neither.
  void push(std::string_view text, std::string& thinking, std::string& answer);
  // No more comes: what was held back is thinking.
  void finish(std::string& thinking);

 private:
  std::string held_;
  bool is_behind_ = false;  // the mark
  bool has_begun_ = false;  // the answer, with what is no line break
};

}  // namespace pawl::server
