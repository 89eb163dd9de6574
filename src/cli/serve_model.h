// SPDX-License-Identifier: Apache-2.0
// The model of pawl serve: found, opened, started, and given to the server as its routes see it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "cli/command.h"
#include "cli/model_flags.h"
#include "engine/service.h"
#include "engine/step_observer.h"
#include "grammar/json_grammar.h"
#include "server/served_model.h"

namespace pawl::cli {

struct ServeModelOptions {
  CommonOptions common;
  ModelFlags model;
  std::string alias;                    // the name clients see; empty: the model's own
  std::optional<int64_t> context;       // none: what the model was made for, at most 4096
  std::optional<int64_t> kv_positions;  // none: four contexts
  int64_t max_sequences = 8;
  int64_t max_waiting = 64;
  grammar::Whitespace json_whitespace = grammar::Whitespace::kNone;
  std::optional<std::string> chat_template;  // a file or a name; none: the model's own
};

// Loads the model and starts its engine; that takes a while. clock and observer outlive it. Errors
// of finding, opening and starting; kCancelled.
base::Result<std::shared_ptr<const server::ServedModel>> open_served_model(
    const ServeModelOptions& options, const base::Clock& clock, engine::StepObserver* observer,
    std::stop_token stop);

// The name that clients see: the alias, or a file's name without its ending.
std::string served_name(const ServeModelOptions& options);

}  // namespace pawl::cli
