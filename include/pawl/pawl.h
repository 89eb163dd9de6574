// SPDX-License-Identifier: Apache-2.0
// pawl as a library: a GGUF model on this machine's CPUs. Text becomes tokens, a forward pass over
// tokens gives one row of logits, a choice turns the row into the next token. generate() does all
// of it; examples/greedy.cc does it by hand.
//
// Nothing here throws of its own accord: what can fail gives a Result. Threads: a Model, and the
// sequences that came from it, are used from one thread at a time; different Models are
// independent.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace pawl {

using Token = std::int32_t;  // an id of the model's vocabulary

struct Error {
  std::string message;  // one line that names the offender and the limit
};

// A value, or the Error that stands in its place.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // REQUIRES: ok(); the program ends otherwise
  T& operator*() { return get<0>(); }
  const T& operator*() const { return const_cast<Result*>(this)->template get<0>(); }
  T* operator->() { return &get<0>(); }
  const T* operator->() const { return &**this; }

  // REQUIRES: !ok(); the program ends otherwise
  const Error& error() const { return const_cast<Result*>(this)->template get<1>(); }

 private:
  template <std::size_t I>
  auto& get() {
    if (state_.index() != I) std::abort();
    return *std::get_if<I>(&state_);
  }

  std::variant<T, Error> state_;
};

// How a row of logits becomes a token. Neutral values leave a rule out.
struct Sampling {
  double temperature = 0;         // 0: the largest logit, the lowest id among equals
  int top_k = 0;                  // 0: all
  double top_p = 1;               // the least set of tokens with this probability
  double min_p = 0;               // tokens at least this likely, relative to the likeliest
  double repetition_penalty = 1;  // on tokens among the last 64
  std::uint64_t seed = 0;         // the draw is a function of the seed and the position
};

// One token of a completion, as it comes.
struct Piece {
  Token token = 0;
  std::string_view text;  // UTF-8, valid during the call; empty while a character is incomplete
};

struct GenerateOptions {
  Sampling sampling;
  std::int64_t max_tokens = 128;
  std::vector<std::string> stops = {};  // texts that end the completion and are not part of it
  std::stop_token stop = {};            // asked before each step
};

struct Completion {
  std::vector<Token> tokens;  // an end token included
  std::string text;
  std::string finish_reason;  // "stop", "length", "cancelled"
};

struct OpenOptions {
  int threads = 0;              // 0: the CPUs this process may use
  std::int64_t context = 4096;  // positions of a sequence at most, cut to what the model knows
};

// The positions that a text's forward passes have computed; their keys and values are kept.
class Sequence {
 public:
  Sequence(Sequence&&) noexcept;
  Sequence& operator=(Sequence&&) noexcept;
  ~Sequence();

  // One forward pass over `tokens`, behind all that came before (256 positions at a time where
  // there are more). Gives the row of logits of the last one, [vocabulary], natural-log scale, not
  // normalised, valid until the next pass of this sequence. Errors: no tokens, a token outside the
  // vocabulary, no room in the context. After an error nothing was computed.
  Result<std::span<const float>> pass(std::span<const Token> tokens);

  std::span<const Token> tokens() const;  // of all passes

 private:
  friend class Model;
  struct State;
  explicit Sequence(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class Model {
 public:
  // Errors name the file and, within it, the key or the tensor at fault.
  static Result<Model> open(const std::string& path, const OpenOptions& options = {});

  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();  // after its sequences

  std::int32_t vocabulary() const;  // entries of a row of logits
  std::int64_t context() const;     // positions of a sequence at most
  bool is_end(Token token) const;   // ends a completion

  // With the tokens that the model wants around a text. Texts of control tokens are plain text.
  Result<std::vector<Token>> tokenize(std::string_view text) const;
  // The bytes of the tokens; control tokens have none. Error: a token outside the vocabulary.
  Result<std::string> detokenize(std::span<const Token> tokens) const;

  // An empty sequence. The model outlives it. Error: memory for its keys and values.
  Result<Sequence> begin();

  // The token behind `before`, out of the row that a pass over it gave. The row is not changed.
  // Errors: a row of another size, a knob out of range, a row that allows nothing.
  Result<Token> choose(std::span<const float> row, std::span<const Token> before,
                       const Sampling& sampling = {}) const;

  // on_piece is called for every token, and may be empty. Errors: as above.
  Result<Completion> generate(std::span<const Token> prompt, const GenerateOptions& options = {},
                              const std::function<void(const Piece&)>& on_piece = {});

 private:
  struct State;
  explicit Model(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace pawl
