// SPDX-License-Identifier: Apache-2.0
// What is asked: prompts, variants of a schema, and the order of the requests.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/rng.h"
#include "lab/schema_study.h"

namespace pawl::lab {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

constexpr size_t kMostPrompts = 100'000;

bool is_left_out(const FieldPath& field, const std::vector<FieldPath>& left_out) {
  return std::any_of(left_out.begin(), left_out.end(),
                     [&](const FieldPath& one) { return is_within(field, one); });
}

// "reasoning: why; score: 1 is worst", the descriptions as the schema has them.
std::string told_fields(const std::vector<SchemaField>& fields,
                        const std::vector<FieldPath>& left_out) {
  std::string text;
  for (const SchemaField& field : fields) {
    if (field.path.size() > 1 || is_left_out(field.path, left_out)) continue;
    text += (text.empty() ? "" : "; ") + field.path.back();
    const Json* const about = field.schema.find("description");
    if (about != nullptr && about->as_string() != nullptr) text += ": " + *about->as_string();
  }
  return text;
}

std::string shown_paths(const std::vector<FieldPath>& paths) {
  std::string text;
  for (const FieldPath& path : paths) text += (text.empty() ? "" : ", ") + shown_path(path);
  return text;
}

class Planner {
 public:
  Planner(Json schema, std::vector<SchemaField> fields, const StudyOptions& options)
      : schema_(std::move(schema)), fields_(std::move(fields)), options_(options) {
    for (const SchemaField& field : fields_) {
      if (field.path.size() == 1) plan_.fields.push_back(field.path);
    }
  }

  Result<StudyPlan> run(bool are_fields_told) {
    PAWL_TRY_VOID(close_objects());
    choose_dropped();
    find_roles();
    PAWL_TRY_VOID(check_names());
    add(VariantKind::kFull, "full", schema_, {}, {});
    if (wants("stripped")) add(VariantKind::kStripped, "stripped", schema_, plan_.drop, {});
    if (wants("without")) {
      for (const FieldPath& field : options_.each.empty() ? plan_.fields : options_.each) {
        if (options_.each.empty() && plan_.fields.size() < 2) break;  // nothing would be left
        PAWL_TRY(Json schema, without_field(schema_, field));
        add(VariantKind::kWithout, "without " + shown_path(field), std::move(schema), {field}, {});
      }
    }
    if (wants("not")) PAWL_TRY_VOID(add_not_asked(are_fields_told));
    if (wants("reordered")) PAWL_TRY_VOID(add_reordered());
    return std::move(plan_);
  }

 private:
  bool wants(std::string_view word) const {
    return options_.variants.empty() ||
           std::find(options_.variants.begin(), options_.variants.end(), word) !=
               options_.variants.end();
  }

  void add(VariantKind kind, std::string name, Json schema, std::vector<FieldPath> left_out,
           const std::vector<FieldPath>& untold) {
    plan_.variants.push_back({kind, std::move(name), std::move(schema), std::move(left_out),
                              told_fields(fields_, untold)});
  }

  Result<void> close_objects() {
    std::set<FieldPath> objects;
    for (const SchemaField& field : fields_) {
      objects.emplace(field.path.begin(), field.path.end() - 1);
    }
    std::vector<FieldPath> opened;
    for (const FieldPath& object : objects) {
      bool was_open = false;
      PAWL_TRY(Json changed, with_object(schema_, object, [&](const Json& one) {
                 was_open = is_open(one);
                 return closed(one);
               }));
      if (was_open) schema_ = std::move(changed), opened.push_back(object);
    }
    if (!opened.empty()) {
      plan_.notes.push_back(fmt::format(
          "{} open: closed in all variants, or a field left out could come as one that "
          "nobody named",
          opened.size() == 1 ? "an object is" : fmt::format("{} objects are", opened.size())));
    }
    return {};
  }

  // What an answer can best do without: its reasoning, else the field that may become longest.
  void choose_dropped() {
    if (!options_.drop.empty()) {
      plan_.drop = options_.drop;
      plan_.drop_because = "as asked";
      return;
    }
    for (const SchemaField& field : fields_) {
      if (field.path.size() == 1 && role_of(field) == FieldRole::kReasoning) {
        plan_.drop.push_back(field.path);
      }
    }
    plan_.drop_because = "reasoning";
    if (!plan_.drop.empty() && plan_.drop.size() < plan_.fields.size()) return;
    const auto bound_of = [](const SchemaField& field) {
      const Json* const most = field.schema.find("maxLength");
      if (most != nullptr) return most->to_int64().value_or(0);
      return role_of(field) == FieldRole::kLongText ? int64_t{1'000'000} : int64_t{0};
    };
    const SchemaField* longest = nullptr;
    for (const SchemaField& field : fields_) {
      if (field.path.size() > 1) continue;
      if (longest == nullptr || bound_of(field) > bound_of(*longest)) longest = &field;
    }
    plan_.drop = {longest->path};
    plan_.drop_because = "the longest text";
  }

  void find_roles() {
    std::optional<size_t> first_decision, first_reasoning;
    for (const SchemaField& field : fields_) {
      if (field.path.size() > 1) continue;
      const FieldRole role = role_of(field);
      if (role == FieldRole::kDecision) {
        plan_.decisions.push_back(field.path);
        if (!first_decision) first_decision = field.position;
      } else if (role == FieldRole::kReasoning) {
        plan_.reasoning.push_back(field.path);
        if (!first_reasoning) first_reasoning = field.position;
      }
    }
    if (first_decision && first_reasoning) {
      plan_.is_decision_first = *first_decision < *first_reasoning;
    } else {
      plan_.decisions.clear();
      plan_.reasoning.clear();
    }
  }

  Result<void> check_names() const {
    for (const std::string& word : options_.variants) {
      if (word != "full" && word != "stripped" && word != "without" && word != "not" &&
          word != "reordered") {
        return Error{ErrorCode::kInvalidArgument,
                     fmt::format("there is no variant '{}'; there are full, stripped, without, not "
                                 "and reordered",
                                 word),
                     "--variants"};
      }
    }
    for (const auto* list : {&options_.drop, &options_.each}) {
      for (const FieldPath& path : *list) {
        const bool is_there =
            std::any_of(fields_.begin(), fields_.end(),
                        [&](const SchemaField& field) { return field.path == path; });
        if (is_there) continue;
        return Error{ErrorCode::kInvalidArgument,
                     fmt::format("the schema has no field '{}'", shown_path(path)), "--schema"};
      }
    }
    return {};
  }

  // Where the prompts do not name the fields, leaving out one alone is the same request.
  Result<void> add_not_asked(bool are_fields_told) {
    Json schema = schema_;
    for (const FieldPath& field : plan_.drop) {
      PAWL_TRY(schema, without_field(schema, field));
    }
    if (!are_fields_told && plan_.drop.size() == 1) {
      for (StudyVariant& variant : plan_.variants) {
        if (variant.kind != VariantKind::kWithout || variant.left_out != plan_.drop) continue;
        variant.kind = VariantKind::kNotAsked;
        return {};
      }
    }
    add(VariantKind::kNotAsked, "not asked: " + shown_paths(plan_.drop), std::move(schema),
        plan_.drop, plan_.drop);
    return {};
  }

  Result<void> add_reordered() {
    const auto is_reasoning = [&](const FieldPath& field) {
      return std::find(plan_.reasoning.begin(), plan_.reasoning.end(), field) !=
             plan_.reasoning.end();
    };
    // The reasoning moves to the other side of the decisions; all others keep their order.
    for (const FieldPath& field : plan_.fields) {
      if (is_reasoning(field)) continue;
      const bool is_first = !plan_.decisions.empty() && field == plan_.decisions.front();
      const bool is_last = !plan_.decisions.empty() && field == plan_.decisions.back();
      const auto put_reasoning = [&] {
        for (const FieldPath& one : plan_.reasoning) plan_.order.push_back(one.back());
      };
      if (is_first && plan_.is_decision_first) put_reasoning();
      plan_.order.push_back(field.back());
      if (is_last && !plan_.is_decision_first) put_reasoning();
    }
    if (plan_.decisions.empty()) std::reverse(plan_.order.begin(), plan_.order.end());
    if (plan_.order.size() < 2) return {};
    PAWL_TRY(Json schema, with_order(schema_, {}, plan_.order));
    add(VariantKind::kReordered, "reordered", std::move(schema), {}, {});
    return {};
  }

  Json schema_;
  std::vector<SchemaField> fields_;
  const StudyOptions& options_;
  StudyPlan plan_;
};

template <typename T>
void shuffle(std::vector<T>& list, uint64_t seed, uint64_t stream) {
  for (size_t i = list.size(); i > 1; --i) {
    const double at = base::uniform(seed, stream, i) * static_cast<double>(i);
    std::swap(list[i - 1], list[std::min(static_cast<size_t>(at), i - 1)]);
  }
}

}  // namespace

Result<std::vector<StudyPrompt>> parse_study_prompts(std::string_view text) {
  std::vector<StudyPrompt> prompts;
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    const std::string where = fmt::format("line {}", number);
    if (prompts.size() == kMostPrompts) {
      return Error{ErrorCode::kBadFile, fmt::format("more than {} prompts", kMostPrompts), where};
    }
    StudyPrompt prompt;
    if (line.starts_with('{')) {
      auto object = base::parse_json(line);
      if (!object.ok()) return Error{ErrorCode::kBadFile, object.error().message, where};
      const Json* const asked = object->find("prompt");
      if (asked == nullptr || asked->as_string() == nullptr || asked->as_string()->empty()) {
        return Error{ErrorCode::kBadFile, "an object without a text 'prompt'", where};
      }
      prompt.text = *asked->as_string();
      if (const Json* const expected = object->find("expected")) {
        if (expected->as_object() == nullptr) {
          return Error{ErrorCode::kBadFile, "'expected' is no object", where};
        }
        prompt.expected = *expected;
      }
    } else {
      prompt.text = line;
    }
    prompts.push_back(std::move(prompt));
  }
  if (prompts.empty()) return Error{ErrorCode::kBadFile, "no prompt", ""};
  return prompts;
}

const StudyVariant* StudyPlan::find(VariantKind kind) const {
  const auto found = std::find_if(variants.begin(), variants.end(),
                                  [&](const StudyVariant& one) { return one.kind == kind; });
  return found == variants.end() ? nullptr : &*found;
}

Result<StudyPlan> plan_study(const Json& schema, std::span<const StudyPrompt> prompts,
                             const StudyOptions& options) {
  PAWL_TRY(auto fields, fields_of_schema(schema));
  const bool are_fields_told = std::any_of(
      prompts.begin(), prompts.end(),
      [](const StudyPrompt& prompt) { return prompt.text.find(kFieldsMark) != std::string::npos; });
  return Planner(schema, std::move(fields), options).run(are_fields_told);
}

std::vector<StudyRequest> study_requests(size_t variants, size_t prompts, int64_t repetitions,
                                         uint64_t seed) {
  std::vector<StudyRequest> requests;
  for (size_t variant = 0; variant < variants; ++variant) requests.push_back({0, variant, 0, true});
  std::vector<size_t> order(prompts), turn(variants);
  for (size_t i = 0; i < prompts; ++i) order[i] = i;
  for (size_t i = 0; i < variants; ++i) turn[i] = i;
  for (int64_t repetition = 0; repetition < repetitions; ++repetition) {
    const auto round = static_cast<uint64_t>(repetition) * (prompts + 1);
    shuffle(order, seed, round);
    for (const size_t prompt : order) {
      shuffle(turn, seed, round + 1 + prompt);
      for (const size_t variant : turn) requests.push_back({prompt, variant, repetition, false});
    }
  }
  return requests;
}

}  // namespace pawl::lab
