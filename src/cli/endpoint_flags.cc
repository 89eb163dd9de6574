// SPDX-License-Identifier: Apache-2.0
#include "cli/endpoint_flags.h"

#include <fmt/format.h>

#include "cli/terminal.h"
#include "lab/server_facts.h"

namespace pawl::cli {

using base::Error;
using base::ErrorCode;
using base::Result;

void EndpointFlags::declare(CommandLine& line) {
  constexpr double kDay = 86'400;
  line.group("Server");
  line.text({"--url", "URL", "where it is: http://127.0.0.1:8080, with or without /v1",
             "none, and needed"},
            url);
  line.text({"-m,--model", "NAME", "the model's name there", "the first it names"}, model);
  line.text({"--api", "NAME", "chat or completions; auto: chat where the model has a template"},
            api);
  line.text({"--api-key-env", "NAME", "environment variable that holds the API key"}, key_variable);
  line.texts({"--header", "LINE", "'Name: value' with every request; repeatable"}, headers);
  line.text({"--body", "JSON", "members of every request's body, as an object", "none"}, fields);
  line.text({"--ca-file", "FILE", "certificates to trust with https, PEM", "the system's"},
            ca_file);
  line.flag(
      {"--natural-length", "", "does not ask for ignore_eos and min_tokens: answers may end early"},
      keeps_natural_length);
  line.number({"--connect-timeout", "S", "seconds; 0: none"}, connect_s, 0, kDay);
  line.number({"--first-byte-timeout", "S", "seconds from sending; 0: none"}, first_byte_s, 0,
              kDay);
  line.number({"--idle-timeout", "S", "seconds of silence within an answer; 0: none"}, idle_s, 0,
              kDay);
  line.number({"--total-timeout", "S", "seconds of a whole request; 0: none"}, total_s, 0, kDay);
}

Result<lab::Endpoint> EndpointFlags::endpoint() const {
  if (!url) return Error{ErrorCode::kInvalidArgument, "a server's URL is needed", "--url"};
  PAWL_TRY(lab::Endpoint endpoint, lab::make_endpoint(*url, key_variable));
  endpoint.model = model;
  if (api != "auto" && api != "chat" && api != "completions") {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("'{}' is neither chat nor completions nor auto", api), "--api"};
  }
  endpoint.is_chat = api != "completions";
  endpoint.ca_file = ca_file.value_or("");
  for (const std::string& header : headers) {
    const size_t colon = header.find(':');
    if (colon == 0 || colon == std::string::npos ||
        header.find_first_of("\r\n") != std::string::npos) {
      return Error{ErrorCode::kInvalidArgument, "a header is 'Name: value'", "--header"};
    }
    endpoint.headers.push_back(header);
  }
  if (fields) {
    auto json = base::parse_json(*fields);
    if (!json.ok() || json->as_object() == nullptr) {
      return Error{ErrorCode::kInvalidArgument, "no JSON object", "--body"};
    }
    endpoint.fields = std::move(json).value();
  }
  endpoint.forces_length = !keeps_natural_length;
  const auto ms = [](double seconds) { return static_cast<int64_t>(seconds * 1000); };
  endpoint.limits = {ms(connect_s), ms(first_byte_s), ms(idle_s), ms(total_s)};
  return endpoint;
}

Result<lab::Endpoint> EndpointFlags::ask_endpoint(bool is_quiet, const base::Clock& clock) const {
  PAWL_TRY(lab::Endpoint asked, endpoint());
  if (api != "auto") return asked;
  PAWL_TRY(const std::optional<bool> has_template, lab::has_chat_template(asked, clock));
  if (has_template == false) {
    note(is_quiet, "the model has no chat template: asking /v1/completions");
    asked.is_chat = false;
  }
  return asked;
}

}  // namespace pawl::cli
