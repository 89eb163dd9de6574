// SPDX-License-Identifier: Apache-2.0
// Any bytes as JSON: a value, or an error of one line. A value that is written and read again is
// written the same.
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/json.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using pawl::base::parse_json;
  const auto parsed = parse_json({reinterpret_cast<const char*>(data), size});
  if (!parsed.ok()) {
    require(!parsed.error().message.empty());
    for (const char c : parsed.error().message) {
      require(std::iscntrl(static_cast<unsigned char>(c)) == 0);
    }
    return 0;
  }
  const std::string written = parsed->dump();
  require(written.find('\n') == std::string::npos);
  const auto again = parse_json(written);
  require(again.ok());
  require(again->dump() == written);
  return 0;
}
