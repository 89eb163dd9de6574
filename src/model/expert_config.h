// SPDX-License-Identifier: Apache-2.0
// The part of a configuration that is about experts.
#pragma once

#include "base/result.h"
#include "model/config.h"
#include "model/config_keys.h"

namespace pawl::model {

// How many experts there are, how they are chosen and weighed, and which layers have them. Nothing
// where the architecture has none, or has them only in some files and this is none of these.
base::Result<void> read_experts(const Keys& keys, ModelConfig& config);

}  // namespace pawl::model
