// SPDX-License-Identifier: Apache-2.0
// Regular expressions of JSON Schema: the syntax of ECMA-262 (section 22.2) as far as it is
// regular. \d and \w are ASCII, \s is the white space of that standard, . is all but line ends.
// Anchors, word borders and what looks around may stand anywhere but in a repetition. What no
// automaton has (back references) is refused with its name and column.
#pragma once

#include <string_view>

#include "base/result.h"
#include "schema/language.h"

namespace pawl::schema {

// Texts in which the pattern is found anywhere. Errors: kUnsupported with the construct and its
// column (in characters, from 1), kInvalidArgument where the pattern breaks the syntax.
base::Result<Language> pattern_language(std::string_view pattern);

// Texts that the expression matches from the first to the last character. Errors as above.
base::Result<Language> whole_text_language(std::string_view pattern);

}  // namespace pawl::schema
