// SPDX-License-Identifier: Apache-2.0
#include "schema/reference.h"

#include <algorithm>
#include <vector>

namespace pawl::schema {
namespace {

// RFC 3986 §5.2.4.
std::string without_dots(std::string_view path) {
  std::vector<std::string_view> kept;
  bool is_folder = false;
  while (true) {
    const size_t slash = path.find('/');
    const std::string_view segment = path.substr(0, slash);
    is_folder = segment == "." || segment == "..";
    if (segment == ".." && !kept.empty()) kept.pop_back();
    if (!is_folder) kept.push_back(segment);
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  if (is_folder) kept.emplace_back();
  std::string out;
  for (size_t i = 0; i < kept.size(); ++i) out.append(i > 0 ? "/" : "").append(kept[i]);
  return out;
}

// Where the path begins: behind the scheme and, where there is one, the authority.
size_t path_begin(std::string_view uri) {
  const size_t scheme = uri.find(':');
  if (uri.substr(scheme + 1, 2) != "//") return scheme + 1;
  const size_t slash = uri.find('/', scheme + 3);
  return slash == std::string_view::npos ? uri.size() : slash;
}

std::string normal(const std::string& uri) {
  size_t path = path_begin(uri);
  if (path >= uri.size() || uri[path] != '/') return uri;
  ++path;
  const size_t end = std::min(uri.find('?', path), uri.size());
  return uri.substr(0, path) + without_dots(std::string_view(uri).substr(path, end - path)) +
         uri.substr(end);
}

}  // namespace

std::string resolved_uri(const std::string& base, std::string_view reference) {
  if (reference.empty()) return base;
  const size_t colon = reference.find(':');
  const bool has_scheme = colon != std::string_view::npos && reference.find('/') > colon;
  if (has_scheme) return normal(std::string(reference));
  if (base.find(':') == std::string::npos) return std::string(reference);
  if (reference.starts_with("//")) {
    return normal(base.substr(0, base.find(':') + 1) + std::string(reference));
  }
  const size_t path = path_begin(base);
  if (reference.starts_with('/')) return normal(base.substr(0, path) + std::string(reference));
  const size_t slash = base.substr(0, base.find('?')).rfind('/');
  const bool has_path = slash != std::string::npos && slash >= path;
  const std::string folder = has_path ? base.substr(0, slash + 1) : base.substr(0, path) + "/";
  return normal(folder + std::string(reference));
}

std::string percent_decoded(std::string_view text) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
  };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 &&
        digit(text[i + 2]) >= 0) {
      out += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string pointer_token(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

std::string pointer_name(std::string_view token) {
  std::string out;
  for (size_t i = 0; i < token.size(); ++i) {
    const bool is_escape = token[i] == '~' && i + 1 < token.size();
    if (is_escape && (token[i + 1] == '0' || token[i + 1] == '1')) {
      out += token[++i] == '0' ? '~' : '/';
    } else {
      out += token[i];
    }
  }
  return out;
}

}  // namespace pawl::schema
