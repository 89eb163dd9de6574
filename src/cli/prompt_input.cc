// SPDX-License-Identifier: Apache-2.0
#include "cli/prompt_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>

#include "cli/command_line.h"

namespace pawl::cli {

using base::Error;
using base::ErrorCode;
using base::Result;

extern const char kPromptsText[];

Result<std::vector<base::TokenId>> parse_ids(std::string_view text) {
  std::vector<base::TokenId> ids;
  while (true) {
    const size_t comma = text.find(',');
    std::string_view word = text.substr(0, comma);
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    const auto id = parse_integer(word);
    if (!id || *id < 0 || *id > std::numeric_limits<base::TokenId>::max()) {
      return Error{
          ErrorCode::kInvalidArgument,
          fmt::format("'{}' is no token id; ids are integers of 0 or more, with commas between",
                      word.substr(0, 60)),
          "--ids"};
    }
    ids.push_back(static_cast<base::TokenId>(*id));
    if (comma == std::string_view::npos) return ids;
    text.remove_prefix(comma + 1);
  }
}

Result<std::string> read_text(const std::string& path) {
  constexpr size_t kLimit = size_t{1} << 30;
  struct Close {
    void operator()(std::FILE* file) const {
      if (file != stdin) std::fclose(file);
    }
  };
  const std::unique_ptr<std::FILE, Close> file(path == "-" ? stdin
                                                           : std::fopen(path.c_str(), "rb"));
  if (!file) {
    const auto code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
    return Error{code, std::string("cannot read: ") + std::strerror(errno), path};
  }
  std::string text;
  char buffer[65536];
  while (const size_t count = std::fread(buffer, 1, sizeof(buffer), file.get())) {
    text.append(buffer, count);
    if (text.size() > kLimit) {
      return Error{ErrorCode::kBadFile, "a text of more than 1 GiB", path};
    }
  }
  if (std::ferror(file.get()) != 0) {
    return Error{ErrorCode::kIo, std::string("cannot read: ") + std::strerror(errno), path};
  }
  return text;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) lines.emplace_back(line);
  }
  return lines;
}

std::vector<std::string> built_in_prompts() {
  return lines_of(kPromptsText);
}

}  // namespace pawl::cli
