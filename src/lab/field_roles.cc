// SPDX-License-Identifier: Apache-2.0
// What a field is for, read from its name and its schema.
#include <algorithm>
#include <array>
#include <cctype>

#include "lab/schema_lint.h"

namespace pawl::lab {

using base::Json;

namespace {

constexpr int64_t kLongText = 100;    // characters
constexpr double kFewValues = 1'000;  // of a bounded number

constexpr std::array<std::string_view, 22> kReasoningWords = {
    "reason",     "reasons", "reasoning",  "rationale",    "rationales", "explanation",
    "explain",    "because", "why",        "explanations", "analysis",   "justification",
    "justify",    "thought", "thoughts",   "thinking",     "evidence",   "critique",
    "reflection", "steps",   "scratchpad", "cot"};
constexpr std::array<std::string_view, 21> kDecisionWords = {
    "score",    "rating", "grade",    "rank",       "verdict",  "label",      "labels",
    "category", "class",  "decision", "sentiment",  "priority", "severity",   "urgency",
    "answer",   "result", "status",   "conclusion", "approved", "confidence", "stars"};

// "reviewScore_v2" → "review", "score", "v2".
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  bool was_lower = false;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_upper = std::isupper(byte) != 0;
    if (!std::isalnum(byte) && byte < 0x80) {
      words.emplace_back();
    } else {
      if (is_upper && was_lower) words.emplace_back();
      words.back() += static_cast<char>(std::tolower(byte));
    }
    was_lower = std::islower(byte) != 0;
  }
  std::erase_if(words, [](const std::string& word) { return word.empty(); });
  return words;
}

template <size_t n>
bool has_word(std::string_view name, const std::array<std::string_view, n>& list) {
  const auto words = words_of(name);
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return std::find(list.begin(), list.end(), word) != list.end();
  });
}

bool has_type(const Json& schema, std::string_view name) {
  const Json* const type = schema.find("type");
  if (type == nullptr) return false;
  if (type->as_string() != nullptr) return *type->as_string() == name;
  const auto* list = type->as_array();
  return list != nullptr && std::any_of(list->begin(), list->end(), [&](const Json& one) {
           return one.as_string() != nullptr && *one.as_string() == name;
         });
}

bool is_one_of_few(const Json& schema) {
  if (schema.find("enum") != nullptr || schema.find("const") != nullptr) return true;
  if (has_type(schema, "boolean")) return true;
  if (!has_type(schema, "integer")) return false;
  const Json *const low = schema.find("minimum"), *const high = schema.find("maximum");
  return low != nullptr && high != nullptr && low->to_double() && high->to_double() &&
         *high->to_double() - *low->to_double() <= kFewValues;
}

bool is_free_text(const Json& schema) {
  return has_type(schema, "string") && !is_one_of_few(schema) &&
         schema.find("pattern") == nullptr && schema.find("format") == nullptr;
}

}  // namespace

FieldRole role_of(const SchemaField& field) {
  const std::string& name = field.path.back();
  const Json* const items = field.schema.find("items");
  const bool is_text_list = items != nullptr && is_free_text(*items);
  if ((is_free_text(field.schema) || is_text_list) && has_word(name, kReasoningWords)) {
    return FieldRole::kReasoning;
  }
  if (is_one_of_few(field.schema)) return FieldRole::kDecision;
  const bool is_number = has_type(field.schema, "number") || has_type(field.schema, "integer");
  const Json* const most = field.schema.find("maxLength");
  const auto length = most != nullptr ? most->to_int64() : std::nullopt;
  const bool is_short = length && *length <= kLongText;
  if ((is_number || (is_free_text(field.schema) && is_short)) && has_word(name, kDecisionWords)) {
    return FieldRole::kDecision;
  }
  if (is_free_text(field.schema) && !is_short) return FieldRole::kLongText;
  return FieldRole::kOther;
}

std::string_view field_role_name(FieldRole role) {
  switch (role) {
    case FieldRole::kReasoning:
      return "reasoning";
    case FieldRole::kDecision:
      return "decision";
    case FieldRole::kLongText:
      return "long text";
    case FieldRole::kOther:
      return "other";
  }
  return "";
}

}  // namespace pawl::lab
