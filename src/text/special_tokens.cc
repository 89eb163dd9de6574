// SPDX-License-Identifier: Apache-2.0
#include "text/special_tokens.h"

#include <algorithm>

namespace pawl::text {

void SpecialTokens::add_all(std::vector<Entry> entries) {
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.text < b.text; });
  std::vector<int32_t> path;  // nodes of the text before, which shares a prefix with the next
  for (const Entry& entry : entries) {
    if (!entry.text.empty()) insert(entry.text, entry.id, path);
  }
}

int32_t SpecialTokens::append_node(uint8_t byte, int32_t parent, int32_t left_sibling) {
  const int32_t node = static_cast<int32_t>(nodes_.size());
  Node fresh;
  fresh.byte = byte;
  fresh.depth = 1;
  if (parent != kNoNode) {
    const Node& above = nodes_[static_cast<size_t>(parent)];
    fresh.depth = above.depth + 1;
    fresh.shorter = above.token != kNoToken ? parent : above.shorter;
  }
  nodes_.push_back(fresh);
  if (left_sibling != kNoNode) {
    nodes_[static_cast<size_t>(left_sibling)].next_sibling = node;
  } else if (parent != kNoNode) {
    nodes_[static_cast<size_t>(parent)].first_child = node;
  } else {
    first_of_[byte] = node;
  }
  return node;
}

// Texts come sorted, so the branch of the text before is always the last one of each node.
void SpecialTokens::insert(std::string_view text, TokenId id, std::vector<int32_t>& path) {
  size_t shared = 0;
  while (shared < path.size() && shared < text.size() &&
         nodes_[static_cast<size_t>(path[shared])].byte == static_cast<uint8_t>(text[shared])) {
    ++shared;
  }
  for (size_t depth = shared; depth < text.size(); ++depth) {
    const int32_t parent = depth == 0 ? kNoNode : path[depth - 1];
    const int32_t left =
        depth == shared && depth > 0 && depth < path.size() ? path[depth] : kNoNode;
    const int32_t node = append_node(static_cast<uint8_t>(text[depth]), parent, left);
    path.resize(depth);
    path.push_back(node);
  }
  path.resize(text.size());
  nodes_[static_cast<size_t>(path.back())].token = id;
  longest_ = std::max(longest_, static_cast<uint32_t>(text.size()));
}

int32_t SpecialTokens::longest_at(std::string_view text, size_t begin) const {
  int32_t node = first_of_[static_cast<uint8_t>(text[begin])];
  int32_t found = kNoNode;
  for (size_t at = begin + 1; node != kNoNode; ++at) {
    const Node& here = nodes_[static_cast<size_t>(node)];
    if (here.token != kNoToken) found = node;
    if (at == text.size()) break;
    const uint8_t byte = static_cast<uint8_t>(text[at]);
    node = here.first_child;
    while (node != kNoNode && nodes_[static_cast<size_t>(node)].byte != byte) {
      node = nodes_[static_cast<size_t>(node)].next_sibling;
    }
  }
  return found;
}

std::vector<TextPiece> SpecialTokens::split(std::string_view text) const {
  std::vector<std::vector<Candidate>> by_length;
  for (size_t begin = 0; begin < text.size(); ++begin) {
    if (first_of_[static_cast<uint8_t>(text[begin])] == kNoNode) continue;
    const int32_t node = longest_at(text, begin);
    if (node == kNoNode) continue;
    if (by_length.empty()) by_length.resize(longest_ + 1);
    by_length[nodes_[static_cast<size_t>(node)].depth].push_back(
        {static_cast<uint32_t>(begin), node});
  }
  if (!by_length.empty()) return choose(text, std::move(by_length));
  if (text.empty()) return {};
  return {{0, static_cast<uint32_t>(text.size()), kNoToken}};
}

// What was taken before is at least as long as the candidate at hand, so it overlaps the candidate
// only where it covers the candidate's first or last byte: two look-ups decide.
std::vector<TextPiece> SpecialTokens::choose(std::string_view text,
                                             std::vector<std::vector<Candidate>> by_length) const {
  std::vector<bool> taken(text.size());
  std::vector<Candidate> chosen;
  const auto leftmost = [](const Candidate& a, const Candidate& b) { return a.begin < b.begin; };
  for (size_t length = by_length.size() - 1; length > 0; --length) {
    std::vector<Candidate>& candidates = by_length[length];
    if (!std::is_sorted(candidates.begin(), candidates.end(), leftmost)) {
      std::sort(candidates.begin(), candidates.end(), leftmost);
    }
    for (const Candidate& candidate : candidates) {
      if (taken[candidate.begin]) continue;
      if (!taken[candidate.begin + length - 1]) {
        std::fill_n(taken.begin() + candidate.begin, length, true);
        chosen.push_back(candidate);
        continue;
      }
      const int32_t shorter = nodes_[static_cast<size_t>(candidate.node)].shorter;
      if (shorter == kNoNode) continue;
      by_length[nodes_[static_cast<size_t>(shorter)].depth].push_back({candidate.begin, shorter});
    }
  }
  std::sort(chosen.begin(), chosen.end(), leftmost);

  std::vector<TextPiece> pieces;
  uint32_t done = 0;
  for (const Candidate& candidate : chosen) {
    const Node& node = nodes_[static_cast<size_t>(candidate.node)];
    if (candidate.begin > done) pieces.push_back({done, candidate.begin, kNoToken});
    done = candidate.begin + node.depth;
    pieces.push_back({candidate.begin, done, node.token});
  }
  if (done < text.size()) pieces.push_back({done, static_cast<uint32_t>(text.size()), kNoToken});
  return pieces;
}

}  // namespace pawl::text
