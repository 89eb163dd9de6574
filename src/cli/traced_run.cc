// SPDX-License-Identifier: Apache-2.0
#include "cli/traced_run.h"

#include <algorithm>

#include "cli/version.h"
#include "engine/engine.h"
#include "model/model.h"

namespace pawl::cli {

using base::Result;

namespace {

// Hands everything on and keeps how it ended.
class LastWord final : public engine::EventSink {
 public:
  explicit LastWord(engine::EventSink& next) : next_(next) {}
  void on_delta(const engine::Delta& delta) override { next_.on_delta(delta); }
  void on_finished(const engine::Finished& finished) override {
    next_.on_finished(finished);
    finished_ = finished;
  }
  const engine::Finished& finished() const { return finished_; }

 private:
  engine::EventSink& next_;
  engine::Finished finished_;
};

}  // namespace

Result<probe::TraceHeader> trace_header(const ModelSession& session, const Prompt& prompt,
                                        const policy::Policy& policy) {
  engine::Runtime& runtime = *session.runtime;
  probe::TraceHeader header;
  header.pawl_version = kVersion;
  header.model = session.name;
  PAWL_TRY(header.model_sha256, sha256_of_file(session.path));
  PAWL_TRY(header.tokenizer,
           runtime.model()->file()->metadata().get_string("tokenizer.ggml.model"));
  header.isa = runtime.kernels().name;
  header.is_reference = runtime.precision() == model::Precision::kReference;
  header.kv_type = kernels::kv_type_name(runtime.kv_type());
  for (const model::AdapterSource& adapter : session.adapters) {
    PAWL_TRY(std::string sha256, sha256_of_file(adapter.path));
    header.adapters.push_back({adapter.path, std::move(sha256), adapter.scale});
  }
  header.threads = runtime.pool().threads();
  header.policy = policy;
  header.prompt = prompt.ids;
  for (const base::TokenId id : prompt.ids) header.prompt_texts.push_back(session.piece(id));
  return header;
}

Result<TracedRun> run_traced(ModelSession& session, const probe::TraceHeader& header,
                             const TracedRequest& wanted, const base::Clock& clock,
                             engine::EventSink& sink, const probe::TraceWriter::Output& output) {
  engine::EngineLimits limits;
  const auto positions = static_cast<int64_t>(header.prompt.size()) + wanted.max_tokens;
  limits.context = std::min(positions, session.runtime->model()->config().context_length);
  limits.max_sequences = 1;
  probe::TraceWriter writer(*session.runtime, header, wanted.top, clock, output);
  PAWL_TRY(const auto engine, engine::Engine::create(*session.runtime, limits, clock, &writer));
  LastWord last(sink);
  engine::Request request;
  request.prompt = header.prompt;
  request.policy = header.policy;
  request.stops = {wanted.stops, wanted.max_tokens};
  request.stop_token = wanted.stop;
  request.sink = &last;
  request.received_ns = clock.now_ns();
  PAWL_TRY_VOID(engine->submit(std::move(request)));
  engine->run_until_idle();
  PAWL_TRY_VOID(writer.finish(engine::finish_reason_name(last.finished().reason)));
  return TracedRun{last.finished(), writer.counts(), writer.share_of_decode(),
                   writer.cpu_share_of_decode()};
}

}  // namespace pawl::cli
