// SPDX-License-Identifier: Apache-2.0
// What references are written with: URIs (RFC 3986) and JSON pointers (RFC 6901).
#pragma once

#include <string>
#include <string_view>

namespace pawl::schema {

// RFC 3986 §5.2 of a reference without fragment. A base without scheme says nothing: the reference
// stays as it is.
std::string resolved_uri(const std::string& base, std::string_view reference);

// %41 → A; what is no such escape stays.
std::string percent_decoded(std::string_view text);

// A name as it stands in a JSON pointer, and back.
std::string pointer_token(std::string_view name);
std::string pointer_name(std::string_view token);

}  // namespace pawl::schema
