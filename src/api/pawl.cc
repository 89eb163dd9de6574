// SPDX-License-Identifier: Apache-2.0
// The public interface, put together from the modules. Nothing is computed here.
#include <pawl/pawl.h>

#include <algorithm>
#include <new>

#include "base/clock.h"
#include "base/result.h"
#include "engine/engine.h"
#include "engine/runtime.h"
#include "kv/block_pool.h"
#include "kv/layout.h"
#include "kv/state_pool.h"
#include "model/forward.h"
#include "policy/choose.h"
#include "text/tokenizer.h"

namespace pawl {

struct Model::State {
  std::unique_ptr<engine::Runtime> runtime;
  int64_t context = 0;
};

struct Sequence::State {
  const engine::Runtime& runtime;
  std::unique_ptr<kv::BlockPool> blocks;
  kv::StatePool states;
  std::unique_ptr<model::Forward> forward;
  kv::BlockTable table;
  int64_t context = 0;
  std::vector<Token> tokens;
};

namespace {

constexpr int64_t kPassTokens = 256;

Error shown(const base::Error& error) {
  return {error.where.empty() ? error.message : error.message + " (" + error.where + ")"};
}

template <typename T>
Result<T> shown(base::Result<T> result) {
  if (!result.ok()) return shown(result.error());
  return std::move(result).value();
}

policy::Policy policy_of(const Sampling& sampling) {
  policy::Policy policy;
  policy.temperature = sampling.temperature;
  policy.top_k = sampling.top_k;
  policy.top_p = sampling.top_p;
  policy.min_p = sampling.min_p;
  policy.repetition_penalty = sampling.repetition_penalty;
  policy.seed = sampling.seed;
  return policy;
}

base::Result<void> check_tokens(const engine::Runtime& runtime, std::span<const Token> tokens) {
  for (const Token token : tokens) PAWL_TRY_VOID(runtime.tokenizer().vocab().check(token));
  return {};
}

// Gathers what a generation gives out.
class Collector final : public engine::EventSink {
 public:
  explicit Collector(const std::function<void(const Piece&)>& on_piece) : on_piece_(on_piece) {}

  void on_delta(const engine::Delta& delta) override {
    completion.tokens.push_back(delta.id);
    completion.text += delta.text;
    if (on_piece_) on_piece_({delta.id, delta.text});
  }
  void on_finished(const engine::Finished& end) override {
    completion.text += end.text;
    if (on_piece_ && !end.text.empty()) on_piece_({completion.tokens.back(), end.text});
    completion.finish_reason = engine::finish_reason_name(end.reason);
    finished = end;
  }

  Completion completion;
  engine::Finished finished;

 private:
  const std::function<void(const Piece&)>& on_piece_;
};

}  // namespace

Sequence::Sequence(std::unique_ptr<State> state) : state_(std::move(state)) {}
Sequence::Sequence(Sequence&&) noexcept = default;
Sequence& Sequence::operator=(Sequence&&) noexcept = default;
Sequence::~Sequence() = default;

std::span<const Token> Sequence::tokens() const {
  return state_->tokens;
}

Result<std::span<const float>> Sequence::pass(std::span<const Token> tokens) {
  if (tokens.empty()) return Error{"a pass over no tokens has no row"};
  const auto known = check_tokens(state_->runtime, tokens);
  if (!known.ok()) return shown(known.error());
  const auto first = static_cast<int64_t>(state_->tokens.size());
  const auto count = static_cast<int64_t>(tokens.size());
  if (count > state_->context - first) {
    return Error{std::to_string(first) + " tokens and " + std::to_string(count) +
                 " more do not fit into a context of " + std::to_string(state_->context)};
  }
  model::Logits logits;
  for (int64_t done = 0; done < count; done += kPassTokens) {
    const int64_t now = std::min(kPassTokens, count - done);
    const model::Segment segment{
        first + done, tokens.subspan(static_cast<size_t>(done), static_cast<size_t>(now)),
        done + now == count ? 1 : 0, &state_->table, state_->states.state(0)};
    logits = state_->forward->run({std::span(&segment, 1)});
  }
  state_->tokens.insert(state_->tokens.end(), tokens.begin(), tokens.end());
  return logits.row(0);
}

Model::Model(std::unique_ptr<State> state) : state_(std::move(state)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

Result<Model> Model::open(const std::string& path, const OpenOptions& options) {
  if (options.threads < 0) return Error{"threads: " + std::to_string(options.threads)};
  if (options.context < 1) return Error{"context: " + std::to_string(options.context)};
  auto runtime = engine::Runtime::open(path, {.threads = options.threads});
  if (!runtime.ok()) return shown(runtime.error());
  auto state = std::make_unique<State>();
  state->runtime = std::move(runtime).value();
  state->context = std::min(options.context, state->runtime->model()->config().context_length);
  return Model(std::move(state));
}

int32_t Model::vocabulary() const {
  return state_->runtime->model()->config().vocabulary;
}

int64_t Model::context() const {
  return state_->context;
}

bool Model::is_end(Token token) const {
  const auto ends = state_->runtime->tokenizer().vocab().end_ids();
  return std::find(ends.begin(), ends.end(), token) != ends.end();
}

Result<std::vector<Token>> Model::tokenize(std::string_view text) const {
  return shown(state_->runtime->tokenizer().encode(text));
}

Result<std::string> Model::detokenize(std::span<const Token> tokens) const {
  return shown(state_->runtime->tokenizer().decode(tokens));
}

Result<Sequence> Model::begin() {
  engine::Runtime& runtime = *state_->runtime;
  const int64_t blocks = (state_->context + kv::kBlockPositions - 1) / kv::kBlockPositions;
  auto pool = kv::BlockPool::create(static_cast<int32_t>(blocks), runtime.kv_block_bytes());
  if (!pool.ok()) return shown(pool.error());
  auto states = kv::StatePool::create(1, runtime.model()->config().state_floats);
  if (!states.ok()) return shown(states.error());
  auto state = std::make_unique<Sequence::State>(
      Sequence::State{runtime,
                      std::make_unique<kv::BlockPool>(std::move(pool).value()),
                      std::move(states).value(),
                      nullptr,
                      {},
                      state_->context,
                      {}});
  auto forward = model::Forward::create(runtime.model(), runtime.kernels(), runtime.pool(),
                                        *state->blocks, model::Precision::kFast,
                                        {.max_tokens = static_cast<int>(kPassTokens),
                                         .max_rows = 1,
                                         .max_positions = state_->context,
                                         .kv_type = runtime.kv_type()});
  if (!forward.ok()) return shown(forward.error());
  state->forward = std::make_unique<model::Forward>(std::move(forward).value());
  state->states.take();
  for (int64_t i = 0; i < blocks; ++i) state->table.push_back(*state->blocks->take());
  return Sequence(std::move(state));
}

Result<Token> Model::choose(std::span<const float> row, std::span<const Token> before,
                            const Sampling& sampling) const {
  if (row.size() != static_cast<size_t>(vocabulary())) {
    return Error{"a row of " + std::to_string(row.size()) + " entries, the vocabulary has " +
                 std::to_string(vocabulary())};
  }
  const auto known = check_tokens(*state_->runtime, before);
  if (!known.ok()) return shown(known.error());
  const policy::Policy policy = policy_of(sampling);
  const auto valid = policy::validate(policy);
  if (!valid.ok()) return shown(valid.error());
  const policy::History history(policy, before);
  policy::Scratch scratch;
  const policy::Choice choice =
      policy::choose({.row = row,
                      .policy = policy,
                      .history = history,
                      .draw = {policy.seed, static_cast<uint64_t>(before.size())},
                      .end_ids = state_->runtime->tokenizer().vocab().end_ids()},
                     scratch);
  if (choice.id == policy::kNoToken) return Error{"the row allows no token"};
  return choice.id;
}

Result<Completion> Model::generate(std::span<const Token> prompt, const GenerateOptions& options,
                                   const std::function<void(const Piece&)>& on_piece) {
  const base::SteadyClock clock;
  engine::EngineLimits limits;
  limits.context = state_->context;
  limits.max_sequences = 1;
  auto engine = engine::Engine::create(*state_->runtime, limits, clock);
  if (!engine.ok()) return shown(engine.error());
  Collector collector(on_piece);
  engine::Request request;
  request.prompt.assign(prompt.begin(), prompt.end());
  request.policy = policy_of(options.sampling);
  request.stops = {options.stops, options.max_tokens};
  request.stop_token = options.stop;
  request.sink = &collector;
  request.received_ns = clock.now_ns();
  const auto accepted = (*engine)->submit(std::move(request));
  if (!accepted.ok()) return shown(accepted.error());
  (*engine)->run_until_idle();
  if (collector.finished.reason == engine::FinishReason::kError) {
    return Error{collector.finished.error};
  }
  return std::move(collector.completion);
}

}  // namespace pawl
