// SPDX-License-Identifier: Apache-2.0
#include "lab/cancel_routes.h"

#include <fmt/format.h>

#include "base/digest.h"

namespace pawl::lab {
namespace {

using base::ErrorCode;
using base::Json;
using base::Result;

std::string sha256_of_ids(const std::vector<int64_t>& ids) {
  std::vector<std::byte> bytes;
  for (const int64_t id : ids) {
    const auto value = static_cast<uint32_t>(id);
    for (int shift = 0; shift < 32; shift += 8) {
      bytes.push_back(static_cast<std::byte>(value >> shift));
    }
  }
  return base::sha256_hex(bytes);
}

// The steps of one walk.
class Walker {
 public:
  Walker(const RouteWalk& given, CancelResult& result) : walk_(given), result_(result) {}

  Result<void> walk() {
    PAWL_TRY_VOID(add_route("whole", walk_.options.prompt, result_.whole, result_.true_suffix));
    const int64_t rest = result_.whole_tokens - walk_.options.after;
    progress(fmt::format("the last {} tokens alone", rest));
    const std::string direct = fmt::format(
        "{}\n\nAnswer with the end only: what follows the first {} tokens of your answer.",
        walk_.options.prompt, walk_.options.after);
    PAWL_TRY(const RequestRecord answer,
             walk_.requests.finish(walk_.requests.ask(walk_.requests.question(direct, rest)),
                                   "the direct request"));
    PAWL_TRY_VOID(add_route("direct", direct, answer, answer.text));
    return continue_prefix(rest);
  }

 private:
  // The first K tokens as prompt: possible only because they were decoded before. Chats need a
  // server that goes on with an assistant's message.
  Result<void> continue_prefix(int64_t rest) {
    const std::string prefix =
        result_.whole.text.substr(0, result_.whole.text.size() - result_.true_suffix.size());
    Question asked = walk_.requests.question(walk_.options.prompt + prefix, rest);
    if (walk_.endpoint.is_chat) {
      if (result_.facts.server != "pawl" && result_.facts.server != "vLLM") return {};
      Json user, assistant;
      user["role"] = "user";
      user["content"] = walk_.options.prompt;
      assistant["role"] = "assistant";
      assistant["content"] = prefix;
      asked.fields["messages"] = Json::array_of({std::move(user), std::move(assistant)});
      asked.fields["continue_final_message"] = true;
      asked.fields["add_generation_prompt"] = false;
    }
    progress(fmt::format("the last {} tokens, with the first {} given", rest, walk_.options.after));
    // A server may refuse it: the other routes stand without this one.
    auto answer =
        walk_.requests.finish(walk_.requests.ask(std::move(asked)), "the continued request");
    if (!answer.ok()) {
      if (answer.error().code == ErrorCode::kCancelled) return std::move(answer).error();
      return {};
    }
    return add_route("continued", walk_.options.prompt + prefix, *answer, answer->text);
  }

  Result<void> add_route(std::string name, const std::string& prompt, const RequestRecord& record,
                         std::string text) {
    SuffixRoute route;
    route.name = std::move(name);
    route.text = std::move(text);
    route.prompt_tokens = record.prompt.usage;
    route.decoded_tokens = record.output.usage;
    route.ms = e2e_ms(record).value_or(0);
    const bool is_plain = route.name != "continued" || !walk_.endpoint.is_chat;
    if (is_plain && result_.facts.tokenize != TokenizeWay::kNone) {
      PAWL_TRY(const CountedPrompt counted,
               count_prompt(walk_.endpoint, result_.facts, prompt, walk_.clock));
      route.prompt_sha256 = sha256_of_ids(counted.ids);
      route.is_digest_of_ids = true;
    } else {
      route.prompt_sha256 = base::sha256_hex(std::as_bytes(std::span<const char>(prompt)));
    }
    if (walk_.uses_record) {
      PAWL_TRY(const auto facts, read_request(walk_.endpoint, record.id, walk_.clock));
      if (facts) route.forward_passes = facts->forward_passes;
    }
    result_.routes.push_back(std::move(route));
    return {};
  }

  void progress(std::string_view line) const {
    if (walk_.progress) walk_.progress(line);
  }

  const RouteWalk& walk_;
  CancelResult& result_;
};

}  // namespace

Result<void> walk_routes(const RouteWalk& walk, CancelResult& result) {
  return Walker(walk, result).walk();
}

}  // namespace pawl::lab
