// SPDX-License-Identifier: Apache-2.0
#include "server/thinking_reader.h"

#include <algorithm>

#include "grammar/thinking.h"
#include "server/text_marks.h"

namespace pawl::server {

void ThinkingReader::push(std::string_view text, std::string& thinking, std::string& answer) {
  if (has_begun_) {
    answer += text;
    return;
  }
  held_ += text;
  if (!is_behind_) {
    constexpr std::string_view kMark = grammar::kThinking.close;
    const size_t found = held_.find(kMark);
    is_behind_ = found != std::string::npos;
    const size_t end = is_behind_ ? found : held_.size() - head_of_mark(held_, kMark);
    thinking.append(held_, 0, end);
    held_.erase(0, is_behind_ ? end + kMark.size() : end);
  }
  if (!is_behind_) return;
  const size_t begin = held_.find_first_not_of("\r\n");
  has_begun_ = begin != std::string::npos;
  if (has_begun_) answer.append(held_, begin);
  held_.clear();
}

void ThinkingReader::finish(std::string& thinking) {
  if (!is_behind_) thinking += held_;
  held_.clear();
}

}  // namespace pawl::server
