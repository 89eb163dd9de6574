// SPDX-License-Identifier: Apache-2.0
// Messages of OpenAI's API in the one form that templates expect.
#pragma once

#include "base/json.h"
#include "base/result.h"

namespace pawl::text {

// What becomes of the arguments of a tool call. Most templates write them as JSON and want the
// object; some print them as they come and want the text.
enum class ToolArguments { kAsObject, kAsText };

// Checked: a non-empty array of objects, each with a role. Content becomes a string (text parts
// joined; null and missing are empty), null members are left out. kAsObject: a string that is a
// JSON object becomes it; kAsText: a value becomes its JSON. Error kInvalidArgument names message
// and member.
base::Result<base::Json> normal_messages(const base::Json& messages, ToolArguments arguments);

// REQUIRES: made by normal_messages
bool has_tool_calls(const base::Json& messages);

}  // namespace pawl::text
