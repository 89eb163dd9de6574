// SPDX-License-Identifier: Apache-2.0
// What keywords demand that apply other schemas: allOf, anyOf, oneOf, not, if, references,
// contains, propertyNames, dependencies.
#include "schema/keywords.h"

namespace pawl::schema {

using base::ErrorCode;
using base::Result;

namespace {

// Subsets of anyOf are told apart where a schema around asks which of them were evaluated.
constexpr size_t kMaxSubsets = 4;

class Applied {
 public:
  Applied(SchemaId schema, KeywordContext& context)
      : schema_(schema), context_(context), document_(context.document) {}

  Result<Steps> all(std::string_view keyword) {
    PAWL_TRY_VOID(one(keyword));
    return std::move(steps_);
  }

 private:
  Draft draft() const { return document_.draft(); }

  Result<void> one(std::string_view keyword) {
    if (keyword == "allOf") {
      PAWL_TRY(const auto parts, schema_items(document_, schema_, keyword));
      for (const SchemaId part : parts) steps_.push_back(step(Literal{part}));
    } else if (keyword == "anyOf") {
      PAWL_TRY(const auto parts, schema_items(document_, schema_, keyword));
      return any_of(parts);
    } else if (keyword == "oneOf") {
      PAWL_TRY(const auto parts, schema_items(document_, schema_, keyword));
      return one_of(parts);
    } else if (keyword == "not") {
      PAWL_TRY(const auto part, one_schema(document_, schema_, keyword));
      steps_.push_back(step(Literal{*part, false}));
    } else if (keyword == "if" && draft() >= Draft::k7) {
      return condition();
    } else if (is_reference(draft(), keyword)) {
      PAWL_TRY(const auto target, referred(document_, schema_, keyword));
      steps_.push_back(step(Literal{*target}));
    } else if (keyword == "propertyNames" && draft() >= Draft::k6) {
      PAWL_TRY(const auto names, one_schema(document_, schema_, keyword));
      steps_.push_back(step([names](Branch& branch) { branch.names.push_back({*names}); }));
    } else if (keyword == "contains" && draft() >= Draft::k6) {
      return contains();
    }
    return depend(keyword);
  }

  Result<void> any_of(const std::vector<SchemaId>& parts) {
    std::vector<Steps> choices;
    if (!context_.is_evaluated_around) {
      for (const SchemaId part : parts) choices.push_back({step(Literal{part})});
      steps_.push_back(choice(std::move(choices)));
      return {};
    }
    if (parts.size() > kMaxSubsets) {
      return refusal(ErrorCode::kUnsupported, document_, schema_, "anyOf",
                     "with more than 4 schemas under unevaluatedProperties or unevaluatedItems");
    }
    for (size_t subset = 1; subset < (size_t{1} << parts.size()); ++subset) {
      Steps steps;
      for (size_t i = 0; i < parts.size(); ++i) {
        steps.push_back(step(Literal{parts[i], ((subset >> i) & 1) != 0}));
      }
      choices.push_back(std::move(steps));
    }
    steps_.push_back(choice(std::move(choices)));
    return {};
  }

  Result<void> one_of(const std::vector<SchemaId>& parts) {
    std::vector<std::vector<bool>> overlap(parts.size(), std::vector<bool>(parts.size()));
    for (size_t i = 0; i < parts.size(); ++i) {
      for (size_t j = i + 1; j < parts.size(); ++j) {
        PAWL_TRY(const bool are_apart, context_.exclude_each_other({parts[i]}, {parts[j]}));
        overlap[i][j] = overlap[j][i] = !are_apart;
      }
    }
    std::vector<Steps> choices;
    for (size_t i = 0; i < parts.size(); ++i) {
      Steps steps = {step(Literal{parts[i]})};
      for (size_t j = 0; j < parts.size(); ++j) {
        if (overlap[i][j]) steps.push_back(step(Literal{parts[j], false}));
      }
      choices.push_back(std::move(steps));
    }
    steps_.push_back(choice(std::move(choices)));
    return {};
  }

  Result<void> condition() {
    PAWL_TRY(const auto condition, one_schema(document_, schema_, "if"));
    PAWL_TRY(const auto then, one_schema(document_, schema_, "then"));
    PAWL_TRY(const auto otherwise, one_schema(document_, schema_, "else"));
    if (!then && !otherwise && !context_.is_evaluated_around) return {};
    Steps yes = {step(Literal{*condition})}, no = {step(Literal{*condition, false})};
    if (then) yes.push_back(step(Literal{*then}));
    if (otherwise) no.push_back(step(Literal{*otherwise}));
    steps_.push_back(choice({std::move(yes), std::move(no)}));
    return {};
  }

  Result<void> contains() {
    PAWL_TRY(const auto item, one_schema(document_, schema_, "contains"));
    std::optional<int64_t> least, most;
    if (draft() >= Draft::k2019) {
      PAWL_TRY(least, count_of(document_, schema_, "minContains"));
      PAWL_TRY(most, count_of(document_, schema_, "maxContains"));
    }
    const ContainsRule rule{.item = {*item},
                            .least = least.value_or(1),
                            .most = most,
                            .evaluates = draft() >= Draft::k2020};
    steps_.push_back(step([rule](Branch& branch) { branch.contains.push_back(rule); }));
    return {};
  }

  Result<void> depend(std::string_view keyword) {
    PAWL_TRY(const auto found, dependencies(document_, schema_, keyword));
    for (const Dependency& one : found) {
      Steps absent = {
          step([name = one.name](Branch& branch) { branch.forbidden.push_back(name); })};
      Steps present = {step([one](Branch& branch) {
        branch.required.push_back(one.name);
        branch.required.insert(branch.required.end(), one.required.begin(), one.required.end());
      })};
      if (one.schema) present.push_back(step(Literal{*one.schema}));
      steps_.push_back(choice({std::move(absent), std::move(present)}));
    }
    return {};
  }

  SchemaId schema_;
  KeywordContext& context_;
  Document& document_;
  Steps steps_;
};

}  // namespace

Result<Steps> applied(SchemaId schema, std::string_view keyword, KeywordContext& context) {
  return Applied(schema, context).all(keyword);
}

}  // namespace pawl::schema
