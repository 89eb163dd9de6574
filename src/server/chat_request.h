// SPDX-License-Identifier: Apache-2.0
// POST /v1/chat/completions: messages, tools and template variables out of the body, each checked
// and named when it is wrong.
#pragma once

#include "server/generation_request.h"
#include "server/served_model.h"

namespace pawl::server {

// What the template gets. Content that is null, missing or empty is the empty text; an array of
// text parts is their texts joined. Errors name the message by its place: "messages[2].content".
// REQUIRES: `body` is an object
base::Result<ChatInput> read_chat_input(const base::Json& body, const Limits& limits);

// The whole request, rendered. Errors of the fields, of the template, and of a prompt that leaves
// no room.
base::Result<GenerationRequest> read_chat(const base::Json& body, const Limits& limits,
                                          const ServedModel& model);

// The ids of a chat prompt. Error kUnsupported, saying what to do, when there is no template.
base::Result<std::vector<base::TokenId>> render_chat(const ServedModel& model,
                                                     const ChatInput& input);

}  // namespace pawl::server
