// SPDX-License-Identifier: Apache-2.0
#include "grammar/ending.h"

#include <algorithm>
#include <queue>
#include <string>
#include <unordered_set>

#include "base/digest.h"
#include "policy/token_mask.h"

namespace pawl::grammar {

using base::Result;
using base::TokenId;
using At = JsonPlace::At;

namespace {

constexpr size_t kFillers = 64;
constexpr size_t kManyBytes = 24;  // as first bytes: one is as good as another
constexpr size_t kMaxText = 1 << 16;

bool is_filler(std::string_view word) {
  const bool is_blank = std::ranges::all_of(word, [](char c) { return c == ' '; });
  return is_blank || std::ranges::all_of(word, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
         });
}

// A text that was begun: how it came about, and what it costs.
struct Node {
  std::vector<TokenId> steps;    // as the walk took them
  std::string text;              // of them
  std::vector<uint32_t> tokens;  // [text.size() + 1] the fewest ids that spell so much of it
  JsonPlace place;
  size_t followed = 0;  // of the steps, at the end: the only way on
};

class Search {
 public:
  Search(GuardedWalk& walk, const EndingWords& words, const EndingSearch& limits)
      : walk_(walk),
        words_(words),
        limits_(limits),
        mask_(static_cast<int32_t>(words.texts->words.size())) {}

  Result<std::optional<std::vector<TokenId>>> run(const JsonPlace& place);
  Result<void> go_back() { return go_to({}); }

 private:
  Result<void> go_to(const std::vector<TokenId>& steps);
  Result<bool> step(Node& node, TokenId id);
  Result<void> follow(Node& node);
  Result<bool> expand(size_t index);
  std::vector<uint8_t> first_bytes() const;
  std::vector<uint8_t> worth_trying(const JsonPlace& place, std::vector<uint8_t> bytes) const;
  std::optional<TokenId> entry(uint8_t first) const;
  void push(Node node);
  bool is_known(const Node& node);
  std::optional<TokenId> end_id() const;
  Result<std::vector<TokenId>> ways_ids(const Node& node, TokenId end);

  GuardedWalk& walk_;
  const EndingWords& words_;
  const EndingSearch& limits_;
  policy::TokenMask mask_;
  std::vector<TokenId> taken_;  // that the walk took since the begin of the search
  std::vector<Node> nodes_;
  // (cost, -age): of equal cost the youngest, so that a way is gone to its end.
  std::priority_queue<std::pair<int64_t, size_t>> open_;
  std::unordered_set<std::string> seen_;
  std::optional<TokenId> ended_;  // the node that was expanded last may end with this
};

Result<void> Search::go_to(const std::vector<TokenId>& steps) {
  const auto [here, there] = std::ranges::mismatch(taken_, steps);
  const auto back = taken_.end() - here;
  if (back > 0) {
    PAWL_TRY_VOID(walk_.rollback(back));
    taken_.erase(here, taken_.end());
  }
  for (size_t i = taken_.size(); i < steps.size(); ++i) {
    PAWL_TRY(const bool is_taken, walk_.accept(steps[i]));
    if (!is_taken) break;  // the same walk took it before
    taken_.push_back(steps[i]);
  }
  return {};
}

// The node's text goes on with an entry, if the walk takes it.
Result<bool> Search::step(Node& node, TokenId id) {
  PAWL_TRY(const bool is_taken, walk_.accept(id));
  if (!is_taken) return false;
  taken_.push_back(id);
  node.steps.push_back(id);
  const std::string& word = words_.texts->words[static_cast<size_t>(id)];
  node.place.push(word);
  for (const char byte : word) {
    node.text += byte;
    uint32_t fewest = node.tokens[node.text.size() - 1] + 1;
    const size_t most = std::min(node.text.size(), words_.longest);
    for (size_t length = 2; length <= most; ++length) {
      const size_t begin = node.text.size() - length;
      if (node.tokens[begin] + 1 >= fewest) continue;
      const auto found = words_.ids.find(std::string_view(node.text).substr(begin));
      if (found != words_.ids.end()) fewest = node.tokens[begin] + 1;
    }
    node.tokens.push_back(fewest);
  }
  return true;
}

// The node's text goes on as far as there is one way.
Result<void> Search::follow(Node& node) {
  node.followed = 0;
  for (const TokenId id : walk_.forced()) {
    PAWL_TRY(const bool is_taken, step(node, id));
    if (!is_taken) break;
    ++node.followed;
  }
  return {};
}

// Which bytes may come first. A byte that is an entry of its own is allowed where a longer one is.
std::vector<uint8_t> Search::first_bytes() const {
  std::vector<uint8_t> bytes;
  for (int byte = 0; byte < 256; ++byte) {
    if (entry(static_cast<uint8_t>(byte))) bytes.push_back(static_cast<uint8_t>(byte));
  }
  return bytes;
}

std::optional<TokenId> Search::entry(uint8_t first) const {
  for (const TokenId id : words_.by_first[first]) {
    if (mask_.allows(id)) return id;
    if (words_.texts->words[static_cast<size_t>(id)].size() == 1) return std::nullopt;
  }
  return std::nullopt;
}

// What closes is never longer than what goes on: where something can be closed, nothing else is
// tried. In vain where a closed value must be another one; then no way is found.
std::vector<uint8_t> Search::worth_trying(const JsonPlace& place,
                                          std::vector<uint8_t> bytes) const {
  const auto has = [&](char byte) {
    return std::ranges::find(bytes, static_cast<uint8_t>(byte)) != bytes.end();
  };
  const auto only = [](char byte) { return std::vector<uint8_t>{static_cast<uint8_t>(byte)}; };
  if (place.at() == At::kString) {
    return !place.is_escaped() && has('"') ? only('"') : bytes;
  }
  for (const char close : {'}', ']'}) {
    if (has(close)) return only(close);
  }
  const bool is_behind = place.at() == At::kPlain || place.at() == At::kBehind;
  if (is_behind && has(',')) return only(',');
  std::erase_if(bytes, [](uint8_t byte) {
    return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
  });
  return bytes;
}

void Search::push(Node node) {
  const auto tokens = static_cast<int64_t>(node.tokens.back());
  // What follows may be spelled together with what is there.
  if (tokens - 1 > limits_.most_tokens || node.text.size() > kMaxText) return;
  const auto bytes = static_cast<int64_t>(node.text.size());
  const int64_t cost =
      limits_.takes_any ? 0 : 4 * tokens + bytes + static_cast<int64_t>(node.place.depth());
  open_.emplace(-cost, nodes_.size());
  nodes_.push_back(std::move(node));
}

// Another text led to where the same may follow: it was cheaper, as it came first. What the grammar
// left one way for tells apart what would look alike behind it.
bool Search::is_known(const Node& node) {
  std::string fingerprint;
  node.place.append_to(fingerprint);
  for (size_t i = node.steps.size() - node.followed; i < node.steps.size(); ++i) {
    fingerprint += " " + std::to_string(node.steps[i]);
  }
  fingerprint += base::xxh3_128(std::as_bytes(mask_.words()));
  return !seen_.insert(std::move(fingerprint)).second;
}

std::optional<TokenId> Search::end_id() const {
  for (const TokenId id : words_.end_ids) {
    if (mask_.allows(id)) return id;
  }
  return std::nullopt;
}

// Looks where a node leads. True: it may end; `ended_` is how.
Result<bool> Search::expand(size_t index) {
  Node node = std::move(nodes_[index]);
  PAWL_TRY_VOID(go_to(node.steps));
  PAWL_TRY_VOID(walk_.fill_mask(mask_.words()));
  ended_ = end_id();
  if (ended_) {
    nodes_[index] = std::move(node);
    return true;
  }
  if (is_known(node)) return false;
  std::vector<uint8_t> bytes = worth_trying(node.place, first_bytes());
  std::vector<TokenId> next;
  if (bytes.size() > kManyBytes) {
    const auto filler =
        std::ranges::find_if(words_.fillers, [&](TokenId id) { return mask_.allows(id); });
    if (filler != words_.fillers.end()) next.push_back(*filler);
    const bool has_letter = std::ranges::find(bytes, uint8_t{'a'}) != bytes.end();
    bytes = {has_letter ? uint8_t{'a'} : bytes.front()};
  }
  for (const uint8_t byte : bytes) {
    const auto id = entry(byte);
    if (id) next.push_back(*id);
  }
  // The last that is pushed is looked at first.
  for (size_t i = next.size(); i > 0; --i) {
    Node child = i > 1 ? node : std::move(node);
    PAWL_TRY_VOID(go_to(child.steps));
    PAWL_TRY(const bool is_taken, step(child, next[i - 1]));
    if (!is_taken) continue;
    PAWL_TRY_VOID(follow(child));
    push(std::move(child));
  }
  return false;
}

// The way in as few ids as spell it, should the walk take them.
Result<std::vector<TokenId>> Search::ways_ids(const Node& node, TokenId end) {
  std::vector<TokenId> steps = node.steps;
  steps.push_back(end);
  PAWL_TRY_VOID(go_to({}));
  auto spelled = words_.spell(node.text);
  if (!spelled || spelled->size() >= node.steps.size()) return steps;
  spelled->push_back(end);
  PAWL_TRY(const bool is_taken, takes(walk_, *spelled));
  return is_taken ? std::move(*spelled) : steps;
}

Result<std::optional<std::vector<TokenId>>> Search::run(const JsonPlace& place) {
  Node root{{}, {}, {0}, place};
  PAWL_TRY_VOID(follow(root));
  push(std::move(root));
  for (int looked = 0; looked < limits_.nodes && !open_.empty(); ++looked) {
    const size_t index = open_.top().second;
    open_.pop();
    PAWL_TRY(const bool may_end, expand(index));
    if (!may_end) continue;
    PAWL_TRY(std::vector<TokenId> ids, ways_ids(nodes_[index], *ended_));
    if (static_cast<int64_t>(ids.size()) > limits_.most_tokens) continue;
    return std::optional(std::move(ids));
  }
  return std::optional<std::vector<TokenId>>();
}

}  // namespace

EndingWords::EndingWords(std::shared_ptr<const TokenTexts> given, std::vector<TokenId> ends)
    : texts(std::move(given)), end_ids(std::move(ends)) {
  for (size_t i = 0; i < texts->words.size(); ++i) {
    const std::string& word = texts->words[i];
    const auto id = static_cast<TokenId>(i);
    if (word.empty() || std::ranges::find(end_ids, id) != end_ids.end()) continue;
    // Where bytes have entries beside those of characters, the characters' come later.
    ids[word] = id;
    by_first[static_cast<uint8_t>(word.front())].push_back(id);
    longest = std::max(longest, word.size());
    if (is_filler(word)) fillers.push_back(id);
  }
  const auto size = [this](TokenId id) { return texts->words[static_cast<size_t>(id)].size(); };
  for (auto& entries : by_first) std::ranges::stable_sort(entries, std::less(), size);
  std::ranges::stable_sort(fillers, std::greater(), size);
  if (fillers.size() > kFillers) fillers.resize(kFillers);
}

std::optional<std::vector<TokenId>> EndingWords::spell(std::string_view text) const {
  constexpr uint32_t kNever = UINT32_MAX;
  std::vector<uint32_t> fewest(text.size() + 1, kNever);
  std::vector<TokenId> last(text.size() + 1, 0);
  fewest[0] = 0;
  for (size_t end = 1; end <= text.size(); ++end) {
    for (size_t length = 1; length <= std::min(end, longest); ++length) {
      if (fewest[end - length] == kNever || fewest[end - length] + 1 >= fewest[end]) continue;
      const auto found = ids.find(text.substr(end - length, length));
      if (found == ids.end()) continue;
      fewest[end] = fewest[end - length] + 1;
      last[end] = found->second;
    }
  }
  if (fewest.back() == kNever) return std::nullopt;
  std::vector<TokenId> spelled;
  for (size_t end = text.size(); end > 0;) {
    spelled.push_back(last[end]);
    end -= texts->words[static_cast<size_t>(last[end])].size();
  }
  std::ranges::reverse(spelled);
  return spelled;
}

Result<std::optional<std::vector<TokenId>>> find_ending(GuardedWalk& walk, const JsonPlace& place,
                                                        const EndingWords& words,
                                                        const EndingSearch& search) {
  Search looked(walk, words, search);
  PAWL_TRY(auto found, looked.run(place));
  PAWL_TRY_VOID(looked.go_back());
  return found;
}

Result<bool> takes(GuardedWalk& walk, const std::vector<TokenId>& ids) {
  int64_t taken = 0;
  bool is_taken = true;
  for (const TokenId id : ids) {
    PAWL_TRY(is_taken, walk.accept(id));
    if (!is_taken) break;
    ++taken;
  }
  if (taken > 0) PAWL_TRY_VOID(walk.rollback(taken));
  return is_taken;
}

}  // namespace pawl::grammar
