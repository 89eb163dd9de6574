// SPDX-License-Identifier: Apache-2.0
// choose: a row of logits becomes a token. A pure function of the Situation: no state, no clock, no
// generator, the same bits on every machine.
#pragma once

#include "policy/choice.h"
#include "policy/stages.h"

namespace pawl::policy {

// Runs the active stages in order and draws from the softmax of what is left. Without a cut that is
// one pass for the largest logit of each block, and the weights of a few blocks.
//
// The row is never changed. A weight below e^-87 of the largest is 0. A logit that is not a number
// is never chosen; `id` is kNoToken when nothing is allowed.
Choice choose(const Situation& situation, Scratch& scratch);

// The second half alone: the draw from scratch.candidates, with the log-probabilities the policy
// asks for.
Choice draw_choice(const Situation& situation, Scratch& scratch);

// What the network thought of a token that was not drawn: id, logprob and `top`, the largest
// `top_logprobs`. REQUIRES: id is in the row
Choice score(std::span<const float> row, base::TokenId id, int32_t top_logprobs, Scratch& scratch);

}  // namespace pawl::policy
