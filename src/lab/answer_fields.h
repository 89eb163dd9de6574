// SPDX-License-Identifier: Apache-2.0
// Which field of a JSON answer each byte of its text was written for, and what values the fields
// have. The text is foreign: it may end early or be no JSON at all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace pawl::lab {

// Names from the root on. The items of an array have its path: "items.name" is the member "name" of
// every item.
using FieldPath = std::vector<std::string>;
inline constexpr size_t kFieldDepth = 3;  // what is deeper belongs to the field around it

// "customer.name"; "" for the root.
std::string shown_path(const FieldPath& path);
// From such a text. A name that holds a dot cannot be told from two names, and is taken for two.
FieldPath parse_path(std::string_view text);
// Whether `path` is `field` or a field inside it.
bool is_within(const FieldPath& path, const FieldPath& field);

struct AnswerFields {
  std::vector<FieldPath> paths;  // in the order in which they begin; the first is the root: braces
  std::vector<int32_t> owners;   // [byte of the text]: index of paths
};
// A field owns its name, the colon, its value and the comma behind it.
AnswerFields fields_of(std::string_view text);

// The value at a path. Through an array: the values of its items, as an array. Nothing where no
// such member is.
std::optional<base::Json> value_at(const base::Json& answer, const FieldPath& path);

// The answer without these fields, as one line; what is not there is no fault.
base::Json without(const base::Json& answer, const std::vector<FieldPath>& fields);

}  // namespace pawl::lab
