// SPDX-License-Identifier: Apache-2.0
// Sets of schemas that nothing obeys, as far as that can be seen from near.
#include "schema/expand.h"

namespace pawl::schema {

using base::ErrorCode;
using base::Result;

namespace {

// How deep emptiness is looked for: a required member of a required member …
constexpr int kEmptinessDepth = 4;

}  // namespace

Result<bool> Expander::exclude_each_other(Literal a, Literal b) {
  return is_surely_empty(intern({a, b}), kEmptinessDepth);
}

// True only when no value obeys the node; what cannot be said is no reason to say so.
Result<bool> Expander::is_surely_empty(NodeId node, int depth) {
  if (depth == 0) return false;
  const auto expanded = expand(node);
  if (!expanded.ok()) {
    return expanded.error().code == ErrorCode::kUnsupported ? Result<bool>(false)
                                                            : Result<bool>(expanded.error());
  }
  const Alternatives parts = **expanded;  // looking deeper may move it
  if (parts.may_be_null || parts.may_be_true || parts.may_be_false) return false;
  for (const NumberPart& part : parts.numbers) {
    const auto is_empty = oracle_.is_empty(part.language);
    if (!is_empty.ok() || !*is_empty) return false;
  }
  for (const StringPart& part : parts.strings) {
    const auto is_empty = oracle_.is_empty(part.language);
    if (!is_empty.ok() || !*is_empty) return false;
  }
  for (const ArrayPart& part : parts.arrays) {
    bool is_empty = false;
    for (int64_t i = 0; i < part.least && !is_empty; ++i) {
      const bool is_prefix = i < static_cast<int64_t>(part.prefix.size());
      PAWL_TRY(
          is_empty,
          is_surely_empty(is_prefix ? part.prefix[static_cast<size_t>(i)] : part.rest, depth - 1));
      if (!is_prefix) break;
    }
    if (!is_empty) return false;
  }
  for (const ObjectPart& part : parts.objects) {
    bool is_empty = false;
    for (const ObjectPart::Named& member : part.named) {
      if (!member.is_required || is_empty) continue;
      PAWL_TRY(is_empty, is_surely_empty(member.value, depth - 1));
    }
    if (!is_empty) return false;
  }
  return true;
}

}  // namespace pawl::schema
