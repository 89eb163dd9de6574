// SPDX-License-Identifier: Apache-2.0
// What a schema demands, keyword by keyword, in the order of its members: the order of an object's
// members in an answer follows from it.
#include <algorithm>
#include <utility>

#include "schema/keywords.h"
#include "schema/unevaluated.h"

namespace pawl::schema {

using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

void keep_most(std::optional<int64_t>& most, int64_t limit) {
  most = most ? std::min(*most, limit) : limit;
}

class Demands {
 public:
  Demands(SchemaId schema, KeywordContext& context)
      : schema_(schema), context_(context), document_(context.document) {}

  Result<Steps> all() {
    const Json& json = document_.at(schema_);
    if (const auto flag = json.to_bool()) {
      if (!*flag) apply([](Branch& branch) { branch.types = 0; });
      return std::move(steps_);
    }
    if (json.as_object() == nullptr) {
      return refusal(ErrorCode::kInvalidArgument, document_, schema_, "schema", "is no schema");
    }
    PAWL_TRY(const Unevaluated asked, unevaluated());
    asks_ = asked.members || asked.items;
    if (asks_) steps_.push_back(begin_unevaluated());
    PAWL_TRY_VOID(keywords());
    if (asks_) steps_.push_back(end_unevaluated(document_, asked));
    return std::move(steps_);
  }

  // All but `keyword`, which does not hold.
  Result<Steps> all_but(std::string_view keyword) {
    PAWL_TRY(Unevaluated asked, unevaluated());
    if (keyword == "unevaluatedItems") asked.members.reset();
    asks_ = true;
    steps_.push_back(begin_unevaluated());
    PAWL_TRY_VOID(keywords());
    steps_.push_back(break_unevaluated(document_, asked));
    return std::move(steps_);
  }

 private:
  bool has(std::string_view keyword) const { return has_keyword(document_, schema_, keyword); }
  void apply(std::function<void(Branch&)> what) { steps_.push_back(step(std::move(what))); }
  Draft draft() const { return document_.draft(); }

  Result<Unevaluated> unevaluated() {
    Unevaluated asked;
    if (draft() < Draft::k2019) return asked;
    PAWL_TRY(asked.members, one_schema(document_, schema_, "unevaluatedProperties"));
    PAWL_TRY(asked.items, one_schema(document_, schema_, "unevaluatedItems"));
    return asked;
  }

  Result<void> keywords() {
    for (const auto& [keyword, unused] : *document_.at(schema_).as_object()) {
      if (has(keyword)) PAWL_TRY_VOID(one(keyword));
    }
    return {};
  }

  Result<void> one(std::string_view keyword) {
    if (keyword == "type") {
      PAWL_TRY(const uint8_t bits, type_bits(document_, schema_));
      apply([bits](Branch& branch) { branch.types &= bits; });
    } else if (keyword == "enum" || (keyword == "const" && draft() >= Draft::k6)) {
      return values(keyword);
    } else if (keyword == "minimum" || keyword == "maximum" || keyword == "exclusiveMinimum" ||
               keyword == "exclusiveMaximum" || keyword == "multipleOf") {
      return numbers();
    } else if (keyword == "pattern" || keyword == "format") {
      return strings();
    } else if (keyword == "properties" || keyword == "patternProperties" ||
               keyword == "additionalProperties") {
      return members(keyword);
    } else if (keyword == "items" || keyword == "prefixItems" || keyword == "additionalItems") {
      return items();
    } else {
      PAWL_TRY(const bool is_done, count(keyword));
      if (!is_done) return applicator(keyword);
    }
    return {};
  }

  Result<void> values(std::string_view keyword) {
    PAWL_TRY(ValueList list, value_list(document_, schema_, keyword));
    std::vector<Steps> choices;
    if (list.types != 0) {
      choices.push_back({step([list](Branch& branch) {
        branch.types &= list.types;
        std::vector<Language> numbers;
        for (const std::string& number : list.numbers) {
          numbers.push_back(Language::literal(number));
        }
        if (!numbers.empty()) {
          branch.numbers.push_back(Language::any_of(std::move(numbers)));
          if (++branch.number_lists == 1) branch.only_numbers = list.numbers;
        }
        if (!branch.string.only) {
          branch.string.only = list.strings;
        } else {
          std::erase_if(*branch.string.only, [&](const std::string& text) {
            return std::ranges::find(list.strings, text) == list.strings.end();
          });
        }
      })});
    }
    for (const SchemaId one : list.structures) choices.push_back({step(Literal{one})});
    steps_.push_back(choice(std::move(choices)));
    return {};
  }

  Result<void> numbers() {
    if (std::exchange(has_numbers_, true)) return {};
    PAWL_TRY(std::vector<Language> found, number_demands(document_, schema_));
    apply([found](Branch& branch) {
      branch.numbers.insert(branch.numbers.end(), found.begin(), found.end());
    });
    return {};
  }

  Result<void> strings() {
    if (std::exchange(has_strings_, true)) return {};
    PAWL_TRY(std::vector<Language> found, string_demands(document_, schema_, &context_.notes));
    apply([found](Branch& branch) {
      branch.string.languages.insert(branch.string.languages.end(), found.begin(), found.end());
    });
    return {};
  }

  // The rule stands where `properties` does, if that is there.
  Result<void> members(std::string_view keyword) {
    if (keyword != "properties" && has("properties")) return {};
    if (std::exchange(has_members_, true)) return {};
    PAWL_TRY(MemberRule rule, member_rule(document_, schema_));
    apply([rule](Branch& branch) { branch.members.push_back(rule); });
    return {};
  }

  Result<void> items() {
    if (std::exchange(has_items_, true)) return {};
    PAWL_TRY(ItemRule rule, item_rule(document_, schema_));
    apply([rule](Branch& branch) { branch.items.push_back(rule); });
    return {};
  }

  // True when the keyword was one of those that count something.
  Result<bool> count(std::string_view keyword) {
    const auto number = [&]() { return count_of(document_, schema_, keyword); };
    if (keyword == "minLength") {
      PAWL_TRY(const auto n, number());
      apply([n](Branch& b) { b.string.least = std::max(b.string.least, *n); });
    } else if (keyword == "maxLength") {
      PAWL_TRY(const auto n, number());
      apply([n](Branch& b) { keep_most(b.string.most, *n); });
    } else if (keyword == "minItems") {
      PAWL_TRY(const auto n, number());
      apply([n](Branch& b) { b.least_items = std::max(b.least_items, *n); });
    } else if (keyword == "maxItems") {
      PAWL_TRY(const auto n, number());
      apply([n](Branch& b) { keep_most(b.most_items, *n); });
    } else if (keyword == "minProperties") {
      PAWL_TRY(const auto n, number());
      apply([n](Branch& b) { b.least_members = std::max(b.least_members, *n); });
    } else if (keyword == "maxProperties") {
      PAWL_TRY(const auto n, number());
      apply([n](Branch& b) { keep_most(b.most_members, *n); });
    } else if (keyword == "uniqueItems") {
      const auto flag = document_.at(schema_).find("uniqueItems")->to_bool();
      if (flag.value_or(false)) {
        apply([schema = schema_](Branch& b) { b.unique = schema; });
      }
    } else if (keyword == "required") {
      return required();
    } else {
      return false;
    }
    return true;
  }

  Result<bool> required() {
    const Json& list = *document_.at(schema_).find("required");
    PAWL_TRY(const auto names, name_list(document_, schema_, "required", list));
    apply([names](Branch& branch) {
      branch.required.insert(branch.required.end(), names.begin(), names.end());
    });
    return true;
  }

  Result<void> applicator(std::string_view keyword) {
    const bool is_around = std::exchange(context_.is_evaluated_around, is_evaluated());
    auto steps = applied(schema_, keyword, context_);
    context_.is_evaluated_around = is_around;
    if (!steps.ok()) return steps.error();
    steps_.insert(steps_.end(), steps->begin(), steps->end());
    return {};
  }

  bool is_evaluated() const { return asks_ || context_.is_evaluated_around; }

  SchemaId schema_;
  KeywordContext& context_;
  Document& document_;
  Steps steps_;
  bool asks_ = false;
  bool has_numbers_ = false, has_strings_ = false, has_members_ = false, has_items_ = false;
};

}  // namespace

Result<Steps> demands(SchemaId schema, KeywordContext& context) {
  return Demands(schema, context).all();
}

Result<Steps> demands_but(SchemaId schema, std::string_view keyword, KeywordContext& context) {
  return Demands(schema, context).all_but(keyword);
}

}  // namespace pawl::schema
