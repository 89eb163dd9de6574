// SPDX-License-Identifier: Apache-2.0
#include "lab/record.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace pawl::lab {
namespace {

constexpr double kNsPerMs = 1e6;

template <typename Enum, size_t n>
std::optional<Enum> find_name(const std::array<std::string_view, n>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

// In the order of the enumerations.
constexpr std::array<std::string_view, 9> kEventKinds = {
    "role", "content", "reasoning", "tool_call", "usage", "done", "comment", "error", "other"};
constexpr std::array<std::string_view, 4> kStates = {"success", "failed", "truncated", "cancelled"};
constexpr std::array<std::string_view, 10> kFailures = {
    "none",       "status", "error_object", "bad_event", "connect",
    "first_byte", "idle",   "total",        "broken",    "no_finish"};
constexpr std::array<std::string_view, 4> kSplits = {"unknown", "stated", "single", "even"};

std::optional<int64_t> origin_ns(const RequestRecord& record, Origin from) {
  return from == Origin::kSent ? record.sent_ns : record.scheduled_ns;
}

std::optional<double> between_ms(std::optional<int64_t> from, std::optional<int64_t> to) {
  if (!from || !to) return std::nullopt;
  return static_cast<double>(*to - *from) / kNsPerMs;
}

// Comments and [DONE] carry no data of the answer.
bool is_data(const RawEvent& event) {
  return event.kind != EventKind::kComment && event.kind != EventKind::kDone;
}

template <typename Predicate>
std::optional<int64_t> first_stamp(const RequestRecord& record, Predicate&& holds) {
  const auto found = std::find_if(record.events.begin(), record.events.end(), holds);
  if (found == record.events.end()) return std::nullopt;
  return found->stamp_ns;
}

std::optional<int64_t> last_content_stamp(const RequestRecord& record) {
  const auto found = std::find_if(record.events.rbegin(), record.events.rend(), is_content_event);
  if (found == record.events.rend()) return std::nullopt;
  return found->stamp_ns;
}

std::vector<const RawEvent*> content_events(const RequestRecord& record) {
  std::vector<const RawEvent*> events;
  for (const RawEvent& event : record.events) {
    if (is_content_event(event)) events.push_back(&event);
  }
  return events;
}

// Spreads `total` over the events in proportion to their text, at least one each, in whole tokens:
// what is owed is carried on, so that the sum is exact. `bytes`: of all their text.
// REQUIRES: total >= events.size() > 0
std::vector<int64_t> spread(const std::vector<const RawEvent*>& events, int64_t total,
                            int64_t bytes) {
  const auto spare = static_cast<double>(total - static_cast<int64_t>(events.size()));
  std::vector<int64_t> tokens;
  double seen = 0;
  int64_t given = 0;
  for (const RawEvent* event : events) {
    seen += static_cast<double>(event->text_bytes);
    const auto due = std::llround(spare * seen / static_cast<double>(bytes));
    tokens.push_back(1 + due - given);
    given = due;
  }
  return tokens;
}

// Tokens of each content event and how they are known.
std::pair<std::vector<int64_t>, TokenSplit> split_tokens(
    const RequestRecord& record, const std::vector<const RawEvent*>& events) {
  std::vector<int64_t> tokens;
  const auto is_stated = [](const RawEvent* event) {
    return event->tokens && *event->tokens > 0 && *event->tokens <= event->bytes;
  };
  if (!events.empty() && std::all_of(events.begin(), events.end(), is_stated)) {
    for (const RawEvent* event : events) tokens.push_back(*event->tokens);
    return {tokens, TokenSplit::kStated};
  }
  const auto total = best_count(record.output);
  const auto chunks = static_cast<int64_t>(events.size());
  if (!total || total->count < chunks || chunks == 0) return {{}, TokenSplit::kUnknown};
  if (total->count <= chunks + 1) {
    return {std::vector<int64_t>(events.size(), 1), TokenSplit::kSingle};
  }
  // A token with text has a byte of it at least: a count beyond that is no count of this text.
  int64_t bytes = 0;
  for (const RawEvent* event : events) bytes += event->text_bytes;
  if (total->count > bytes + 1) return {{}, TokenSplit::kUnknown};
  return {spread(events, total->count, bytes), TokenSplit::kEven};
}

}  // namespace

std::string_view event_kind_name(EventKind kind) {
  return kEventKinds[static_cast<size_t>(kind)];
}
std::optional<EventKind> parse_event_kind(std::string_view name) {
  return find_name<EventKind>(kEventKinds, name);
}
std::string_view request_state_name(RequestState state) {
  return kStates[static_cast<size_t>(state)];
}
std::optional<RequestState> parse_request_state(std::string_view name) {
  return find_name<RequestState>(kStates, name);
}
std::string_view failure_kind_name(FailureKind kind) {
  return kFailures[static_cast<size_t>(kind)];
}
std::optional<FailureKind> parse_failure_kind(std::string_view name) {
  return find_name<FailureKind>(kFailures, name);
}
std::string_view token_split_name(TokenSplit split) {
  return kSplits[static_cast<size_t>(split)];
}

bool is_content_event(const RawEvent& event) {
  return event.text_bytes > 0;
}

std::optional<TokenCount> best_count(const TokenCounts& counts) {
  const std::array<std::pair<std::optional<int64_t>, std::string_view>, 3> ways = {
      {{counts.usage, "usage"}, {counts.timings, "timings"}, {counts.tokenizer, "tokenizer"}}};
  std::optional<TokenCount> best;
  for (const auto& [count, source] : ways) {
    if (!count) continue;
    if (!best) {
      best = TokenCount{*count, source, source == "tokenizer", false};
    } else if (best->count != *count) {
      best->is_contradicted = true;
    }
  }
  return best;
}

std::optional<double> ttft_first_event_ms(const RequestRecord& record, Origin from) {
  return between_ms(origin_ns(record, from), first_stamp(record, is_data));
}

std::optional<double> ttft_ms(const RequestRecord& record, Origin from) {
  return between_ms(origin_ns(record, from), first_stamp(record, is_content_event));
}

std::optional<double> ttft_first_answer_ms(const RequestRecord& record, Origin from) {
  const auto is_answer = [](const RawEvent& event) { return event.answer_bytes > 0; };
  return between_ms(origin_ns(record, from), first_stamp(record, is_answer));
}

std::optional<double> e2e_ms(const RequestRecord& record, Origin from) {
  return between_ms(origin_ns(record, from), last_content_stamp(record));
}

std::optional<double> e2e_close_ms(const RequestRecord& record, Origin from) {
  return between_ms(origin_ns(record, from), record.closed_ns);
}

std::optional<double> tpot_ms(const RequestRecord& record) {
  const auto tokens = best_count(record.output);
  const auto span = between_ms(first_stamp(record, is_content_event), last_content_stamp(record));
  // All tokens in one event: the span is 0 and says nothing about time per token.
  if (!tokens || tokens->count < 2 || !span || content_events(record).size() < 2) {
    return std::nullopt;
  }
  return *span / static_cast<double>(tokens->count - 1);
}

std::optional<double> decode_rate(const RequestRecord& record) {
  const auto tpot = tpot_ms(record);
  if (!tpot || *tpot <= 0) return std::nullopt;
  return 1000 / *tpot;
}

std::optional<double> end_to_end_rate(const RequestRecord& record) {
  const auto tokens = best_count(record.output);
  const auto whole = e2e_ms(record);
  if (!tokens || tokens->count < 1 || !whole || *whole <= 0) return std::nullopt;
  return 1000 * static_cast<double>(tokens->count) / *whole;
}

std::optional<double> client_lag_ms(const RequestRecord& record) {
  return between_ms(record.scheduled_ns, record.started_ns);
}

std::vector<ChunkGap> chunk_gaps(const RequestRecord& record) {
  std::vector<ChunkGap> gaps;
  const RawEvent* last = nullptr;
  for (const RawEvent* event : content_events(record)) {
    if (last != nullptr) {
      gaps.push_back({static_cast<double>(event->stamp_ns - last->stamp_ns) / kNsPerMs,
                      event->read == last->read});
    }
    last = event;
  }
  return gaps;
}

std::optional<double> TokenGaps::multi_token_share() const {
  if (chunks == 0 || split == TokenSplit::kUnknown) return std::nullopt;
  return static_cast<double>(multi_token_chunks) / static_cast<double>(chunks);
}

TokenGaps inter_token_gaps(const RequestRecord& record) {
  TokenGaps gaps;
  const auto events = content_events(record);
  gaps.chunks = static_cast<int64_t>(events.size());
  const auto [tokens, split] = split_tokens(record, events);
  gaps.split = split;
  if (split == TokenSplit::kUnknown) return gaps;
  for (size_t i = 0; i < events.size(); ++i) {
    gaps.multi_token_chunks += tokens[i] > 1 ? 1 : 0;
    if (i == 0) continue;
    const double gap =
        static_cast<double>(events[i]->stamp_ns - events[i - 1]->stamp_ns) / kNsPerMs;
    gaps.ms.insert(gaps.ms.end(), static_cast<size_t>(tokens[i]),
                   gap / static_cast<double>(tokens[i]));
  }
  return gaps;
}

bool is_empty_answer(const RequestRecord& record) {
  return record.state == RequestState::kSuccess &&
         std::none_of(record.events.begin(), record.events.end(), is_content_event);
}

bool is_whitespace_tail(const RequestRecord& record) {
  // Long enough that no layout of a real answer ends so.
  constexpr size_t kTailBytes = 64;
  const size_t last = record.text.find_last_not_of(" \t\r\n");
  const size_t tail = record.text.size() - (last == std::string::npos ? 0 : last + 1);
  return record.finish_reason == "length" && tail >= kTailBytes;
}

}  // namespace pawl::lab
