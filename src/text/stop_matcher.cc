// SPDX-License-Identifier: Apache-2.0
#include "text/stop_matcher.h"

#include "base/utf8.h"

namespace pawl::text {
namespace {

base::Error bad_stop(size_t index, std::string reason) {
  return base::Error{base::ErrorCode::kInvalidArgument,
                     "stop string " + std::to_string(index) + " " + std::move(reason), "stop"};
}

}  // namespace

StopMatcher::StopMatcher() : nodes_(1) {}

base::Result<StopMatcher> StopMatcher::create(std::span<const std::string> stops) {
  StopMatcher matcher;
  size_t bytes = 0;
  for (size_t i = 0; i < stops.size(); ++i) {
    if (stops[i].empty()) return bad_stop(i, "is empty");
    if (!base::is_valid_utf8(stops[i])) return bad_stop(i, "is not valid UTF-8");
    bytes += stops[i].size();
    if (bytes > kMaxBytes) {
      return bad_stop(i, "brings all of them above " + std::to_string(kMaxBytes) + " bytes");
    }
    matcher.stop_bytes_.push_back(stops[i].size());
    matcher.insert(stops[i], static_cast<int32_t>(i));
  }
  matcher.link();
  return matcher;
}

void StopMatcher::insert(std::string_view stop, int32_t index) {
  int32_t at = kRoot;
  for (char c : stop) {
    const uint8_t byte = static_cast<uint8_t>(c);
    int32_t next = child(at, byte);
    if (next == kNone) {
      next = static_cast<int32_t>(nodes_.size());
      Node fresh;
      fresh.byte = byte;
      fresh.depth = nodes_[static_cast<size_t>(at)].depth + 1;
      fresh.next_sibling = nodes_[static_cast<size_t>(at)].first_child;
      nodes_.push_back(fresh);
      nodes_[static_cast<size_t>(at)].first_child = next;
    }
    at = next;
  }
  int32_t& ending = nodes_[static_cast<size_t>(at)].ending;
  if (ending == kNone) ending = index;  // of two equal ones the first is reported
}

// Breadth first: a node's fail link leads to a shallower one, which is complete by then.
void StopMatcher::link() {
  std::vector<int32_t> queue{kRoot};
  for (size_t done = 0; done < queue.size(); ++done) {
    const int32_t parent = queue[done];
    int32_t at = nodes_[static_cast<size_t>(parent)].first_child;
    for (; at != kNone; at = nodes_[static_cast<size_t>(at)].next_sibling) {
      Node& node = nodes_[static_cast<size_t>(at)];
      if (parent != kRoot) {
        node.fail = next_state(nodes_[static_cast<size_t>(parent)].fail, node.byte);
      }
      if (node.ending == kNone) node.ending = nodes_[static_cast<size_t>(node.fail)].ending;
      queue.push_back(at);
    }
  }
}

int32_t StopMatcher::child(int32_t node, uint8_t byte) const {
  int32_t at = nodes_[static_cast<size_t>(node)].first_child;
  while (at != kNone && nodes_[static_cast<size_t>(at)].byte != byte) {
    at = nodes_[static_cast<size_t>(at)].next_sibling;
  }
  return at;
}

int32_t StopMatcher::next_state(int32_t node, uint8_t byte) const {
  for (;;) {
    const int32_t next = child(node, byte);
    if (next != kNone) return next;
    if (node == kRoot) return kRoot;
    node = nodes_[static_cast<size_t>(node)].fail;
  }
}

bool StopMatcher::push(std::string_view text, std::string& out) {
  if (found_) return true;
  const size_t before = pending_.size();
  pending_.append(text);
  for (size_t i = 0; i < text.size(); ++i) {
    state_ = next_state(state_, static_cast<uint8_t>(text[i]));
    const int32_t ending = nodes_[static_cast<size_t>(state_)].ending;
    if (ending == kNone) continue;
    found_ = static_cast<size_t>(ending);
    out.append(pending_, 0, before + i + 1 - stop_bytes_[*found_]);
    pending_.clear();
    return true;
  }
  const size_t safe = pending_.size() - nodes_[static_cast<size_t>(state_)].depth;
  out.append(pending_, 0, safe);
  pending_.erase(0, safe);
  return false;
}

void StopMatcher::flush(std::string& out) {
  out.append(pending_);
  pending_.clear();
  state_ = kRoot;
}

}  // namespace pawl::text
