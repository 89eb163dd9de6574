// SPDX-License-Identifier: Apache-2.0
// One request alone, to its end.
#include <fmt/format.h>

#include "lab/http_client.h"
#include "lab/http_loop.h"

namespace pawl::lab {

using base::Error;
using base::ErrorCode;
using base::Result;

Result<WholeAnswer> fetch_whole(const HttpRequest& request, const base::Clock& clock,
                                size_t limit) {
  PAWL_TRY(HttpLoop loop, HttpLoop::create(clock));
  WholeAnswer answer;
  std::optional<ExchangeEnd> end;
  bool is_too_long = false;
  HttpLoop::Id id = 0;
  HttpReader reader;
  reader.head = [&](const AnswerHead& head) { answer.head = head; };
  reader.bytes = [&](std::string_view bytes, ReadStamp) {
    is_too_long = answer.body.size() + bytes.size() > limit;
    if (is_too_long) {
      loop.cancel(id);
    } else {
      answer.body += bytes;
    }
  };
  reader.end = [&](const ExchangeEnd& given) { end = given; };
  id = loop.start(request, std::move(reader));
  constexpr int64_t kPatienceNs = 1'000'000'000;
  while (!end) loop.run(clock.now_ns() + kPatienceNs);
  const std::string where = shown_url(request.url);
  if (is_too_long) {
    return Error{ErrorCode::kNetwork, fmt::format("more than {} bytes", limit), where};
  }
  if (end->failure != FailureKind::kNone) return Error{ErrorCode::kNetwork, end->reason, where};
  return answer;
}

}  // namespace pawl::lab
