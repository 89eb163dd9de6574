// SPDX-License-Identifier: Apache-2.0
// Which choices are nothing but the largest logit of a row, so that nobody need compute the rest.
#pragma once

#include <vector>

#include "base/token.h"
#include "policy/stages.h"

namespace pawl::policy {

// True where choose() would give the largest logit among the ids that are not `excluded`, with no
// log-probabilities; the row of the situation is not looked at and may be empty. `excluded`
// receives those ids; some may stand there twice.
bool takes_largest(const Situation& situation, std::vector<base::TokenId>& excluded);

// What choose() gives then. REQUIRES: id is that of the largest logit, of equals the lowest
Choice largest_choice(const Situation& situation, base::TokenId id);

}  // namespace pawl::policy
