// SPDX-License-Identifier: Apache-2.0
// The flags of every command that measures a server from outside: where it is, what it is called,
// and what each request carries.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cli/command_line.h"
#include "lab/openai_client.h"

namespace pawl::cli {

struct EndpointFlags {
  std::optional<std::string> url;
  std::string model;  // empty: the first that the server names
  std::string api = "auto";
  std::string key_variable = "OPENAI_API_KEY";
  std::vector<std::string> headers;
  std::optional<std::string> fields;  // JSON object
  std::optional<std::string> ca_file;
  bool keeps_natural_length = false;
  double connect_s = 10, first_byte_s = 600, idle_s = 120, total_s = 0;

  void declare(CommandLine& line);

  // Error kInvalidArgument, naming the flag. `auto` is chat.
  base::Result<lab::Endpoint> endpoint() const;

  // The same, but `auto` is completions where the server says that its model has no chat template,
  // which is noted. Error kNetwork when nobody answers.
  base::Result<lab::Endpoint> ask_endpoint(bool is_quiet, const base::Clock& clock) const;
};

}  // namespace pawl::cli
