// SPDX-License-Identifier: Apache-2.0
#include "cli/serve_model.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "base/log.h"
#include "cli/chat_prompt.h"
#include "cli/model_session.h"
#include "grammar/compiler.h"
#include "model/model.h"
#include "text/chat_template.h"
#include "text/prompt_pieces.h"

namespace pawl::cli {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

constexpr int64_t kStandardContext = 4096;
constexpr int64_t kStandardContexts = 4;  // that the KV cache holds
constexpr int64_t kTokensAtStart = 64;    // of a step, while others may be on their way

// All that a served model consists of, in the order of its making.
struct Parts {
  ModelSession session;
  std::optional<text::ChatTemplate> chat;
  std::unique_ptr<grammar::Compiler> compiler;
  std::unique_ptr<engine::Service> service;
};

// When the file was written: what the API calls the model's creation.
int64_t written_s(const std::string& path) {
  std::error_code failure;
  const auto time = std::filesystem::last_write_time(path, failure);
  if (failure) return 0;
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::file_clock::to_sys(time).time_since_epoch())
      .count();
}

// The template that was asked for, else the model's own. One that is not there, or that nothing
// can run, is no reason not to serve completions.
Result<void> open_template(const std::optional<std::string>& name_or_file, Parts& parts) {
  engine::Runtime& runtime = *parts.session.runtime;
  const text::Vocab& vocab = runtime.tokenizer().vocab();
  if (name_or_file) {
    PAWL_TRY(parts.chat, text::ChatTemplate::open(*name_or_file, vocab));
    if (parts.chat->turn_end()) runtime.add_end(*parts.chat->turn_end());
    return {};
  }
  auto own = text::ChatTemplate::of_model(runtime.model()->file()->metadata(), vocab);
  if (own.ok()) {
    parts.chat = std::move(*own);
  } else {
    base::log_warning("no chats: " + own.error().message);
  }
  return {};
}

Result<std::vector<base::TokenId>> render(const Parts& parts, const server::ChatInput& input) {
  text::ChatRequest request;
  request.messages = input.messages;
  request.tools = input.tools;
  request.variables = input.template_variables;
  request.add_generation_prompt = input.adds_generation_prompt;
  request.continue_final_message = input.continues_final_message;
  request.local_seconds = local_seconds();
  PAWL_TRY(const text::PromptPieces pieces, parts.chat->render(request));
  return text::tokenize(pieces, parts.session.runtime->tokenizer());
}

Json properties_of(const Parts& parts, const engine::ServiceLimits& limits) {
  const model::ModelConfig& config = parts.session.runtime->model()->config();
  Json json;
  json["architecture"] = config.architecture->name;
  json["layers"] = static_cast<int64_t>(config.layers.size());
  json["width"] = config.width;
  json["kernels"] = parts.session.runtime->kernels().name;
  json["threads"] = parts.session.runtime->pool().threads();
  json["max_sequences"] = limits.engine.max_sequences;
  json["max_waiting"] = limits.max_waiting;
  json["kv_positions"] = limits.engine.kv_positions;
  json["kv_type"] = kernels::kv_type_name(parts.session.runtime->kv_type());
  return json;
}

}  // namespace

std::string served_name(const ServeModelOptions& options) {
  if (!options.alias.empty()) return options.alias;
  const std::filesystem::path path(options.common.model);
  return path.extension() == ".gguf" ? path.stem().string() : options.common.model;
}

Result<std::shared_ptr<const server::ServedModel>> open_served_model(
    const ServeModelOptions& options, const base::Clock& clock, engine::StepObserver* observer,
    std::stop_token stop) {
  const auto parts = std::make_shared<Parts>();
  PAWL_TRY(parts->session,
           ModelSession::open(options.common, false, clock, std::move(stop), options.model));
  engine::Runtime& runtime = *parts->session.runtime;
  PAWL_TRY_VOID(open_template(options.chat_template, *parts));
  const int64_t trained = runtime.model()->config().context_length;

  engine::ServiceLimits limits;
  limits.engine.context = options.context.value_or(std::min(trained, kStandardContext));
  if (limits.engine.context > trained) {
    return Error{ErrorCode::kInvalidArgument,
                 "the model was made for " + std::to_string(trained) + " positions, " +
                     std::to_string(limits.engine.context) + " are asked for",
                 "--context"};
  }
  limits.engine.kv_positions =
      options.kv_positions.value_or(limits.engine.context * kStandardContexts);
  limits.engine.max_sequences = static_cast<int>(options.max_sequences);
  limits.engine.tokens_at_start = kTokensAtStart;
  limits.max_waiting = static_cast<int>(options.max_waiting);
  PAWL_TRY(parts->service, engine::Service::start(runtime, limits, clock, observer));

  auto served = std::make_shared<server::ServedModel>();
  served->name = served_name(options);
  served->created_s = written_s(parts->session.path);
  served->context = limits.engine.context;
  served->trained_context = trained;
  served->properties = properties_of(*parts, limits);
  served->tokenizer = &runtime.tokenizer();
  PAWL_TRY(const auto pooling, model::read_pooling(runtime.model()->file()->metadata()));
  served->pooling = pooling.value_or(model::Pooling::kMean);
  served->width = runtime.model()->config().width;
  engine::Service& service = *parts->service;
  served->submit = [&service](engine::Request request) {
    return service.submit(std::move(request));
  };
  served->wake = [&service] { service.wake(); };
  served->stats = [&service] { return service.stats(); };
  served->stop = [&service] { service.stop(); };
  PAWL_TRY(parts->compiler,
           grammar::Compiler::create(runtime.tokenizer(), options.json_whitespace));
  served->compile = [&compiler = *parts->compiler](const grammar::Description& description) {
    return compiler.compile(description);
  };
  served->compile_tools = [&compiler = *parts->compiler](const grammar::ToolUse& use) {
    return compiler.compile(use);
  };
  served->tool_style = &grammar::tool_style_of(parts->chat ? parts->chat->source() : "");
  if (parts->chat) {
    served->render = [&parts = *parts](const server::ChatInput& input) {
      return render(parts, input);
    };
  }
  served->owner = parts;
  return std::shared_ptr<const server::ServedModel>(std::move(served));
}

}  // namespace pawl::cli
