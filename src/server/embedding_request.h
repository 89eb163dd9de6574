// SPDX-License-Identifier: Apache-2.0
// POST /v1/embeddings: what it asks for, and its reply.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "server/generation_request.h"
#include "server/limits.h"
#include "server/served_model.h"

namespace pawl::server {

// Errors name the field. REQUIRES: `body` is an object
base::Result<GenerationRequest> read_embeddings(const base::Json& body, const Limits& limits,
                                                const ServedModel& model);

// {"object":"list","data":[{"object":"embedding","index","embedding"}],"model","usage"}: a vector
// for each prompt, in their order, as numbers or as base64 of little-endian float32.
std::string embeddings_reply(std::string_view model, bool is_base64,
                             std::span<const std::span<const float>> vectors,
                             int64_t prompt_tokens);

}  // namespace pawl::server
