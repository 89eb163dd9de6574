// SPDX-License-Identifier: Apache-2.0
#include "server/format_check.h"

namespace pawl::server {

namespace {

std::string verdict(const base::Result<std::string>& checked) {
  return checked.ok() ? *checked : checked.error().message;
}

}  // namespace

std::string FormatCheck::run() const {
  if (!may_call) return verdict(format->check(answer));
  if (!is_between_calls) return "a call of a tool has no end";
  for (const ToolCall& call : calls) {
    const std::string wrong = verdict(format->check_call(call.name, call.arguments));
    if (!wrong.empty()) return "the call of " + call.name + ": " + wrong;
  }
  return {};
}

}  // namespace pawl::server
