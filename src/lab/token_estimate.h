// SPDX-License-Identifier: Apache-2.0
// Counts for answers of a server that gives none: its tokenizer over the text. An estimate, and
// said to be one: what was decoded may have been split otherwise.
#pragma once

#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "lab/openai_client.h"
#include "lab/record.h"
#include "lab/server_facts.h"

namespace pawl::lab {

// Fills `output.tokenizer` of the successes whose text was kept and that no other way counts; how
// many those were. Nothing where the server counts no text. Errors of count_text.
base::Result<int64_t> estimate_counts(const Endpoint& endpoint, const ServerFacts& facts,
                                      const base::Clock& clock,
                                      std::vector<RequestRecord>& records);

}  // namespace pawl::lab
