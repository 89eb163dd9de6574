// SPDX-License-Identifier: Apache-2.0
#include "grammar/json_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"

namespace pawl::grammar {

using base::Error;
using base::ErrorCode;
using base::Result;
using schema::Alternatives;
using schema::ArrayPart;
using schema::Language;
using schema::NodeId;

namespace {

constexpr size_t kMaxForms = 100'000;

}  // namespace

Error JsonWriter::refused(NodeId owner, std::string_view keyword, std::string_view what) const {
  const std::string path = expander_.path(owner);
  return {
      ErrorCode::kUnsupported,
      fmt::format("'{}' at {}: {}", keyword, base::quoted_text(path.empty() ? "/" : path), what),
      path};
}

Result<FormNode> JsonWriter::value(NodeId node) {
  const auto known = values_.find(node);
  if (known != values_.end()) return known->second;
  const FormNode made = form_.reserve(expander_.path(node));
  values_.emplace(node, made);
  waiting_.push_back(node);
  return made;
}

Result<void> JsonWriter::finish() {
  while (!waiting_.empty()) {
    const NodeId node = waiting_.back();
    waiting_.pop_back();
    PAWL_TRY(const FormNode meaning, written(node));
    form_.define(values_.at(node), meaning);
    if (form_.size() > kMaxForms) {
      return Error{ErrorCode::kUnsupported,
                   fmt::format("the schema becomes a grammar of more than {} parts", kMaxForms),
                   ""};
    }
  }
  return {};
}

Result<FormNode> JsonWriter::written(NodeId node) {
  PAWL_TRY(const Alternatives* found, expander_.expand(node));
  const Alternatives parts = *found;  // looking into others may move it
  std::vector<FormNode> options;
  if (parts.may_be_null) options.push_back(form_.literal("null"));
  if (parts.may_be_true) options.push_back(form_.literal("true"));
  if (parts.may_be_false) options.push_back(form_.literal("false"));
  std::vector<Language> numbers, strings;
  for (const schema::NumberPart& part : parts.numbers) numbers.push_back(part.language);
  for (const schema::StringPart& part : parts.strings) strings.push_back(part.language);
  if (!numbers.empty()) options.push_back(form_.lexeme(Language::any_of(std::move(numbers))));
  if (!strings.empty()) {
    options.push_back(form_.lexeme(Language::any_of(std::move(strings)).quoted()));
  }
  for (const ArrayPart& part : parts.arrays) {
    PAWL_TRY(const FormNode option, array(part, node));
    options.push_back(option);
  }
  for (const ObjectPart& part : parts.objects) {
    PAWL_TRY(const FormNode option, object(part, node));
    options.push_back(option);
  }
  return form_.any(std::move(options));
}

FormNode JsonWriter::list(FormNode item, bool has_before, int64_t least,
                          std::optional<int64_t> most) {
  const FormNode with_comma = form_.sequence({form_.literal(","), item});
  if (has_before) return form_.repeat(with_comma, least, most);
  if (most && *most == 0) return form_.sequence({});
  const std::optional<int64_t> more = most ? std::optional(*most - 1) : std::nullopt;
  const FormNode some =
      form_.sequence({item, form_.repeat(with_comma, std::max<int64_t>(least - 1, 0), more)});
  return least > 0 ? some : form_.any({form_.sequence({}), some});
}

Result<std::vector<std::string>> JsonWriter::value_list(NodeId node) {
  PAWL_TRY(const Alternatives* parts, expander_.expand(node));
  std::vector<std::string> list;
  if (!parts->arrays.empty() || !parts->objects.empty()) return list;
  for (const schema::NumberPart& part : parts->numbers) {
    if (part.only.empty()) return std::vector<std::string>();
    list.insert(list.end(), part.only.begin(), part.only.end());
  }
  for (const schema::StringPart& part : parts->strings) {
    if (part.only.empty()) return std::vector<std::string>();
    for (const std::string& text : part.only) list.push_back(base::Json(text).dump());
  }
  if (parts->may_be_null) list.emplace_back("null");
  if (parts->may_be_true) list.emplace_back("true");
  if (parts->may_be_false) list.emplace_back("false");
  std::ranges::sort(list);
  const auto last = std::unique(list.begin(), list.end());
  list.erase(last, list.end());
  return list;
}

Result<GuardShapes> JsonWriter::shapes(NodeId root) {
  GuardShapes made;
  if (!has_unique_) return made;
  std::map<NodeId, int32_t> numbers = {{root, 0}};
  std::vector<NodeId> order = {root};
  const auto number = [&](NodeId node) {
    const auto [known, is_new] = numbers.try_emplace(node, static_cast<int32_t>(order.size()));
    if (is_new) order.push_back(node);
    return known->second;
  };
  for (size_t next = 0; next < order.size(); ++next) {
    PAWL_TRY(const Alternatives* found, expander_.expand(order[next]));
    const Alternatives parts = *found;
    GuardShapes::Shape shape;
    for (const ArrayPart& part : parts.arrays) {
      GuardShapes::ArrayShape one;
      one.is_unique = part.unique.has_value();
      for (const NodeId item : part.prefix) one.prefix.push_back(number(item));
      one.rest = number(part.rest);
      if (part.unique && part.prefix.empty()) {
        PAWL_TRY(one.only, value_list(part.rest));
      }
      shape.arrays.push_back(std::move(one));
    }
    for (const ObjectPart& part : parts.objects) {
      GuardShapes::ObjectShape one;
      for (const ObjectPart::Named& named : part.named) {
        one.named.emplace(base::Json(named.name).dump(), number(named.value));
      }
      for (const ObjectPart::Extra& extra : part.extras) one.others.push_back(number(extra.value));
      shape.objects.push_back(std::move(one));
    }
    made.shapes.push_back(std::move(shape));
  }
  return made;
}

}  // namespace pawl::grammar
