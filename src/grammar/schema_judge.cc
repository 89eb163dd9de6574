// SPDX-License-Identifier: Apache-2.0
// Schemas and instances in, verdicts out: what `bench/maskbench` runs. Lines of JSON on standard
// input, {"id", "schema", "tests": [{"valid", "data"}]}; lines on standard output, {"id",
// "refused", "valid_rejected": [{"test", "accepted"}], "invalid_accepted": [i, …], "caught": n,
// "ms"}. An instance is written compactly and fed byte by byte, its members in whatever order is
// accepted; `caught` are accepted ones that the final check refuses. With "walks": n in a line so
// many texts are made by chance and checked: "walks": {"whole", "cut", "stuck", "invalid": [text,
// …]}.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <random>
#include <string>

#include "base/clock.h"
#include "base/json.h"
#include "bridge/grammar.h"
#include "bridge/validator.h"
#include "grammar/guarded_walk.h"
#include "grammar/json_grammar.h"

namespace {

using pawl::base::Json;
using pawl::bridge::Grammar;

constexpr pawl::base::TokenId kEnd = 256;

std::vector<std::string> bytes_words() {
  std::vector<std::string> words;
  for (int byte = 0; byte < 256; ++byte) words.emplace_back(1, static_cast<char>(byte));
  words.emplace_back();
  return words;
}

std::shared_ptr<const pawl::bridge::Vocabulary> bytes_vocabulary() {
  const std::vector<pawl::base::TokenId> end_ids = {kEnd};
  auto made = pawl::bridge::Vocabulary::create(bytes_words(), end_ids, {});
  return made.ok() ? *made : nullptr;
}

// The names of each `properties` of a schema, in their order.
using Orders = std::vector<std::map<std::string, size_t, std::less<>>>;
void collect_orders(const Json& schema, Orders& orders) {
  for (const Json& item : schema.as_array() == nullptr ? Json::Array() : *schema.as_array()) {
    collect_orders(item, orders);
  }
  for (const auto& [name, member] :
       schema.as_object() == nullptr ? Json::Object() : *schema.as_object()) {
    collect_orders(member, orders);
    if (name != "properties" || member.as_object() == nullptr) continue;
    orders.emplace_back();
    for (const auto& [key, unused] : *member.as_object()) {
      orders.back().try_emplace(key, orders.back().size());
    }
  }
}

// Members in the order of those properties that most of them are of.
Json::Object sorted_members(const Json::Object& members, const Orders& orders) {
  size_t most = 0;
  const Orders::value_type* best = nullptr;
  for (const auto& order : orders) {
    const auto known = static_cast<size_t>(std::ranges::count_if(
        members, [&](const Json::Member& one) { return order.contains(one.key); }));
    if (known > most) best = &order;
    most = std::max(most, known);
  }
  Json::Object sorted = members;
  if (best == nullptr) return sorted;
  std::ranges::stable_sort(sorted, {}, [&](const Json::Member& one) {
    const auto rank = best->find(one.key);
    return rank == best->end() ? best->size() : rank->second;
  });
  return sorted;
}

// A text under way, and the way back.
class Feeder {
 public:
  Feeder(const Grammar& grammar, std::shared_ptr<const pawl::grammar::TokenTexts> texts,
         std::shared_ptr<const pawl::grammar::GuardShapes> shapes, Orders orders,
         bool has_old_integers)
      : walk_(*grammar.walk(), std::move(texts), std::move(shapes)),
        orders_(std::move(orders)),
        has_old_integers_(has_old_integers) {}

  // The value, compactly, its members in some order that is accepted.
  bool value(const Json& value) {
    const Json::Object* members = value.as_object();
    const Json::Array* items = value.as_array();
    if (members != nullptr) {
      const Json::Object sorted = sorted_members(*members, orders_);
      std::vector<bool> used(members->size());
      return text("{") && (this->members(sorted, used, 0) || undo(1));
    }
    if (items == nullptr) return simple(value);
    const size_t start = fed_.size();
    bool is_ok = text("[");
    for (size_t i = 0; i < items->size() && is_ok; ++i) {
      is_ok = (i == 0 || text(",")) && this->value((*items)[i]);
    }
    return (is_ok && text("]")) || undo(fed_.size() - start);
  }

  bool is_complete() const { return walk_.is_complete(); }
  const std::string& longest() const { return longest_; }

 private:
  static constexpr int64_t kMaxBytes = 200'000;

  // 2.0 is an integer since draft 6; we write 2.
  bool simple(const Json& value) {
    const auto number = value.to_int64() ? std::nullopt : value.to_double();
    const bool is_whole = number && std::abs(*number) < 1e15 && *number == std::floor(*number);
    if (!is_whole) return text(value.dump());
    return text(fmt::format("{:.1f}", *number)) ||
           (!has_old_integers_ && text(fmt::format("{:.0f}", *number)));
  }

  bool members(const Json::Object& members, std::vector<bool>& used, size_t count) {
    if (count == members.size()) return text("}");
    for (size_t i = 0; i < members.size(); ++i) {
      if (used[i]) continue;
      const size_t start = fed_.size();
      used[i] = true;
      const std::string key = (count > 0 ? "," : "") + Json(members[i].key).dump() + ":";
      if (text(key) && value(members[i].value) && this->members(members, used, count + 1)) {
        return true;
      }
      used[i] = false;
      undo(fed_.size() - start);
    }
    return false;
  }

  bool text(const std::string& bytes) {
    for (size_t i = 0; i < bytes.size(); ++i) {
      const auto accepted = walk_.accept(static_cast<unsigned char>(bytes[i]));
      if (++bytes_ > kMaxBytes || !accepted.ok() || !*accepted) {
        undo(i);
        return false;
      }
      fed_ += bytes[i];
      if (fed_.size() > longest_.size()) longest_ = fed_;
    }
    return true;
  }

  bool undo(size_t bytes) {
    if (bytes > 0 && !walk_.rollback(static_cast<int64_t>(bytes)).ok()) bytes_ = kMaxBytes;
    fed_.resize(fed_.size() - bytes);
    return false;
  }

  pawl::grammar::GuardedWalk walk_;
  const Orders orders_;
  const bool has_old_integers_;
  std::string fed_, longest_;
  int64_t bytes_ = 0;
};

// Texts that come of choosing by chance among what a mask allows: uniform bytes are worse than any
// model at any temperature. Every other walk likes to end; and past a length each does, as a text
// of which nobody says so has no end.
class RandomWalks {
 public:
  RandomWalks(const Grammar& grammar, std::shared_ptr<const pawl::grammar::TokenTexts> texts,
              std::shared_ptr<const pawl::grammar::GuardShapes> shapes)
      : grammar_(grammar), texts_(std::move(texts)), shapes_(std::move(shapes)) {}

  Json verdict(const pawl::bridge::Validator& judge, int64_t walks) {
    int64_t whole = 0, cut = 0, stuck = 0;
    Json invalid = Json::array();
    for (int64_t seed = 0; seed < walks; ++seed) {
      std::string text;
      if (!walk(static_cast<uint64_t>(seed), text)) {
        ++(text.size() < kMostBytes ? stuck : cut);
        continue;
      }
      ++whole;
      const auto checked = judge.check(text);
      if (!checked.ok() || !checked->empty()) invalid.push_back(text);
    }
    Json verdict;
    verdict["whole"] = whole;
    verdict["cut"] = cut;
    verdict["stuck"] = stuck;
    verdict["invalid"] = std::move(invalid);
    return verdict;
  }

 private:
  static constexpr size_t kFreeBytes = 600, kMostBytes = 6000;

  // True when the text came to an end.
  bool walk(uint64_t seed, std::string& text) {
    std::mt19937_64 random(seed);
    bool is_in_string = false, is_escaped = false;
    pawl::grammar::GuardedWalk walk(*grammar_.walk(), texts_, shapes_);
    while (text.size() < kMostBytes) {
      const auto allowed = allowed_of(walk);
      if (allowed.empty()) return false;
      const bool likes_to_end = seed % 2 == 1 && random() % 4 == 0;
      const bool must_end = text.size() >= kFreeBytes;
      std::vector<pawl::base::TokenId> ends;
      for (const pawl::base::TokenId id : allowed) {
        const bool closes = id == kEnd || id == ']' || id == '}';
        if (is_in_string ? id == '"' : closes) ends.push_back(id);
      }
      // The last of the ends: what is open closes before more is said.
      const bool is_ending = (likes_to_end || must_end) && !ends.empty();
      const pawl::base::TokenId id = is_ending ? ends.back() : allowed[random() % allowed.size()];
      const auto accepted = walk.accept(id);
      if (!accepted.ok() || !*accepted) return false;
      if (id == kEnd) return true;
      text += static_cast<char>(id);
      if (id == '"' && !is_escaped) is_in_string = !is_in_string;
      is_escaped = id == '\\' && !is_escaped;
    }
    return false;
  }

  std::vector<pawl::base::TokenId> allowed_of(pawl::grammar::GuardedWalk& walk) {
    std::vector<pawl::base::TokenId> allowed;
    if (!walk.fill_mask(mask_).ok()) return allowed;
    for (pawl::base::TokenId id = 0; id <= kEnd; ++id) {
      const auto place = static_cast<size_t>(id);
      if ((mask_[place / 64] >> (place % 64)) & 1) allowed.push_back(id);
    }
    return allowed;
  }

  const Grammar& grammar_;
  std::shared_ptr<const pawl::grammar::TokenTexts> texts_;
  std::shared_ptr<const pawl::grammar::GuardShapes> shapes_;
  std::vector<uint64_t> mask_ = std::vector<uint64_t>(5);
};

Json judged(const Json& line, const std::shared_ptr<const pawl::bridge::Vocabulary>& vocabulary) {
  Json verdict;
  verdict["id"] = *line.find("id");
  const pawl::base::SteadyClock clock;
  const int64_t start_ns = clock.now_ns();
  static const auto texts = std::make_shared<const pawl::grammar::TokenTexts>(bytes_words());
  const Json& schema = *line.find("schema");
  auto text = pawl::grammar::json_grammar(schema, pawl::grammar::Whitespace::kNone);
  std::string refused = text.ok() ? "" : text.error().message;
  std::shared_ptr<const Grammar> grammar;
  if (text.ok()) {
    auto made = Grammar::compile(vocabulary, Grammar::Source::kNodes, text->text, {});
    if (made.ok()) grammar = *made;
    if (!made.ok()) refused = "compile: " + made.error().message;
  }
  auto judge =
      pawl::bridge::Validator::compile(schema.dump(), text.ok() ? text->draft : 2020, true);
  if (grammar != nullptr && !judge.ok()) refused = "judge: " + judge.error().message;
  verdict["ms"] = static_cast<double>(clock.now_ns() - start_ns) / 1e6;
  verdict["refused"] = refused.empty() ? Json() : Json(refused);
  if (!refused.empty()) return verdict;
  const auto shapes = std::make_shared<const pawl::grammar::GuardShapes>(text->shapes);
  Json rejected = Json::array(), accepted = Json::array();
  int64_t caught = 0, index = 0;
  Orders orders;
  collect_orders(schema, orders);
  const Json* tests = line.find("tests");
  for (const Json& test : tests == nullptr ? Json::Array() : *tests->as_array()) {
    // Members are tried in the order of the instance first, then in that of the schema: a search
    // through all orders would not end.
    const bool has_old_integers = text->draft == 4;
    Feeder feeder(*grammar, texts, shapes, {}, has_old_integers);
    Feeder ranked(*grammar, texts, shapes, orders, has_old_integers);
    const Json& data = *test.find("data");
    const bool is_accepted = (feeder.value(data) && feeder.is_complete()) ||
                             (ranked.value(data) && ranked.is_complete());
    const bool is_valid = test.find("valid")->to_bool().value_or(false);
    if (is_valid && !is_accepted) {
      Json where;
      where["test"] = index;
      const std::string& fed = feeder.longest();
      where["accepted"] = fed.substr(fed.size() > 160 ? fed.size() - 160 : 0);
      rejected.push_back(std::move(where));
    }
    if (!is_valid && is_accepted) {
      accepted.push_back(index);
      auto checked = judge->check(test.find("data")->dump());
      caught += checked.ok() && !checked->empty() ? 1 : 0;
    }
    ++index;
  }
  verdict["valid_rejected"] = std::move(rejected);
  verdict["invalid_accepted"] = std::move(accepted);
  verdict["caught"] = caught;
  if (const Json* walks = line.find("walks"); walks != nullptr) {
    RandomWalks all(*grammar, texts, shapes);
    verdict["walks"] = all.verdict(*judge, walks->to_int64().value_or(0));
  }
  return verdict;
}

}  // namespace

int main() {
  const auto vocabulary = bytes_vocabulary();
  if (vocabulary == nullptr) return 1;
  std::string text;
  while (std::getline(std::cin, text)) {
    const auto line = pawl::base::parse_json(text, {.depth = 128});
    if (!line.ok()) {
      fmt::print(stderr, "schema_judge: {}\n", line.error().message);
      continue;
    }
    fmt::print("{}\n", judged(*line, vocabulary).dump());
    std::fflush(stdout);
  }
  return 0;
}
