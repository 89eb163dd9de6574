// SPDX-License-Identifier: Apache-2.0
// Any bytes as the body of an answer, cut anywhere: events, one state, an error of one line. Cut
// otherwise the same bytes give the same events, and the record comes back from disk as it was.
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "lab/answer_reader.h"
#include "lab/records_file.h"

namespace {

using pawl::lab::RequestRecord;

void require(bool condition) {
  if (!condition) std::abort();
}

// Reads of one or of two sizes, in turn; 0: all at once.
RequestRecord read_body(std::string_view body, size_t size_a, size_t size_b, int status) {
  RequestRecord record;
  record.http_status = status;
  record.sent_ns = 0;
  pawl::lab::AnswerReader reader(record, true);
  for (int32_t read = 0; !body.empty(); ++read) {
    const size_t size = size_a == 0 ? body.size() : (read % 2 == 0 ? size_a : size_b);
    reader.feed(body.substr(0, size), {read, read});
    body.remove_prefix(std::min(size, body.size()));
  }
  reader.end({});
  return record;
}

void require_sane(const RequestRecord& record) {
  for (const char c : record.error) require(std::iscntrl(static_cast<unsigned char>(c)) == 0);
  require((record.state == pawl::lab::RequestState::kSuccess) == record.error.empty());
  size_t text = 0;
  for (const auto& event : record.events) {
    require(event.bytes >= 0 && event.text_bytes >= event.answer_bytes);
    text += static_cast<size_t>(event.text_bytes);
  }
  const auto gaps = pawl::lab::inter_token_gaps(record);
  require(gaps.ms.size() <= text + 1 + static_cast<size_t>(record.bytes));
  require(!pawl::lab::tpot_ms(record) || *pawl::lab::tpot_ms(record) >= 0);
  const std::string line = pawl::lab::record_line(record);
  const auto json = pawl::base::parse_json(std::string_view(line).substr(0, line.size() - 1));
  require(json.ok());
  const auto again = pawl::lab::parse_record(*json);
  require(again.ok());
  require(pawl::lab::record_line(*again) == line);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  const size_t size_a = 1 + data[0] % 32, size_b = 1 + data[1];
  const int status = data[2] % 8 == 0 ? 500 : 200;
  const std::string_view body(reinterpret_cast<const char*>(data) + 3, size - 3);
  const RequestRecord whole = read_body(body, 0, 0, status);
  const RequestRecord cut = read_body(body, size_a, size_b, status);
  require_sane(whole);
  require_sane(cut);
  require(whole.text == cut.text && whole.reasoning == cut.reasoning);
  require(whole.state == cut.state && whole.error == cut.error);
  require(whole.events.size() == cut.events.size());
  for (size_t i = 0; i < whole.events.size(); ++i) {
    require(whole.events[i].kind == cut.events[i].kind);
    require(whole.events[i].bytes == cut.events[i].bytes);
  }
  // The reader of records, on the same bytes.
  const auto parsed = pawl::lab::parse_records(body);
  require(parsed.ok() || !parsed.error().message.empty());
  return 0;
}
