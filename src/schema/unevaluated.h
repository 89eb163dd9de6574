// SPDX-License-Identifier: Apache-2.0
// unevaluatedProperties and unevaluatedItems: what was evaluated is what rules speak of that came
// into a branch between two of these steps. Used by demands.cc.
#pragma once

#include <optional>

#include "schema/branch.h"
#include "schema/document.h"

namespace pawl::schema {

// The schemas of the two keywords, where they are asked for.
struct Unevaluated {
  std::optional<SchemaId> members, items;
};

Step begin_unevaluated();
// All that was not evaluated obeys. The document outlives the step.
Step end_unevaluated(Document& document, Unevaluated asked);
// Something that was not evaluated does not. REQUIRES: one of the two is asked for
Step break_unevaluated(Document& document, Unevaluated asked);

}  // namespace pawl::schema
