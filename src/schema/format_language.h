// SPDX-License-Identifier: Apache-2.0
// The formats of JSON Schema (draft 2020-12 validation, section 7.3) that are regular languages.
#pragma once

#include <optional>
#include <string_view>

#include "schema/language.h"

namespace pawl::schema {

// Nothing for a name that is not defined here: such a format is an annotation.
std::optional<Language> format_language(std::string_view name);

}  // namespace pawl::schema
