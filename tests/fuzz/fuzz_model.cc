// SPDX-License-Identifier: Apache-2.0
// Any bytes as a model: opened as a runtime opens a file, and what loads encodes a text, computes
// two positions and chooses from the last row.
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "engine/engine.h"
#include "engine/runtime.h"

namespace {

using namespace pawl;

void require(bool condition) {
  if (!condition) std::abort();
}

void require_one_line(const base::Error& error) {
  require(!error.message.empty());
  for (const char c : error.message) require(std::iscntrl(static_cast<unsigned char>(c)) == 0);
}

class Counter final : public engine::EventSink {
 public:
  void on_delta(const engine::Delta&) override {}
  void on_finished(const engine::Finished&) override { ++finishes; }
  int finishes = 0;
};

void generate(engine::Runtime& runtime, double temperature) {
  const auto ids = runtime.tokenizer().encode("ab a", {.add_bos = true, .parse_special = true});
  if (!ids.ok()) return require_one_line(ids.error());
  require(!ids->empty());
  for (const base::TokenId id : *ids) require(runtime.tokenizer().vocab().contains(id));
  const base::SteadyClock clock;
  auto made = engine::Engine::create(
      runtime, {.context = 16, .max_sequences = 1, .tokens_per_step = 8}, clock);
  if (!made.ok()) return require_one_line(made.error());
  Counter counter;
  engine::Request request;
  request.prompt.assign(ids->begin(), ids->begin() + std::min<ptrdiff_t>(2, std::ssize(*ids)));
  request.policy.temperature = temperature;
  request.policy.logprobs = true;
  request.stops.max_tokens = 2;
  request.sink = &counter;
  require((*made)->submit(std::move(request)).ok());
  (*made)->run_until_idle();
  require(counter.finishes == 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = gguf::open_bytes(std::as_bytes(std::span(data, size)));
  if (!file.ok()) return 0;  // fuzz_gguf's
  engine::RuntimeOptions options;
  options.threads = 1;
  const auto runtime = engine::Runtime::create(*file, options);
  if (!runtime.ok()) {
    require_one_line(runtime.error());
    return 0;
  }
  generate(**runtime, 0);
  generate(**runtime, 1);
  return 0;
}
