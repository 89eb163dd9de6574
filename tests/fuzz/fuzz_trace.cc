// SPDX-License-Identifier: Apache-2.0
// Any bytes as a trace: read as far as it can be, or an error of one line. What was read is judged
// without a model, and its header, written again, is read as the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "probe/trace.h"
#include "probe/trace_verify.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pawl::probe;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = parse_trace(text);
  if (!read.ok()) {
    require(!read.error().message.empty());
    require(read.error().message.find('\n') == std::string::npos);
    return 0;
  }
  require(!read->header.prompt.empty());
  require(read->header.prompt_texts.empty() ||
          read->header.prompt_texts.size() == read->header.prompt.size());
  require(read->fault.find('\n') == std::string::npos);
  for (const TraceStep& step : read->steps) {
    require(step.prefix_sha256.size() == 64 && !step.inputs.empty());
    require(step.top_texts.size() == (step.row ? step.row->top.size() : 0));
  }
  for (const Verdict& verdict : verify_chain(*read)) {
    require(verdict.reason.find('\n') == std::string::npos);
  }
  const std::string line = header_line(read->header);
  const auto again = parse_trace(line + "\n");
  require(again.ok() && again->fault.empty() && again->steps.empty());
  require(header_line(again->header) == line);
  return 0;
}
