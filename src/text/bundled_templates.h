// SPDX-License-Identifier: Apache-2.0
// Chat templates by name, for models whose file has none: the common formats in a few lines each.
#pragma once

#include <string>
#include <string_view>

namespace pawl::text {

// The source, or an empty text for a name that is not there.
std::string_view bundled_template(std::string_view name);

// All names, ascending, with spaces between.
std::string bundled_template_names();

}  // namespace pawl::text
