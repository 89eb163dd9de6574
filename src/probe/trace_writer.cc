// SPDX-License-Identifier: Apache-2.0
#include "probe/trace_writer.h"

#include <utility>

#include "base/check.h"
#include "probe/bench.h"

namespace pawl::probe {

TraceWriter::TraceWriter(engine::Runtime& runtime, const TraceHeader& header, int top,
                         const base::Clock& clock, Output output)
    : runtime_(runtime),
      top_(top),
      clock_(clock),
      output_(std::move(output)),
      ids_(header.prompt),
      prompt_(header.prompt.size()) {
  put(header_line(header));
}

void TraceWriter::put(std::string_view line) {
  if (written_.ok()) written_ = output_(line);
}

void TraceWriter::on_step(const engine::StepRecord& record) {
  const int64_t start_ns = clock_.now_ns();
  const std::clock_t start_cpu = std::clock();
  PAWL_CHECK(record.rows.size() == 1);
  const engine::StepRow& seen = record.rows[0];
  const auto first = static_cast<size_t>(seen.first_position);
  const size_t length = first + seen.inputs.size();
  PAWL_CHECK(length <= ids_.size());
  TraceStep step;
  step.step = record.step;
  step.is_prefill = first < prompt_;
  step.prefix_len = static_cast<int64_t>(length);
  step.prefix_sha256 = prefix_sha256(std::span(ids_).first(length));
  step.inputs.assign(seen.inputs.begin(), seen.inputs.end());
  step.forward_us = record.forward_ns / 1000;
  step.policy_us = record.policy_ns / 1000;
  if (seen.choice != nullptr) {
    step.row = trace_row(seen.logits, top_, runtime_.kernels(), runtime_.pool());
    if (seen.choice->id != policy::kNoToken) {
      step.selected = seen.choice->id;
      ids_.push_back(seen.choice->id);
      ++end_.selected;
    }
  }
  ++end_.passes;
  if (step.is_prefill) ++end_.prefill_passes;
  put(step_line(step, runtime_.tokenizer()));
  const std::clock_t end_cpu = std::clock();
  const std::clock_t before_cpu = std::exchange(last_cpu_, end_cpu);
  if (step.is_prefill) return;
  decode_cpu_ += start_cpu - before_cpu;
  own_decode_cpu_ += end_cpu - start_cpu;
  decode_ns_.push_back(static_cast<double>(record.forward_ns + record.policy_ns));
  own_decode_ns_.push_back(static_cast<double>(clock_.now_ns() - start_ns));
}

std::optional<double> TraceWriter::share_of_decode() const {
  if (decode_ns_.empty()) return std::nullopt;
  const double decode_ns = spread_of(decode_ns_).median;
  if (!(decode_ns > 0)) return std::nullopt;
  return spread_of(own_decode_ns_).median / decode_ns;
}

std::optional<double> TraceWriter::cpu_share_of_decode() const {
  if (decode_cpu_ <= 0) return std::nullopt;
  return static_cast<double>(own_decode_cpu_) / static_cast<double>(decode_cpu_);
}

base::Result<void> TraceWriter::finish(std::string_view finish_reason) {
  end_.finish_reason = finish_reason;
  put(end_line(end_));
  return written_;
}

}  // namespace pawl::probe
