// SPDX-License-Identifier: Apache-2.0
#include "model/expert_config.h"

namespace pawl::model {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

// Likewise more than any known model has (config_keys.h).
constexpr uint32_t kMaxExperts = 1024;

Result<void> read_gating(const Keys& keys, ModelConfig& config) {
  const Architecture& row = *config.architecture;
  config.gating = row.gating;
  PAWL_TRY(const uint32_t gating, keys.metadata().get_u32_or(keys.name("expert_gating_func"), 0));
  if (gating > 3) {
    return bad_key(keys.name("expert_gating_func"), std::to_string(gating) +
                                                        " is none of 1 (softmax), 2 (sigmoid), 3 "
                                                        "(softmax of the selected)");
  }
  if (gating > 0) config.gating = static_cast<Gating>(gating - 1);
  PAWL_TRY(config.norms_expert_weights,
           keys.flag_or("expert_weights_norm", row.norms_expert_weights));
  PAWL_TRY(config.expert_scale, keys.number_or("expert_weights_scale", 1.0f));
  if (config.expert_scale == 0) config.expert_scale = 1.0f;
  return {};
}

// Groups as in DeepSeek-V3 (arXiv 2412.19437 §2.1.2 and its published code).
Result<void> read_expert_groups(const Keys& keys, ModelConfig& config) {
  const std::string_view key = "expert_group_count";
  PAWL_TRY(const int groups, keys.size_or(key, 1, kMaxExpertGroups));
  if (groups == 1) return {};
  if (config.gating != Gating::kSigmoid) {
    return Error{ErrorCode::kUnsupported,
                 "key '" + keys.name(key) + "': " + std::to_string(groups) +
                     " groups of experts are supported with sigmoid gating only",
                 ""};
  }
  if (config.experts % groups != 0) {
    return bad_key(keys.name(key), std::to_string(groups) + " does not divide the " +
                                       std::to_string(config.experts) + " experts");
  }
  config.expert_groups = groups;
  PAWL_TRY(config.expert_groups_used,
           keys.size("expert_group_used_count", static_cast<uint32_t>(groups)));
  if (config.expert_groups_used * (config.experts / groups) < config.experts_used) {
    return bad_key(keys.name("expert_group_used_count"), std::to_string(config.expert_groups_used) +
                                                             " groups hold fewer experts than " +
                                                             std::to_string(config.experts_used));
  }
  return {};
}

}  // namespace

Result<void> read_experts(const Keys& keys, ModelConfig& config) {
  const Architecture& row = *config.architecture;
  if (row.experts == Presence::kNever) return {};
  PAWL_TRY(const uint32_t count, keys.metadata().get_u32_or(keys.name("expert_count"), 0));
  if (count == 0) {
    if (row.experts == Presence::kOptional) return {};
    return bad_key(keys.name("expert_count"), "is missing or 0");
  }
  PAWL_TRY(config.experts, keys.size("expert_count", kMaxExperts));
  PAWL_TRY(config.experts_used, keys.size("expert_used_count", count));
  PAWL_TRY(config.expert_hidden, keys.size_or("expert_feed_forward_length", config.feed_forward));
  PAWL_TRY_VOID(read_gating(keys, config));
  PAWL_TRY_VOID(read_expert_groups(keys, config));
  if (row.shared_expert != SharedExpert::kNone) {
    PAWL_TRY(const uint32_t shared,
             keys.metadata().get_u32_or(keys.name("expert_shared_count"), 0));
    if (shared > kMaxExperts) return bad_key(keys.name("expert_shared_count"), "is out of range");
    PAWL_TRY(config.shared_hidden, keys.size_or("expert_shared_feed_forward_length",
                                                config.expert_hidden * static_cast<int>(shared)));
  }
  PAWL_TRY(const uint32_t dense,
           keys.metadata().get_u32_or(keys.name("leading_dense_block_count"), 0));
  PAWL_TRY(const int step, keys.size_or("interleave_moe_layer_step", 1, 1024));
  for (size_t i = dense; i < config.layers.size(); ++i) {
    config.layers[i].has_experts = (static_cast<int>(i) + 1) % step == 0;
  }
  return {};
}

}  // namespace pawl::model
