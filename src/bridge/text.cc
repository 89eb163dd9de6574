// SPDX-License-Identifier: Apache-2.0
#include "bridge/text.h"

#include <utility>

namespace pawl::bridge {

using base::Error;
using base::ErrorCode;

std::string take(pawl_text text) {
  std::string copy(text.data == nullptr ? "" : text.data, text.size);
  pawl_text_free(text);
  return copy;
}

Error error_of(int32_t status, std::string message, std::string_view where) {
  return {status == PAWL_BRIDGE_PANIC ? ErrorCode::kUnsupported : ErrorCode::kInvalidArgument,
          std::move(message), std::string(where)};
}

}  // namespace pawl::bridge
