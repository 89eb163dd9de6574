// SPDX-License-Identifier: Apache-2.0
// An answer that is over, held against its format once more, by another implementation than the one
// that made the masks: nothing that breaks it is called an answer. It owns what it looks at, as a
// large schema or answer takes its time and is a worker's, while the io thread goes on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "grammar/compiler.h"
#include "server/reply_json.h"

namespace pawl::server {

struct FormatCheck {
  int choice = 0;
  std::shared_ptr<const grammar::Compiled> format;
  std::string answer;  // the whole text, unless tools may be called
  bool may_call = false;
  bool is_between_calls = true;  // no call is left without its end
  std::vector<ToolCall> calls;

  // What of the answer breaks what was asked for; empty: nothing does. Any thread.
  std::string run() const;
};

}  // namespace pawl::server
