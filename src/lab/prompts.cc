// SPDX-License-Identifier: Apache-2.0
#include "lab/prompts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/rng.h"

namespace pawl::lab {
namespace {

// Common words: with the space before them one token in most vocabularies.
constexpr std::string_view kWords =
    "the of and to in is that for it was on are as with his they at be this from have or by one "
    "had "
    "not but what all were when we there can an your which their said if do will each about how up "
    "out them then she many some so these would other into has more her two like him see time "
    "could "
    "no make than first been its who now people my made over did down only way find use may water "
    "long little very after words called just where most know get through back much before go good "
    "new write our used me man too any day same right look think also around another came come "
    "work "
    "three word must because does part even place well such here take why things help put years "
    "different away again off went old number great tell men say small every found still between "
    "name should home big give air line set own under read last never us left end along while "
    "might "
    "next sound below saw something thought both few those always looked show large often together "
    "asked house world going want school important until form food keep children feet land side "
    "without boy once animals life enough took sometimes four head above kind began almost live "
    "page "
    "got earth need far hand high year mother light parts country father let night following "
    "picture "
    "being study second eyes soon times story boys since white days ever paper hard near sentence "
    "better best across during today others however sure means knew try told young miles sun ways "
    "thing whole hear example heard several change answer room sea against top turned learn point "
    "city play toward five using himself usually money seen car morning";

const std::vector<std::string_view>& words() {
  static const std::vector<std::string_view> kList = [] {
    std::vector<std::string_view> list;
    for (std::string_view rest = kWords; !rest.empty();) {
      const size_t end = std::min(rest.find(' '), rest.size());
      list.push_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return list;
  }();
  return kList;
}

std::string_view word_at(uint64_t salt, uint64_t number, uint64_t place) {
  const double at = base::uniform(salt, number, place) * static_cast<double>(words().size());
  return words()[std::min(static_cast<size_t>(at), words().size() - 1)];
}

}  // namespace

std::string varied_text(uint64_t salt, uint64_t number, int64_t count) {
  // The head comes first and differs within its first words: a shared beginning of a few tokens
  // would already be a hit for a cache with small blocks.
  constexpr uint64_t kHeadWords = 6, kHeadStream = 0x517CC1B727220A95;
  std::string text;
  const auto head = static_cast<uint64_t>(std::clamp<int64_t>(count, 1, kHeadWords));
  for (uint64_t i = 0; i < head; ++i) {
    text += word_at(salt ^ kHeadStream, number, i);
    text += ' ';
  }
  text.pop_back();
  for (auto i = static_cast<uint64_t>(head); i < static_cast<uint64_t>(count); ++i) {
    text += ' ';
    text += word_at(salt, number, i);
  }
  return text;
}

void PromptMaker::learn(int64_t words_a, int64_t tokens_a, int64_t words_b, int64_t tokens_b) {
  if (words_a == words_b || tokens_a == tokens_b) return;
  const double rate =
      static_cast<double>(tokens_b - tokens_a) / static_cast<double>(words_b - words_a);
  if (rate < 0.2 || rate > 20) return;  // a count that stands still, or runs away, teaches nothing
  per_word_ = rate;
  fixed_ = static_cast<double>(tokens_a) - rate * static_cast<double>(words_a);
}

int64_t PromptMaker::words_for(double tokens) const {
  constexpr double kMost = 1 << 24;
  return static_cast<int64_t>(std::clamp(std::round((tokens - fixed_) / per_word_), 1.0, kMost));
}

base::Result<std::string> PromptMaker::make(int64_t tokens) {
  const uint64_t number = next_++;
  int64_t count = words_for(static_cast<double>(tokens));
  std::string text = varied_text(salt_, number, count);
  if (!count_) return text;
  constexpr int kTries = 6;
  for (int i = 0; i < kTries; ++i) {
    PAWL_TRY(const int64_t got, count_(text));
    if (got == tokens) break;
    const auto missing = static_cast<double>(tokens - got) / per_word_;
    const auto step = static_cast<int64_t>(std::round(missing));
    const int64_t wanted =
        std::max<int64_t>(1, count + (step != 0 ? step : (tokens > got ? 1 : -1)));
    if (wanted == count) break;  // its head alone is longer than that
    count = wanted;
    text = varied_text(salt_, number, count);
  }
  return text;
}

}  // namespace pawl::lab
