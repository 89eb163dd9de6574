// SPDX-License-Identifier: Apache-2.0
// The model as the routes see it: a name, a tokenizer, a way into the engine and a way from
// messages to ids. Tests put another engine behind it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "engine/request.h"
#include "engine/service.h"
#include "grammar/compiler.h"
#include "text/tokenizer.h"

namespace pawl::server {

// A conversation as a chat template takes it.
struct ChatInput {
  base::Json messages;            // an array of objects with role and content, content a string
  base::Json tools;               // an array, or null
  base::Json template_variables;  // an object, or null
  bool adds_generation_prompt = true;
  bool continues_final_message = false;
};

struct ServedModel {
  std::string name;
  int64_t created_s = 0;        // of the file, seconds since 1970
  int64_t context = 0;          // positions of one sequence
  int64_t trained_context = 0;  // that the model was made for
  base::Json properties;        // for /props

  const text::Tokenizer* tokenizer = nullptr;
  engine::Pooling pooling = engine::Pooling::kMean;  // of embeddings, where a request does not say
  int width = 0;                                   // numbers of an embedding
  // From any thread, as engine::Service has them.
  std::function<base::Result<int64_t>(engine::Request)> submit;
  std::function<void()> wake;
  std::function<engine::ServiceStats()> stats;
  std::function<void()> stop;
  // Messages → ids. Empty: the model has no chat template.
  std::function<base::Result<std::vector<base::TokenId>>(const ChatInput&)> render;

  // What an answer is to look like → a constraint for each choice. Empty: every answer is free.
  std::function<base::Result<std::shared_ptr<const grammar::Compiled>>(const grammar::Description&)>
      compile;
  std::function<base::Result<std::shared_ptr<const grammar::Compiled>>(const grammar::ToolUse&)>
      compile_tools;
  const grammar::ToolStyle* tool_style = nullptr;  // of its template

  std::shared_ptr<void> owner;  // of all that the members refer to
};

}  // namespace pawl::server
