// SPDX-License-Identifier: Apache-2.0
// A Jinja template, compiled once and rendered with variables under limits. What pawl knows about
// chats is not here: see text/chat_template.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct pawl_template;  // bridge.h

namespace pawl::bridge {

struct RenderLimits {
  uint64_t fuel = 200'000;             // one pays for an instruction or for 64 bytes made
  uint64_t output_bytes = 64u << 20u;  // of the rendered text
  int64_t local_seconds = 0;           // what strftime_now shows: since 1970, in local time
};

// Threads: immutable; any number of threads may render at once. Each call runs on a thread of its
// own, with a stack for what the fuel allows, and waits for it.
class Template {
 public:
  // Error kBadFile with the line and what is wrong there.
  static base::Result<Template> compile(std::string_view source);

  // `variables`: a JSON object, one member for each variable; their order is kept. Errors, all
  // kInvalidArgument: the text of raise_exception alone; line and what is wrong there; a limit;
  // variables that are no JSON object, at most 127 deep. kUnsupported: a mistake of the library.
  base::Result<std::string> render(std::string_view variables, const RenderLimits& limits) const;

 private:
  struct Free {
    void operator()(pawl_template* compiled) const;
  };
  explicit Template(pawl_template* compiled) : compiled_(compiled) {}

  std::unique_ptr<pawl_template, Free> compiled_;
};

}  // namespace pawl::bridge
