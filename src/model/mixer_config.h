// SPDX-License-Identifier: Apache-2.0
// Sizes of what stands in place of plain attention.
#pragma once

#include "base/result.h"
#include "model/config.h"
#include "model/config_keys.h"

namespace pawl::model {

// REQUIRES: heads, ropes and scales are read. Errors name the key at fault.
base::Result<void> read_latent(const Keys& keys, ModelConfig& config);

// REQUIRES: heads are read. Says which layers have a state, and where it lies.
base::Result<void> read_states(const Keys& keys, ModelConfig& config);

}  // namespace pawl::model
