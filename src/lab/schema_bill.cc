// SPDX-License-Identifier: Apache-2.0
#include "lab/schema_bill.h"

#include <algorithm>
#include <functional>
#include <map>

#include "lab/stats.h"

namespace pawl::lab {

namespace {

double ms_of(int64_t ns) {
  return static_cast<double>(ns) / 1e6;
}

// The field that most bytes of [from, to) belong to; of equals the last to begin: a comma and the
// quote of the next name are there because that one is asked for.
int32_t owner_of(const AnswerFields& fields, size_t from, size_t to) {
  std::map<int32_t, size_t> counts;
  for (size_t i = from; i < to && i < fields.owners.size(); ++i) ++counts[fields.owners[i]];
  int32_t best = 0;
  size_t most = 0;
  for (const auto& [owner, count] : counts) {
    // The braces around all own a token only where nobody else has a byte of it.
    if (owner == 0 && counts.size() > 1) continue;
    if (count >= most) best = owner, most = count;
  }
  return best;
}

// Passes of a kind, for a median that one late packet does not move.
constexpr size_t kEnough = 8;

// The pass under way: whose it is, how long, and the forced tokens that ride along.
struct Pass {
  double* payer = nullptr;
  double ms = 0;
  std::vector<double*> riders;

  void settle(double forced_price) const {
    const auto count = static_cast<double>(riders.size());
    const double each = ms * forced_price / (1 + count * forced_price);
    for (double* rider : riders) *rider += each;
    *payer += ms - count * each;
  }
};

// Times of passes by the number of forced tokens in them. The first and the last are left out: one
// is the prompt's, the other ends with the stream.
void collect_passes(std::span<const BilledToken> tokens,
                    std::map<int64_t, std::vector<double>>& passes) {
  std::optional<int64_t> forced;  // nothing: before the first chosen token
  double ms = 0;
  for (const BilledToken& token : tokens) {
    if (!token.is_forced || token.is_split_estimated) return;
    ms += token.ms;
    if (*token.is_forced) {
      if (forced) ++*forced;
      continue;
    }
    if (forced) passes[*forced].push_back(ms);
    forced = 0, ms = 0;
  }
}

Estimate mean_estimate(const std::vector<double>& values) {
  const double mean = mean_of(values);
  return {mean, mean_interval(values).value_or(Interval{mean, mean})};
}

}  // namespace

std::vector<BilledToken> billed_tokens(const RequestRecord& record) {
  std::vector<BilledToken> tokens;
  if (!record.sent_ns) return tokens;
  int64_t before_ns = *record.sent_ns;
  for (const RawEvent& event : record.events) {
    const int32_t count = event.tokens.value_or(event.text_bytes > 0 ? 1 : 0);
    if (count <= 0) continue;
    const double gap_ms = ms_of(event.stamp_ns - before_ns);
    before_ns = event.stamp_ns;
    const int32_t chosen = count - event.forced.value_or(0);
    for (int32_t i = 0; i < count; ++i) {
      BilledToken token;
      token.bytes = static_cast<int32_t>(int64_t{event.answer_bytes} * (i + 1) / count -
                                         int64_t{event.answer_bytes} * i / count);
      // What is forced follows what was chosen, at once.
      if (event.forced) token.is_forced = i >= chosen;
      token.ms = chosen == 0 ? (i == 0 ? gap_ms : 0) : (i < chosen ? gap_ms / chosen : 0);
      token.is_thinking = event.answer_bytes == 0 && event.text_bytes > 0;
      token.is_split_estimated = count > 1;
      tokens.push_back(token);
    }
  }
  return tokens;
}

std::optional<double> forced_price(std::span<const RequestRecord> records) {
  std::map<int64_t, std::vector<double>> passes;
  for (const RequestRecord& record : records) collect_passes(billed_tokens(record), passes);
  std::erase_if(passes, [](const auto& one) { return one.second.size() < kEnough; });
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const auto& [forced, times] : passes) {
    const auto weight = static_cast<double>(times.size()), at = static_cast<double>(forced);
    const double ms = median_of(times);
    n += weight, x += weight * at, y += weight * ms;
    xx += weight * at * at, xy += weight * at * ms;
  }
  if (passes.size() < 2) return std::nullopt;
  const double slope = (n * xy - x * y) / (n * xx - x * x), without = (y - slope * x) / n;
  if (without <= 0) return std::nullopt;
  return std::max(0.0, slope / without);
}

FieldCost AnswerBill::under(const FieldPath& path) const {
  FieldCost sum;
  sum.path = path;
  for (const FieldCost& field : fields) {
    if (!is_within(field.path, path)) continue;
    sum.tokens += field.tokens;
    sum.forced += field.forced;
    sum.ms += field.ms;
  }
  return sum;
}

int64_t AnswerBill::tokens() const {
  return under({}).tokens + thinking.tokens + end_tokens;
}

AnswerBill bill_answer(std::string_view text, std::span<const BilledToken> tokens, double whole_ms,
                       double forced_price) {
  const AnswerFields owners = fields_of(text);
  AnswerBill bill;
  bill.whole_ms = whole_ms;
  for (const FieldPath& path : owners.paths) bill.fields.push_back({path, 0, 0, 0});
  size_t last = 0;  // behind the last token with text
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].bytes > 0 || tokens[i].is_thinking) last = i + 1;
  }
  Pass pass{&bill.start_ms, 0, {}};
  double known_ms = 0;
  size_t at = 0;
  for (size_t i = 0; i < last; ++i) {
    const BilledToken& token = tokens[i];
    const auto bytes = static_cast<size_t>(token.bytes);
    FieldCost& cost = token.is_thinking ? bill.thinking
                                        : bill.fields[static_cast<size_t>(owner_of(
                                              owners, at, at + std::max<size_t>(bytes, 1)))];
    at += bytes;
    ++cost.tokens;
    const bool is_forced = token.is_forced.value_or(false);
    cost.forced += is_forced ? 1 : 0;
    pass.ms += token.ms;
    known_ms += token.ms;
    if (is_forced) {
      // What follows the prompt at once is part of its pass.
      if (pass.payer != &bill.start_ms) pass.riders.push_back(&cost.ms);
    } else {
      pass.settle(forced_price);
      pass = {&cost.ms, 0, {}};
    }
    bill.knows_forced = bill.knows_forced && token.is_forced.has_value();
    bill.estimated_tokens += token.is_split_estimated ? 1 : 0;
  }
  bill.end_tokens = static_cast<int64_t>(tokens.size() - last);
  // The pass that takes the last text in chooses the end token; without one it ends with the
  // stream.
  if (last < tokens.size()) {
    pass.ms += tokens[last].ms;
    bill.end_ms = whole_ms - known_ms - tokens[last].ms;
  } else {
    pass.ms += whole_ms - known_ms;
  }
  pass.settle(forced_price);
  return bill;
}

std::optional<AnswerBill> bill_of(const RequestRecord& record, double forced_price) {
  const auto whole_ms = e2e_close_ms(record);
  if (record.state != RequestState::kSuccess || !record.asked.is_stream || !whole_ms) {
    return std::nullopt;
  }
  return bill_answer(record.text, billed_tokens(record), *whole_ms, forced_price);
}

const BillRow* Bill::find(const FieldPath& path) const {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const BillRow& row) { return row.path == path; });
  return found == rows.end() ? nullptr : &*found;
}

Bill sum_bills(std::span<const AnswerBill> bills) {
  Bill sum;
  sum.answers = static_cast<int64_t>(bills.size());
  if (bills.empty()) return sum;
  std::vector<FieldPath> paths;
  for (const AnswerBill& bill : bills) {
    for (const FieldCost& field : bill.fields) {
      // A field that answers begin inside of another stands behind it.
      if (field.path.empty() || std::find(paths.begin(), paths.end(), field.path) != paths.end()) {
        continue;
      }
      const FieldPath parent(field.path.begin(), field.path.end() - 1);
      auto place = paths.end();
      for (auto one = paths.begin(); one != paths.end() && !parent.empty(); ++one) {
        if (is_within(*one, parent)) place = one + 1;
      }
      paths.insert(place, field.path);
    }
  }
  const auto n = static_cast<double>(bills.size());
  const auto mean = [&](const std::function<double(const AnswerBill&)>& value) {
    std::vector<double> values;
    for (const AnswerBill& bill : bills) values.push_back(value(bill));
    return mean_estimate(values);
  };
  sum.whole_ms = mean([](const AnswerBill& bill) { return bill.whole_ms; });
  sum.start_ms = mean([](const AnswerBill& bill) { return bill.start_ms; });
  sum.end_ms = mean([](const AnswerBill& bill) { return bill.end_ms; });
  for (const AnswerBill& bill : bills) {
    sum.tokens += static_cast<double>(bill.tokens());
    sum.end_tokens += static_cast<double>(bill.end_tokens);
    sum.knows_forced = sum.knows_forced && bill.knows_forced;
    sum.estimated_tokens += bill.estimated_tokens;
  }
  sum.tokens /= n;
  sum.end_tokens /= n;
  const auto row_of = [&](const FieldPath& path,
                          const std::function<FieldCost(const AnswerBill&)>& cost) {
    BillRow row;
    row.path = path;
    for (const AnswerBill& bill : bills) {
      row.tokens += static_cast<double>(cost(bill).tokens);
      row.forced += static_cast<double>(cost(bill).forced);
    }
    row.tokens /= n;
    row.forced /= n;
    row.ms = mean([&](const AnswerBill& bill) { return cost(bill).ms; });
    row.share = sum.whole_ms.value > 0 ? row.ms.value / sum.whole_ms.value : 0;
    row.token_share = sum.tokens > 0 ? row.tokens / sum.tokens : 0;
    return row;
  };
  for (const FieldPath& path : paths) {
    sum.rows.push_back(row_of(path, [&](const AnswerBill& bill) { return bill.under(path); }));
  }
  sum.frame = row_of({}, [](const AnswerBill& bill) { return bill.fields.front(); });
  sum.thinking = row_of({}, [](const AnswerBill& bill) { return bill.thinking; });
  return sum;
}

}  // namespace pawl::lab
