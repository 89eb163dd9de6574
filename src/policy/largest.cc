// SPDX-License-Identifier: Apache-2.0
#include "policy/largest.h"

namespace pawl::policy {

bool takes_largest(const Situation& situation, std::vector<base::TokenId>& excluded) {
  const Policy& policy = situation.policy;
  excluded.clear();
  if (policy.temperature != 0 || policy.logprobs || policy.top_logprobs > 0) return false;
  for (const Stage stage : StageList(situation)) {
    switch (stage) {
      case Stage::kBans:
        if (!policy.allowed.empty()) return false;
        excluded.insert(excluded.end(), policy.banned.begin(), policy.banned.end());
        break;
      case Stage::kEndTokens:
        excluded.insert(excluded.end(), situation.end_ids.begin(), situation.end_ids.end());
        break;
      case Stage::kTemperature:
        break;
      default:
        return false;
    }
  }
  return true;
}

Choice largest_choice(const Situation& situation, base::TokenId id) {
  Choice choice;
  choice.id = id;
  choice.mirostat_mu = situation.history.mirostat_mu();
  return choice;
}

}  // namespace pawl::policy
