// SPDX-License-Identifier: Apache-2.0
// The policy's knobs as flags: the names, ranges and defaults of policy::knobs(), with dashes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command_line.h"
#include "policy/policy.h"

namespace pawl::cli {

// Outlives the CommandLine it is declared on.
class PolicyFlags {
 public:
  PolicyFlags();

  // Declares the flags under a title of their own.
  void declare(CommandLine& line);

  // The policy that was asked for, checked; without a seed one is drawn. Errors name the flag.
  base::Result<policy::Policy> policy(const CommandLine& line, std::optional<uint64_t> seed) const;

 private:
  std::vector<double> numbers_;    // [knobs], of the real ones
  std::vector<int64_t> integers_;  // [knobs], of the whole ones
  bool is_greedy_ = false;
  bool ignores_eos_ = false;
  bool wants_logprobs_ = false;
  std::vector<std::string> logit_bias_;
};

}  // namespace pawl::cli
