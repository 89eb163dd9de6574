// SPDX-License-Identifier: Apache-2.0
// A policy as a JSON object and back: what differs from the defaults, under the names of
// policy::knobs(). For records from which a choice is replayed.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "policy/policy.h"

namespace pawl::probe {

// Without the seed and without what asks for log-probabilities: neither is a rule of the choice.
base::Json policy_json(const policy::Policy& policy);

// Foreign bytes: checked by policy::validate. Errors kBadFile name the key.
base::Result<policy::Policy> parse_policy(const base::Json& json);

}  // namespace pawl::probe
