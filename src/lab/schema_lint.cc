// SPDX-License-Identifier: Apache-2.0
#include "lab/schema_lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace pawl::lab {

using base::Json;
using base::Result;

namespace {

constexpr size_t kEnoughAnswers = 10;
constexpr size_t kLongName = 10;                              // characters
constexpr int64_t kProposedLength = 200, kProposedItems = 5;  // where no answer says more

// One step of a proposal: the schema it is given, changed.
using Change = std::function<Result<Json>(const Json& schema)>;

struct Found {
  std::string rule;
  FieldPath path;
  std::string text, proposal;
  Change change;
};

FieldPath parent_of(const FieldPath& path) {
  return FieldPath(path.begin(), path.end() - 1);
}

size_t characters(std::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }));
}

bool has_type(const Json& schema, std::string_view name) {
  const Json* const type = schema.find("type");
  return type != nullptr && type->as_string() != nullptr && *type->as_string() == name;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + ("'" + names[i] + "'");
  }
  return text;
}

// Twice the largest there was, in round figures.
int64_t roomy(int64_t most, int64_t step) {
  return std::max(step, (2 * most + step - 1) / step * step);
}

class Linter {
 public:
  Linter(const Json& schema, std::vector<SchemaField> fields, std::span<const Json> answers)
      : schema_(schema), fields_(std::move(fields)), answers_(answers) {}

  Result<Lint> run() {
    std::vector<FieldPath> objects;
    for (const SchemaField& field : fields_) {
      const FieldPath parent = parent_of(field.path);
      if (std::find(objects.begin(), objects.end(), parent) == objects.end()) {
        objects.push_back(parent);
      }
    }
    for (const FieldPath& object : objects) find_orders(object);
    for (const SchemaField& field : fields_) find_bounds(field);
    for (const FieldPath& object : objects) PAWL_TRY_VOID(find_open(object));
    for (const SchemaField& field : fields_) find_optional(field);
    for (const SchemaField& field : fields_) find_name(field);
    Lint lint;
    for (const Found& found : found_) {
      PAWL_TRY(Json changed, found.change(schema_));
      lint.findings.push_back(
          {found.rule, found.path, found.text, found.proposal, std::move(changed)});
    }
    lint.proposed = schema_;
    // Names last, the deepest first: until then the paths are those of the schema.
    std::stable_sort(found_.begin(), found_.end(), [](const Found& a, const Found& b) {
      const bool a_renames = a.rule == kName, b_renames = b.rule == kName;
      if (a_renames != b_renames) return b_renames;
      return a_renames && a.path.size() > b.path.size();
    });
    for (const Found& found : found_) {
      PAWL_TRY(lint.proposed, found.change(lint.proposed));
    }
    return lint;
  }

 private:
  static constexpr std::string_view kName = "name longer than value";

  void add(std::string_view rule, const FieldPath& path, std::string text, std::string proposal,
           Change change) {
    found_.push_back(
        {std::string(rule), path, std::move(text), std::move(proposal), std::move(change)});
  }

  std::vector<const SchemaField*> members_of(const FieldPath& object) const {
    std::vector<const SchemaField*> members;
    for (const SchemaField& field : fields_) {
      if (field.path.size() == object.size() + 1 && is_within(field.path, object)) {
        members.push_back(&field);
      }
    }
    return members;
  }

  // The order in which reasoning comes first, what it is about behind it, and long text last.
  void find_orders(const FieldPath& object) {
    std::vector<std::string> before_reasoning, reasoning, long_text, behind_long;
    std::vector<std::string> seen_decisions, seen_long;
    const auto members = members_of(object);
    for (const SchemaField* field : members) {
      const std::string& name = field->path.back();
      switch (role_of(*field)) {
        case FieldRole::kReasoning:
          reasoning.push_back(name);
          before_reasoning = seen_decisions;
          break;
        case FieldRole::kDecision:
          seen_decisions.push_back(name);
          if (!seen_long.empty()) behind_long.push_back(name), long_text = seen_long;
          break;
        case FieldRole::kLongText:
          seen_long.push_back(name);
          break;
        case FieldRole::kOther:
          break;
      }
    }
    std::vector<std::string> order = reasoning;
    for (const SchemaField* field : members) {
      const std::string& name = field->path.back();
      const auto is_in = [&](const std::vector<std::string>& list) {
        return std::find(list.begin(), list.end(), name) != list.end();
      };
      if (!is_in(reasoning) && !is_in(long_text)) order.push_back(name);
    }
    order.insert(order.end(), long_text.begin(), long_text.end());
    const Change reorder = [object, order](const Json& schema) {
      return with_order(schema, object, order);
    };
    if (!before_reasoning.empty()) {
      add("verdict before reasoning", member(object, before_reasoning.front()),
          fmt::format("{} before {}: the answer pays for the reasoning, and what it decides cannot "
                      "use it: the cost of both with the quality of neither",
                      listed(before_reasoning), listed(reasoning)),
          fmt::format("{} first, or not at all", listed(reasoning)), reorder);
    }
    if (!behind_long.empty()) {
      add("long text before decision", member(object, long_text.front()),
          fmt::format("{} before {}: who reads the stream waits for all of the text to learn a few "
                      "tokens",
                      listed(long_text), listed(behind_long)),
          fmt::format("{} last", listed(long_text)), reorder);
    }
  }

  static FieldPath member(FieldPath object, const std::string& name) {
    object.push_back(name);
    return object;
  }

  void find_bounds(const SchemaField& field) {
    check_string(field, field.schema, false);
    if (!has_type(field.schema, "array")) return;
    if (const Json* const items = field.schema.find("items")) check_string(field, *items, true);
    if (field.schema.find("maxItems") != nullptr || field.schema.find("enum") != nullptr ||
        field.schema.find("const") != nullptr) {
      return;
    }
    int64_t most = 0;
    for_values(field.path, [&](const Json& value) {
      if (const auto* items = value.as_array()) most = std::max<int64_t>(most, std::ssize(*items));
    });
    const int64_t bound = most > 0 ? roomy(most, 1) : kProposedItems;
    add("unbounded array", field.path,
        "no maxItems: how long the answer becomes is left to the model",
        fmt::format("\"maxItems\": {}{}", bound,
                    most > 0 ? fmt::format(" (at most {} in the answers here)", most) : ""),
        [path = field.path, bound](const Json& schema) {
          return with_field(schema, path,
                            [&](const Json& one) { return with_keyword(one, "maxItems", bound); });
        });
  }

  void check_string(const SchemaField& field, const Json& text, bool is_item) {
    if (!has_type(text, "string")) return;
    for (const std::string_view key : {"maxLength", "enum", "const", "pattern", "format"}) {
      if (text.find(key) != nullptr) return;
    }
    int64_t most = 0;
    for_values(field.path, [&](const Json& value) {
      for_strings(value, [&](const std::string& one) {
        most = std::max(most, static_cast<int64_t>(characters(one)));
      });
    });
    const int64_t bound = most > 0 ? roomy(most, 10) : kProposedLength;
    add("unbounded string", field.path,
        fmt::format("{}no maxLength: how long the answer becomes is left to the model",
                    is_item ? "items: " : ""),
        fmt::format(
            "\"maxLength\": {}{}", bound,
            most > 0 ? fmt::format(" (at most {} characters in the answers here)", most) : ""),
        [path = field.path, bound, is_item](const Json& schema) {
          return with_field(schema, path, [&](const Json& one) {
            if (!is_item) return with_keyword(one, "maxLength", bound);
            return with_keyword(one, "items", with_keyword(*one.find("items"), "maxLength", bound));
          });
        });
  }

  Result<void> find_open(const FieldPath& object) {
    bool may_hold_more = false;
    const Change close = [object](const Json& schema) {
      return with_object(schema, object, closed);
    };
    PAWL_TRY_VOID(with_object(schema_, object, [&](const Json& one) {
      may_hold_more = is_open(one);
      return one;
    }));
    if (!may_hold_more) return {};
    add("open object", object,
        "members may come that nobody asked for, and are paid for when they do",
        "\"additionalProperties\": false", close);
    return {};
  }

  void find_optional(const SchemaField& field) {
    if (field.is_required || answers_.size() < kEnoughAnswers || field.path.size() > 1) return;
    const auto filled = std::count_if(answers_.begin(), answers_.end(), [&](const Json& answer) {
      return value_at(answer, field.path).has_value();
    });
    if (static_cast<size_t>(filled) < answers_.size()) return;
    add("optional, always filled", field.path,
        fmt::format("optional, and in {} of {} answers: it is paid for each time", filled,
                    answers_.size()),
        "required, so that readers can rely on it; or left out",
        [path = field.path](const Json& schema) {
          return with_object(schema, parent_of(path), [&](const Json& object) {
            Json names = Json::array();
            if (const Json* const old = object.find("required");
                old != nullptr && old->as_array() != nullptr) {
              names = *old;
            }
            names.push_back(path.back());
            return with_keyword(object, "required", std::move(names));
          });
        });
  }

  void find_name(const SchemaField& field) {
    const std::string& name = field.path.back();
    if (characters(name) < kLongName) return;
    const auto longest = longest_value(field.schema);
    double sum = 0;
    int64_t n = 0;
    for_values(field.path, [&](const Json& value) {
      if (value.as_array() != nullptr && field.path.size() > 1) {
        for (const Json& one : *value.as_array()) sum += length_of(one), ++n;
      } else {
        sum += length_of(value), ++n;
      }
    });
    const double mean = n > 0 ? sum / static_cast<double>(n) : 0;
    const auto length = static_cast<double>(characters(name));
    const bool is_longer =
        longest ? length > static_cast<double>(*longest) : n > 0 && length > mean;
    if (!is_longer) return;
    std::string shorter = shorter_name(field);
    if (shorter.empty()) return;
    add(kName, field.path,
        longest ? fmt::format("{} characters of name for at most {} of value", characters(name),
                              *longest)
                : fmt::format("{} characters of name for {:.1f} of value on average in {} values",
                              characters(name), mean, n),
        fmt::format("\"{}\"; who reads the answers has to know", shorter),
        [path = field.path, shorter](const Json& schema) {
          return renamed(schema, path, shorter);
        });
  }

  // Characters of the longest value, where there are few.
  static std::optional<size_t> longest_value(const Json& schema) {
    if (has_type(schema, "boolean")) return std::string_view("false").size();
    if (const Json* const one = schema.find("const")) return characters(one->dump());
    if (const Json* const list = schema.find("enum"); list != nullptr && list->as_array()) {
      size_t most = 0;
      for (const Json& value : *list->as_array()) most = std::max(most, characters(value.dump()));
      return most;
    }
    if (!has_type(schema, "integer")) return std::nullopt;
    const Json *const low = schema.find("minimum"), *const high = schema.find("maximum");
    if (low == nullptr || high == nullptr) return std::nullopt;
    return std::max(low->dump().size(), high->dump().size());
  }

  static double length_of(const Json& value) {
    return static_cast<double>(characters(value.dump()));
  }

  // The shortest word of the name that says something and that no neighbour has; empty: none.
  std::string shorter_name(const SchemaField& field) const {
    static constexpr std::array<std::string_view, 12> kEmpty = {
        "is", "has", "the", "of", "a", "an", "overall", "value", "field", "flag", "text", "final"};
    const std::string& name = field.path.back();
    std::vector<std::string> words(1);
    for (const char c : name) {
      if (c == '_' || c == '-' || c == ' ') {
        words.emplace_back();
      } else {
        words.back() += c;
      }
    }
    const auto members = members_of(parent_of(field.path));
    for (auto word = words.rbegin(); word != words.rend(); ++word) {
      const bool says_nothing = std::find(kEmpty.begin(), kEmpty.end(), *word) != kEmpty.end();
      const bool is_taken = std::any_of(members.begin(), members.end(), [&](const auto* other) {
        return other->path.back() == *word;
      });
      if (word->size() >= 3 && word->size() < name.size() && !says_nothing && !is_taken) {
        return *word;
      }
    }
    return "";
  }

  template <typename F>
  void for_values(const FieldPath& path, F&& f) const {
    for (const Json& answer : answers_) {
      if (const auto value = value_at(answer, path)) f(*value);
    }
  }
  template <typename F>
  static void for_strings(const Json& value, F&& f) {
    if (value.as_string() != nullptr) return f(*value.as_string());
    if (const auto* items = value.as_array()) {
      for (const Json& one : *items) for_strings(one, f);
    }
  }

  const Json& schema_;
  std::vector<SchemaField> fields_;
  std::span<const Json> answers_;
  std::vector<Found> found_;
};

}  // namespace

Result<Lint> lint_schema(const Json& schema, std::span<const Json> answers) {
  PAWL_TRY(auto fields, fields_of_schema(schema));
  return Linter(schema, std::move(fields), answers).run();
}

Json lint_json(const Lint& lint) {
  Json json;
  json["findings"] = Json::array();
  for (const LintFinding& finding : lint.findings) {
    Json one;
    one["rule"] = finding.rule;
    one["path"] = shown_path(finding.path);
    one["text"] = finding.text;
    one["proposal"] = finding.proposal;
    one["schema"] = finding.schema;
    json["findings"].push_back(std::move(one));
  }
  json["proposed_schema"] = lint.proposed;
  return json;
}

}  // namespace pawl::lab
