// SPDX-License-Identifier: Apache-2.0
// What masks cost with a real vocabulary:  bench/maskbench --lines | mask_speed MODEL.gguf
// For each valid instance of each schema the mask is computed at every token of its text, nothing
// ahead of time; then one line of JSON: schemas, instances, masks, how many tokens were forced, and
// microseconds of masks (mean, percentiles) and of all of a token (mask, accept, forced).
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <numeric>

#include "base/clock.h"
#include "base/json.h"
#include "grammar/compiler.h"
#include "text/tokenizer.h"

namespace {

using pawl::base::Json;

struct Times {
  std::vector<double> masks_us, tokens_us;
  int64_t schemas = 0, refused = 0, instances = 0, left = 0, forced = 0;
};

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto place = static_cast<size_t>(share * static_cast<double>(values.size() - 1));
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(place));
  return values[place];
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(std::max<size_t>(values.size(), 1));
}

// As the grammar has it: Json::dump puts a space behind a colon or comma.
std::string compact(const Json& value) {
  std::string out;
  if (const Json::Array* items = value.as_array(); items != nullptr) {
    for (const Json& item : *items) out += (out.empty() ? "" : ",") + compact(item);
    return "[" + out + "]";
  }
  if (const Json::Object* members = value.as_object(); members != nullptr) {
    for (const auto& [key, member] : *members) {
      out += (out.empty() ? "" : ",") + Json(key).dump() + ":" + compact(member);
    }
    return "{" + out + "}";
  }
  return value.dump();
}

// Follows the text while the grammar does: another order of members is another text.
void follow(const pawl::grammar::Compiled& compiled, const std::vector<pawl::base::TokenId>& ids,
            size_t vocabulary, Times& times) {
  const pawl::base::SteadyClock clock;
  auto constraint = compiled.constraint();
  if (!constraint.ok()) return;
  pawl::policy::TokenMask mask(static_cast<int32_t>(vocabulary));
  ++times.instances;
  std::vector<pawl::base::TokenId> forced;
  for (const pawl::base::TokenId id : ids) {
    const bool is_forced = !forced.empty() && forced.front() == id;
    const int64_t start_ns = clock.now_ns();
    if (is_forced) {
      forced.erase(forced.begin());
      ++times.forced;
    } else {
      if (!(*constraint)->fill_mask(mask).ok()) return;
      times.masks_us.push_back(static_cast<double>(clock.now_ns() - start_ns) / 1e3);
      if (!mask.allows(id)) {
        ++times.left;
        return;
      }
    }
    if (!(*constraint)->accept(id).ok()) return;
    if (forced.empty()) forced = (*constraint)->forced();
    times.tokens_us.push_back(static_cast<double>(clock.now_ns() - start_ns) / 1e3);
  }
}

Json told(const Times& times) {
  Json made;
  made["schemas"] = times.schemas;
  made["refused"] = times.refused;
  made["instances"] = times.instances;
  made["left_early"] = times.left;
  made["masks"] = static_cast<int64_t>(times.masks_us.size());
  made["forced_tokens"] = times.forced;
  for (const auto& [name, values] :
       {std::pair("mask_us", &times.masks_us), std::pair("token_us", &times.tokens_us)}) {
    Json& one = made[name];
    one["mean"] = mean(*values);
    one["p50"] = percentile(*values, 0.5);
    one["p90"] = percentile(*values, 0.9);
    one["p99"] = percentile(*values, 0.99);
    one["p99.9"] = percentile(*values, 0.999);
    one["most"] = percentile(*values, 1);
  }
  return made;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    fmt::print(stderr, "usage: mask_speed MODEL.gguf < schemas\n");
    return 2;
  }
  auto file = pawl::gguf::open(arguments[1]);
  auto tokenizer = file.ok()
                       ? pawl::text::Tokenizer::create(std::move(*file))
                       : pawl::base::Result<std::unique_ptr<pawl::text::Tokenizer>>(file.error());
  if (!tokenizer.ok()) {
    fmt::print(stderr, "{}: {}\n", arguments[1], tokenizer.error().message);
    return 1;
  }
  const auto compiler =
      pawl::grammar::Compiler::create(**tokenizer, pawl::grammar::Whitespace::kNone);
  if (!compiler.ok()) return 1;
  Times times;
  std::string text;
  while (std::getline(std::cin, text)) {
    const auto line = pawl::base::parse_json(text);
    if (!line.ok()) continue;
    ++times.schemas;
    const auto compiled = (*compiler)->compile({.source = line->find("schema")->dump()});
    if (!compiled.ok()) {
      ++times.refused;
      continue;
    }
    for (const Json& test : *line->find("tests")->as_array()) {
      if (!test.find("valid")->to_bool().value_or(false)) continue;
      const auto ids =
          (*tokenizer)
              ->encode(compact(*test.find("data")), {.add_bos = false, .parse_special = false});
      if (ids.ok()) follow(**compiled, *ids, (*tokenizer)->vocab().size(), times);
    }
  }
  fmt::print("{}\n", told(times).dump());
  return 0;
}
