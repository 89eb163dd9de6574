// SPDX-License-Identifier: Apache-2.0
// What it means that a schema does not hold: one of its keywords does not. Each keyword speaks of
// one type only, so a value that breaks it is of that type.
#include <algorithm>

#include "schema/keywords.h"
#include "schema/number_language.h"

namespace pawl::schema {

using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

class Refutations {
 public:
  Refutations(SchemaId schema, KeywordContext& context)
      : schema_(schema), context_(context), document_(context.document) {}

  Result<Steps> all() {
    const Json& json = document_.at(schema_);
    if (const auto flag = json.to_bool()) {
      if (!*flag) return Steps();
      return Steps{step([](Branch& branch) { branch.types = 0; })};
    }
    if (json.as_object() == nullptr) {
      return refusal(ErrorCode::kInvalidArgument, document_, schema_, "schema", "is no schema");
    }
    PAWL_TRY_VOID(simple());
    PAWL_TRY_VOID(counts());
    PAWL_TRY_VOID(values());
    PAWL_TRY_VOID(members());
    PAWL_TRY_VOID(items());
    PAWL_TRY_VOID(applicators());
    PAWL_TRY_VOID(conditions());
    return Steps{choice(std::move(ways_))};
  }

 private:
  bool has(std::string_view keyword) const { return has_keyword(document_, schema_, keyword); }
  Draft draft() const { return document_.draft(); }
  void way(Steps steps) { ways_.push_back(std::move(steps)); }
  // A value of these types that also …
  void way(uint8_t types, std::function<void(Branch&)> apply) {
    ways_.push_back({step([types, apply = std::move(apply)](Branch& branch) {
      branch.types &= types;
      apply(branch);
    })});
  }
  base::Error unsupported(std::string_view keyword, std::string_view what) const {
    return refusal(ErrorCode::kUnsupported, document_, schema_, keyword, what);
  }

  Result<void> simple() {
    if (has("type")) {
      PAWL_TRY(const uint8_t bits, type_bits(document_, schema_));
      way(static_cast<uint8_t>(~bits), [](Branch&) {});
    }
    PAWL_TRY(const auto numbers, number_demands(document_, schema_));
    for (const Language& language : numbers) {
      way(kNumberBits, [language](Branch& branch) {
        branch.numbers.push_back(
            Language::all_of({plain_numbers(), Language::complement(language)}));
      });
    }
    PAWL_TRY(const auto strings, string_demands(document_, schema_, nullptr));
    for (const Language& language : strings) {
      way(kStringBit, [language](Branch& branch) {
        branch.string.languages.push_back(Language::complement(language));
      });
    }
    return {};
  }

  Result<void> counts() {
    const auto count = [&](std::string_view keyword, uint8_t type, auto apply) -> Result<void> {
      PAWL_TRY(const auto n, count_of(document_, schema_, keyword));
      if (n) way(type, [n = *n, apply](Branch& branch) { apply(branch, n); });
      return {};
    };
    const auto keep_most = [](std::optional<int64_t>& most, Branch& branch, uint8_t bit,
                              int64_t n) {
      if (n < 0) branch.types &= static_cast<uint8_t>(~bit);
      most = most ? std::min(*most, n) : n;
    };
    PAWL_TRY_VOID(count("minLength", kStringBit, [keep_most](Branch& b, int64_t n) {
      keep_most(b.string.most, b, kStringBit, n - 1);
    }));
    PAWL_TRY_VOID(count("maxLength", kStringBit, [](Branch& b, int64_t n) {
      b.string.least = std::max(b.string.least, n + 1);
    }));
    PAWL_TRY_VOID(count("minItems", kArrayBit, [keep_most](Branch& b, int64_t n) {
      keep_most(b.most_items, b, kArrayBit, n - 1);
    }));
    PAWL_TRY_VOID(count("maxItems", kArrayBit, [](Branch& b, int64_t n) {
      b.least_items = std::max(b.least_items, n + 1);
    }));
    PAWL_TRY_VOID(count("minProperties", kObjectBit, [keep_most](Branch& b, int64_t n) {
      keep_most(b.most_members, b, kObjectBit, n - 1);
    }));
    return count("maxProperties", kObjectBit,
                 [](Branch& b, int64_t n) { b.least_members = std::max(b.least_members, n + 1); });
  }

  // None of the values.
  Result<void> values() {
    for (const char* keyword : {"enum", "const"}) {
      const bool is_known = std::string_view(keyword) == "enum" || draft() >= Draft::k6;
      if (!has(keyword) || !is_known) continue;
      PAWL_TRY(ValueList list, value_list(document_, schema_, keyword));
      Steps steps = {step([list](Branch& branch) {
        branch.types &= static_cast<uint8_t>(~(list.types & (kNullBit | kTrueBit | kFalseBit)));
        if (!list.number_spellings.empty()) {
          branch.numbers.push_back(Language::all_of(
              {plain_numbers(), Language::complement(Language::any_of(list.number_spellings))}));
        }
        if (list.strings.empty()) return;
        if (branch.string.only) {
          std::erase_if(*branch.string.only, [&](const std::string& text) {
            return std::ranges::find(list.strings, text) != list.strings.end();
          });
        } else {
          branch.string.languages.push_back(
              Language::complement(Language::any_of_literals(list.strings)));
        }
      })};
      for (const SchemaId one : list.structures) steps.push_back(step(Literal{one, false}));
      way(std::move(steps));
    }
    return {};
  }

  Result<void> members() {
    if (has("required")) {
      PAWL_TRY(const auto names,
               name_list(document_, schema_, "required", *document_.at(schema_).find("required")));
      for (const std::string& name : names) {
        way(kObjectBit, [name](Branch& branch) { branch.forbidden.push_back(name); });
      }
    }
    PAWL_TRY(const MemberRule rule, member_rule(document_, schema_));
    for (const MemberRule::Named& one : rule.named) {
      way(kObjectBit, [one](Branch& branch) {
        branch.required.push_back(one.name);
        branch.member_values.emplace_back(one.name, one.value->negated());
      });
    }
    for (const MemberRule::Pattern& one : rule.patterns) {
      way(kObjectBit, [one](Branch& branch) {
        branch.exists.push_back({one.language, {}, {}, one.value->negated()});
      });
    }
    if (rule.rest) {
      ExistsRule other{{}, {}, {}, rule.rest->negated()};
      std::vector<Language> patterns;
      for (const MemberRule::Pattern& one : rule.patterns) patterns.push_back(one.language);
      if (!patterns.empty()) {
        other.name = Language::complement(Language::any_of(std::move(patterns)));
      }
      for (const MemberRule::Named& one : rule.named) other.but.push_back(one.name);
      way(kObjectBit, [other](Branch& branch) { branch.exists.push_back(other); });
    }
    if (draft() >= Draft::k6) {
      PAWL_TRY(const auto names, one_schema(document_, schema_, "propertyNames"));
      if (names) {
        way(kObjectBit, [names](Branch& branch) {
          branch.exists.push_back({{}, {}, Literal{*names, false}, {}});
        });
      }
    }
    return unevaluated("unevaluatedProperties");
  }

  Result<void> items() {
    PAWL_TRY(const ItemRule rule, item_rule(document_, schema_));
    for (size_t i = 0; i < rule.prefix.size(); ++i) {
      way(kArrayBit, [i, item = *rule.prefix[i]](Branch& branch) {
        branch.least_items = std::max(branch.least_items, static_cast<int64_t>(i) + 1);
        ItemRule broken;
        broken.prefix.resize(i + 1);
        broken.prefix[i] = item.negated();
        branch.items.push_back(std::move(broken));
      });
    }
    if (rule.rest) {
      way(kArrayBit, [from = rule.prefix.size(), item = *rule.rest](Branch& branch) {
        branch.contains.push_back({item.negated(), from, 1, {}});
      });
    }
    const auto unique = has("uniqueItems") ? document_.at(schema_).find("uniqueItems")->to_bool()
                                           : std::optional<bool>();
    if (unique.value_or(false)) {
      return unsupported("uniqueItems", "in a schema that must not hold");
    }
    PAWL_TRY_VOID(unevaluated("unevaluatedItems"));
    if (draft() < Draft::k6) return {};
    PAWL_TRY(const auto item, one_schema(document_, schema_, "contains"));
    if (!item) return {};
    std::optional<int64_t> least, most;
    if (draft() >= Draft::k2019) {
      PAWL_TRY(least, count_of(document_, schema_, "minContains"));
      PAWL_TRY(most, count_of(document_, schema_, "maxContains"));
    }
    if (least.value_or(1) > 0) {
      way(kArrayBit, [item, few = least.value_or(1) - 1](Branch& branch) {
        branch.contains.push_back({{*item}, 0, 0, few});
      });
    }
    if (most) {
      way(kArrayBit, [item, many = *most + 1](Branch& branch) {
        branch.contains.push_back({{*item}, 0, many, {}});
      });
    }
    return {};
  }

  // The rest may be broken too, but that is said elsewhere.
  Result<void> unevaluated(std::string_view keyword) {
    if (!has(keyword) || draft() < Draft::k2019) return {};
    PAWL_TRY(Steps steps, demands_but(schema_, keyword, context_));
    way(std::move(steps));
    return {};
  }

  Result<void> applicators() {
    for (const char* keyword : {"allOf", "anyOf", "oneOf"}) {
      PAWL_TRY(const auto parts, schema_items(document_, schema_, keyword));
      if (!has(keyword)) continue;
      Steps none;
      for (const SchemaId part : parts) none.push_back(step(Literal{part, false}));
      if (std::string_view(keyword) == "allOf") {
        for (Step& one : none) way({std::move(one)});
        continue;
      }
      way(std::move(none));
      if (std::string_view(keyword) == "anyOf") continue;
      for (size_t i = 0; i < parts.size(); ++i) {
        for (size_t j = i + 1; j < parts.size(); ++j) {
          PAWL_TRY(const bool are_apart, context_.exclude_each_other({parts[i]}, {parts[j]}));
          if (!are_apart) way({step(Literal{parts[i]}), step(Literal{parts[j]})});
        }
      }
    }
    PAWL_TRY(const auto part, one_schema(document_, schema_, "not"));
    if (part) way({step(Literal{*part})});
    for (const char* keyword : {"$ref", "$dynamicRef", "$recursiveRef"}) {
      PAWL_TRY(const auto target, referred(document_, schema_, keyword));
      if (target) way({step(Literal{*target, false})});
    }
    return {};
  }

  Result<void> conditions() {
    if (draft() >= Draft::k7) {
      PAWL_TRY(const auto condition, one_schema(document_, schema_, "if"));
      PAWL_TRY(const auto then, one_schema(document_, schema_, "then"));
      PAWL_TRY(const auto otherwise, one_schema(document_, schema_, "else"));
      if (condition && then) {
        way({step(Literal{*condition}), step(Literal{*then, false})});
      }
      if (condition && otherwise) {
        way({step(Literal{*condition, false}), step(Literal{*otherwise, false})});
      }
    }
    for (const char* keyword : {"dependencies", "dependentRequired", "dependentSchemas"}) {
      PAWL_TRY_VOID(depend(keyword));
    }
    return {};
  }

  Result<void> depend(std::string_view keyword) {
    PAWL_TRY(const auto found, dependencies(document_, schema_, keyword));
    for (const Dependency& one : found) {
      for (const std::string& name : one.required) {
        way(kObjectBit, [one, name](Branch& branch) {
          branch.required.push_back(one.name);
          branch.forbidden.push_back(name);
        });
      }
      if (!one.schema) continue;
      way({step([one](Branch& branch) {
             branch.types &= kObjectBit;
             branch.required.push_back(one.name);
           }),
           step(Literal{*one.schema, false})});
    }
    return {};
  }

  SchemaId schema_;
  KeywordContext& context_;
  Document& document_;
  std::vector<Steps> ways_;
};

}  // namespace

Result<Steps> refutations(SchemaId schema, KeywordContext& context) {
  return Refutations(schema, context).all();
}

}  // namespace pawl::schema
