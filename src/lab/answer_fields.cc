// SPDX-License-Identifier: Apache-2.0
#include "lab/answer_fields.h"

#include <algorithm>
#include <map>

namespace pawl::lab {

using base::Json;

namespace {

// An array or object that is open where the text has been read to.
struct Open {
  bool is_object = false;
  bool wants_name = false;
  std::optional<std::string> name;  // of the member being read
};

class Owners {
 public:
  Owners() { fields_.paths.emplace_back(), ids_[FieldPath()] = 0; }

  void put(size_t bytes) { fields_.owners.insert(fields_.owners.end(), bytes, current_); }

  // Called when the stack changed.
  void move_to(const std::vector<Open>& stack) {
    FieldPath path;
    for (const Open& open : stack) {
      if (open.name && path.size() < kFieldDepth) path.push_back(*open.name);
    }
    const auto [found, is_new] = ids_.emplace(path, static_cast<int32_t>(fields_.paths.size()));
    if (is_new) fields_.paths.push_back(std::move(path));
    current_ = found->second;
  }

  AnswerFields take() { return std::move(fields_); }

 private:
  AnswerFields fields_;
  std::map<FieldPath, int32_t> ids_;
  int32_t current_ = 0;
};

// Behind the closing quote of the string that begins at `start`, or the end of the text.
size_t string_end(std::string_view text, size_t start) {
  for (size_t i = start + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return i + 1;
    }
  }
  return text.size();
}

std::string decoded(std::string_view quoted) {
  const auto value = base::parse_json(quoted);
  if (value.ok() && value->as_string() != nullptr) return *value->as_string();
  return std::string(quoted.substr(std::min<size_t>(1, quoted.size())));  // cut off
}

}  // namespace

std::string shown_path(const FieldPath& path) {
  std::string text;
  for (const std::string& name : path) text += (text.empty() ? "" : ".") + name;
  return text;
}

FieldPath parse_path(std::string_view text) {
  FieldPath path;
  while (!text.empty()) {
    const size_t dot = std::min(text.find('.'), text.size());
    path.emplace_back(text.substr(0, dot));
    text.remove_prefix(std::min(dot + 1, text.size()));
  }
  return path;
}

bool is_within(const FieldPath& path, const FieldPath& field) {
  return path.size() >= field.size() && std::equal(field.begin(), field.end(), path.begin());
}

AnswerFields fields_of(std::string_view text) {
  Owners owners;
  std::vector<Open> stack;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '"') {
      const size_t end = string_end(text, i);
      if (!stack.empty() && stack.back().wants_name) {
        stack.back().name = decoded(text.substr(i, end - i));
        stack.back().wants_name = false;
        owners.move_to(stack);
      }
      owners.put(end - i);
      i = end;
      continue;
    }
    if (c == '{' || c == '[') {
      owners.put(1);
      stack.push_back({c == '{', c == '{', std::nullopt});
    } else if (c == '}' || c == ']') {
      if (!stack.empty()) stack.pop_back();
      owners.move_to(stack);
      owners.put(1);
    } else {
      owners.put(1);
      if (c == ',' && !stack.empty() && stack.back().is_object) stack.back().wants_name = true;
    }
    ++i;
  }
  return owners.take();
}

std::optional<Json> value_at(const Json& answer, const FieldPath& path) {
  if (path.empty()) return answer;
  if (const auto* items = answer.as_array()) {
    Json values = Json::array();
    for (const Json& item : *items) {
      if (auto value = value_at(item, path)) values.push_back(std::move(*value));
    }
    if (values.as_array()->empty()) return std::nullopt;
    return values;
  }
  const Json* const member = answer.find(path.front());
  if (member == nullptr) return std::nullopt;
  return value_at(*member, FieldPath(path.begin() + 1, path.end()));
}

Json without(const Json& answer, const std::vector<FieldPath>& fields) {
  if (const auto* items = answer.as_array()) {
    Json list = Json::array();
    for (const Json& item : *items) list.push_back(without(item, fields));
    return list;
  }
  const auto* members = answer.as_object();
  if (members == nullptr) return answer;
  Json kept = Json::object();
  for (const auto& [name, value] : *members) {
    std::vector<FieldPath> inside;
    bool is_left_out = false;
    for (const FieldPath& field : fields) {
      if (field.empty() || field.front() != name) continue;
      is_left_out = is_left_out || field.size() == 1;
      inside.emplace_back(field.begin() + 1, field.end());
    }
    if (!is_left_out) kept[name] = inside.empty() ? value : without(value, inside);
  }
  return kept;
}

}  // namespace pawl::lab
