// SPDX-License-Identifier: Apache-2.0
#include "grammar/repeat_guard.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"

namespace pawl::grammar {
namespace {

using base::Json;

// Values that are equal become one: members in one order, a number without a fraction an integer.
Json ordered(const Json& value) {
  if (const Json::Array* items = value.as_array(); items != nullptr) {
    Json made = Json::array();
    for (const Json& item : *items) made.push_back(ordered(item));
    return made;
  }
  if (const Json::Object* members = value.as_object(); members != nullptr) {
    Json::Object made;
    for (const auto& [key, member] : *members) made.push_back({key, ordered(member)});
    std::ranges::sort(made, {}, &Json::Member::key);
    return Json::object_of(std::move(made));
  }
  constexpr double kExact = 9007199254740992;  // from here on a double is an integer anyway
  const auto number = value.to_int64() ? std::nullopt : value.to_double();
  if (!number || std::abs(*number) >= kExact || *number != std::floor(*number)) return value;
  return static_cast<int64_t>(*number);
}

std::string canonical(std::string_view text) {
  if (text.starts_with('"') && text.find('\\') == std::string_view::npos) return std::string(text);
  const auto value = base::parse_json(text);
  return value.ok() ? ordered(*value).dump() : std::string(text);
}

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

}  // namespace

RepeatGuard::RepeatGuard(std::shared_ptr<const GuardShapes> shapes) : shapes_(std::move(shapes)) {
  State start;
  if (!shapes_->shapes.empty()) {
    start.value_shapes = std::make_shared<const std::vector<int32_t>>(1, 0);
  }
  states_.emplace_back(std::move(start), 0);
}

GuardLook RepeatGuard::look() const {
  const State& state = states_.back().first;
  const Frame* top = state.top.get();
  if (top == nullptr) return GuardLook::kNone;
  if (top->is_unique && (top->only != nullptr || state.mode == Mode::kPlain)) {
    return GuardLook::kAll;
  }
  if (top->has_seen_items) return GuardLook::kMarks;
  if (!top->has_seen_keys) return GuardLook::kNone;
  return state.mode == Mode::kKey ? GuardLook::kOneQuote : GuardLook::kTwoQuotes;
}

std::optional<std::vector<std::string>> RepeatGuard::key_rests() const {
  const State& state = states_.back().first;
  const std::string_view begun = std::string_view(text_).substr(state.begin);
  if (begun.find('\\') != std::string_view::npos) return std::nullopt;
  std::vector<std::string> rests;
  for (const Seen* seen = state.top->seen.get(); seen != nullptr; seen = seen->before.get()) {
    std::string_view rest = seen->text;
    if (!rest.starts_with(begun)) continue;
    rest.remove_prefix(begun.size());
    rest.remove_suffix(1);
    if (rest.find('\\') == std::string_view::npos) rests.emplace_back(rest);
  }
  return rests;
}

bool RepeatGuard::run(State& state, std::string_view bytes) {
  const size_t length = text_.size();
  text_ += bytes;
  for (size_t place = length; place < text_.size(); ++place) {
    if (!step(state, place)) {
      text_.resize(length);
      return false;
    }
  }
  return true;
}

bool RepeatGuard::allows(std::string_view bytes) {
  State state = states_.back().first;
  const size_t length = text_.size();
  const bool is_allowed = run(state, bytes);
  text_.resize(length);
  return is_allowed;
}

void RepeatGuard::push(std::string_view bytes) {
  State state = states_.back().first;
  run(state, bytes);
  states_.emplace_back(std::move(state), text_.size());
}

void RepeatGuard::pop(size_t tokens) {
  states_.resize(states_.size() - tokens);
  text_.resize(states_.back().second);
}

bool RepeatGuard::step(State& state, size_t place) {
  const char c = text_[place];
  if (state.mode == Mode::kPlain) {
    const bool goes_on = !is_space(c) && c != ',' && c != ']' && c != '}';
    if (goes_on) return is_item_open(state, place + 1);
    state.mode = Mode::kBetween;
    return end_value(state, state.begin, place) && between(state, place);
  }
  if (state.mode == Mode::kBetween) return between(state, place);
  if (state.is_escaped) {
    state.is_escaped = false;
  } else if (c == '\\') {
    state.is_escaped = true;
  } else if (c == '"') {
    const bool is_key = state.mode == Mode::kKey;
    state.mode = Mode::kBetween;
    return is_key ? end_key(state, place + 1) : end_value(state, state.begin, place + 1);
  }
  return state.mode == Mode::kKey || is_item_open(state, place + 1);
}

bool RepeatGuard::between(State& state, size_t place) {
  const char c = text_[place];
  if (is_space(c)) return true;
  switch (c) {
    case ',':
      state.is_at_key = state.top != nullptr && !state.top->is_array;
      if (state.top != nullptr && state.top->is_array) {
        state.value_shapes = item_shapes(*state.top);
      }
      state.begin = place + 1;
      return is_item_open(state, place + 1);
    case ':':
      state.is_at_key = false;
      return true;
    case '[':
    case '{':
      open(state, place, c == '[');
      return true;
    case ']':
    case '}': {
      if (state.top == nullptr) return true;
      const size_t begin = state.top->begin;
      state.top = state.top->below;
      state.is_at_key = false;
      return end_value(state, begin, place + 1);
    }
    default:
      state.begin = place;
      state.mode = c != '"' ? Mode::kPlain : state.is_at_key ? Mode::kKey : Mode::kString;
      return state.mode == Mode::kKey || is_item_open(state, place + 1);
  }
}

void RepeatGuard::open(State& state, size_t place, bool is_array) const {
  Frame frame;
  frame.below = state.top;
  frame.is_array = is_array;
  frame.begin = place;
  frame.shapes = state.value_shapes;
  if (state.top != nullptr) {
    frame.has_seen_keys = state.top->has_seen_keys;
    frame.has_seen_items = state.top->has_seen_items;
  }
  if (is_array && frame.shapes != nullptr) {
    for (const int32_t shape : *frame.shapes) {
      for (const auto& one : shapes_->shapes[static_cast<size_t>(shape)].arrays) {
        frame.is_unique |= one.is_unique;
        if (one.is_unique && !one.only.empty()) frame.only = &one.only;
      }
    }
  }
  state.top = std::make_shared<const Frame>(std::move(frame));
  state.is_at_key = !is_array;
  state.begin = place + 1;
  if (is_array) state.value_shapes = item_shapes(*state.top);
}

RepeatGuard::Shapes RepeatGuard::item_shapes(const Frame& frame) const {
  if (frame.shapes == nullptr) return nullptr;
  std::vector<int32_t> found;
  for (const int32_t shape : *frame.shapes) {
    for (const auto& one : shapes_->shapes[static_cast<size_t>(shape)].arrays) {
      const int32_t item = frame.index < one.prefix.size() ? one.prefix[frame.index] : one.rest;
      if (std::ranges::find(found, item) == found.end()) found.push_back(item);
    }
  }
  return std::make_shared<const std::vector<int32_t>>(std::move(found));
}

bool RepeatGuard::end_key(State& state, size_t end) {
  const std::string key = canonical(std::string_view(text_).substr(state.begin, end - state.begin));
  if (state.top == nullptr) return true;
  for (const Seen* seen = state.top->seen.get(); seen != nullptr; seen = seen->before.get()) {
    if (seen->text == key) return false;
  }
  Frame frame = *state.top;
  frame.seen = std::make_shared<const Seen>(Seen{key, key, frame.seen});
  frame.has_seen_keys = true;
  if (frame.shapes != nullptr) {
    std::vector<int32_t> found;
    for (const int32_t shape : *frame.shapes) {
      for (const auto& one : shapes_->shapes[static_cast<size_t>(shape)].objects) {
        const auto named = one.named.find(key);
        if (named != one.named.end()) {
          found.push_back(named->second);
        } else {
          found.insert(found.end(), one.others.begin(), one.others.end());
        }
      }
    }
    std::ranges::sort(found);
    const auto last = std::unique(found.begin(), found.end());
    found.erase(last, found.end());
    state.value_shapes = std::make_shared<const std::vector<int32_t>>(std::move(found));
  }
  state.top = std::make_shared<const Frame>(std::move(frame));
  return true;
}

bool RepeatGuard::end_value(State& state, size_t begin, size_t end) {
  if (state.top == nullptr || !state.top->is_array || state.top->shapes == nullptr) return true;
  Frame frame = *state.top;
  ++frame.index;
  if (frame.is_unique) {
    const std::string_view item = std::string_view(text_).substr(begin, end - begin);
    if (item != last_item_) {
      last_item_ = item;
      last_canonical_ = canonical(item);
    }
    for (const Seen* seen = frame.seen.get(); seen != nullptr; seen = seen->before.get()) {
      if (seen->text == last_canonical_) return false;
    }
    frame.seen = std::make_shared<const Seen>(Seen{last_canonical_, last_item_, frame.seen});
    frame.has_seen_items = true;
  }
  state.top = std::make_shared<const Frame>(std::move(frame));
  return true;
}

// Where the items of a unique array are a list: whether one that was not there can still come. Else
// whether a word that was there has begun: it can end in one way only.
bool RepeatGuard::is_item_open(const State& state, size_t end) const {
  const Frame* top = state.top.get();
  if (top == nullptr || !top->is_array || !top->is_unique) return true;
  const std::string_view item = std::string_view(text_).substr(state.begin, end - state.begin);
  if (top->only == nullptr) {
    for (const Seen* seen = top->seen.get(); seen != nullptr; seen = seen->before.get()) {
      const bool is_word = seen->text == "true" || seen->text == "false" || seen->text == "null";
      if (is_word && !item.empty() && seen->text.starts_with(item)) return false;
    }
    return true;
  }
  return std::ranges::any_of(*top->only, [&](const std::string& value) {
    if (!value.starts_with(item)) return false;
    for (const Seen* seen = top->seen.get(); seen != nullptr; seen = seen->before.get()) {
      if (seen->spelling == value) return false;
    }
    return true;
  });
}

}  // namespace pawl::grammar
