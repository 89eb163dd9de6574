// SPDX-License-Identifier: Apache-2.0
#include "lab/token_estimate.h"

namespace pawl::lab {

using base::Result;

Result<int64_t> estimate_counts(const Endpoint& endpoint, const ServerFacts& facts,
                                const base::Clock& clock, std::vector<RequestRecord>& records) {
  int64_t estimated = 0;
  if (facts.tokenize == TokenizeWay::kNone) return estimated;
  for (RequestRecord& record : records) {
    const bool is_counted = best_count(record.output).has_value();
    if (record.state != RequestState::kSuccess || is_counted || record.text.empty()) continue;
    PAWL_TRY(record.output.tokenizer, count_text(endpoint, facts, record.text, clock));
    record.notes.push_back("output tokens are estimated: the tokenizer over the text");
    ++estimated;
  }
  return estimated;
}

}  // namespace pawl::lab
