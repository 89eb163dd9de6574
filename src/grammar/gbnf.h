// SPDX-License-Identifier: Apache-2.0
// GBNF, the grammar notation of llama.cpp, as a grammar of ours. Every character is a lexeme of its
// own, so that no longest match decides between rules.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace pawl::grammar {

// The JSON form of bridge.h. Errors kInvalidArgument with line and column: the syntax, a rule that
// is not there, a name that stands twice, no rule named root, nothing that obeys. kUnsupported:
// tokens by number.
base::Result<std::string> gbnf_grammar(std::string_view source);

}  // namespace pawl::grammar
