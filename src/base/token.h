// SPDX-License-Identifier: Apache-2.0
// TokenId: the index of a vocabulary entry. Negative ids do not exist; readers of foreign ids
// refuse them.
#pragma once

#include <cstdint>

namespace pawl::base {

using TokenId = int32_t;

}  // namespace pawl::base
