// SPDX-License-Identifier: Apache-2.0
// What no grammar can count: members of an object and items of an array that must not come twice.
// The guard reads the JSON text as it grows and knows which bytes would complete something that was
// there before.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::grammar {

// Of each set of schemas that a grammar was written from, what of it concerns repetition.
struct GuardShapes {
  struct ArrayShape {
    bool is_unique = false;
    std::vector<int32_t> prefix;  // shapes of items
    int32_t rest = 0;
    std::vector<std::string> only;  // JSON texts: all that an item can be; empty: there is no list
  };
  struct ObjectShape {
    std::map<std::string, int32_t, std::less<>> named;  // by the name as JSON, with its quotes
    std::vector<int32_t> others;
  };
  struct Shape {
    std::vector<ArrayShape> arrays;
    std::vector<ObjectShape> objects;
  };
  std::vector<Shape> shapes;  // the whole text has the first one; empty: no array is unique
};

// Which tokens have to be looked at in a place.
enum class GuardLook : uint8_t {
  kNone,
  kTwoQuotes,  // those with two quotes at least
  kOneQuote,
  kMarks,  // those with a quote, a comma or a closing bracket, or a word of JSON at the begin
  kAll,
};

// Threads: none. Where several shapes are possible in one place, an array is unique if one says so.
class RepeatGuard {
 public:
  explicit RepeatGuard(std::shared_ptr<const GuardShapes> shapes);

  GuardLook look() const;
  // Where look() is kOneQuote: what would have to come before a quote to repeat a key, of keys
  // without a backslash. Nothing where that cannot be said.
  std::optional<std::vector<std::string>> key_rests() const;
  // Whether the text may go on so. The bytes go on with valid JSON; the grammar sees to that.
  bool allows(std::string_view bytes);
  // Takes bytes that are allowed, as one token.
  void push(std::string_view bytes);
  // Forgets the last tokens. REQUIRES: so many were pushed
  void pop(size_t tokens);

 private:
  using Shapes = std::shared_ptr<const std::vector<int32_t>>;
  struct Seen {
    std::string text;      // the same for all that is equal
    std::string spelling;  // as it stood there
    std::shared_ptr<const Seen> before;
  };
  struct Frame {
    std::shared_ptr<const Frame> below;
    bool is_array = false, is_unique = false;
    bool has_seen_keys = false, has_seen_items = false;  // here or below
    size_t begin = 0;                                    // of its text
    size_t index = 0;                                    // of the item at hand
    Shapes shapes;
    std::shared_ptr<const Seen> seen;                // keys, or items of a unique array
    const std::vector<std::string>* only = nullptr;  // of the array's shapes
  };
  enum class Mode : uint8_t { kBetween, kKey, kString, kPlain };
  struct State {
    std::shared_ptr<const Frame> top;
    Mode mode = Mode::kBetween;
    bool is_escaped = false, is_at_key = false;
    size_t begin = 0;     // of the key or simple value at hand
    Shapes value_shapes;  // of the value that comes
  };

  bool run(State& state, std::string_view bytes);
  bool step(State& state, size_t place);
  bool between(State& state, size_t place);
  bool end_key(State& state, size_t end);
  bool end_value(State& state, size_t begin, size_t end);
  bool is_item_open(const State& state, size_t end) const;
  void open(State& state, size_t place, bool is_array) const;
  Shapes item_shapes(const Frame& frame) const;

  std::shared_ptr<const GuardShapes> shapes_;
  std::string text_;
  std::string last_item_, last_canonical_;        // many tokens end one item in the same way
  std::vector<std::pair<State, size_t>> states_;  // after each token, and how long the text was
};

}  // namespace pawl::grammar
