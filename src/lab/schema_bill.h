// SPDX-License-Identifier: Apache-2.0
// What each field of a JSON answer cost: every token and every millisecond of a record is put down
// to exactly one place.
//
//   start     sent → the first token that was chosen: the prompt's pass, and what no field can save
//   fields    each token to the field that most of its bytes were written for; of equals the last
//   frame     the braces around all: the field with the empty path
//   thinking  tokens that are no part of the answer
//   end       the end token → the stream's close
//
// A chosen token costs the pass that takes it in: from its own arrival to that of the next chosen
// one. So a field costs what is not computed when nobody asks for it. Forced tokens ride along in
// that pass, often that of another field's last token: they pay what they make it longer.
// Threads: any; nothing here has state.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "lab/answer_fields.h"
#include "lab/record.h"
#include "lab/split.h"

namespace pawl::lab {

// One token as it came.
struct BilledToken {
  int32_t bytes = 0;  // of the answer's text; 0: a part of what the next token completes
  std::optional<bool> is_forced;  // nothing: the server does not tell
  double ms = 0;  // its arrival, since that of the token before; of the first, since sending
  bool is_thinking = false;         // its text is no part of the answer
  bool is_split_estimated = false;  // several came in one event, which was cut evenly
};
// The tokens of a stream. Empty where it was never sent, or held no token.
std::vector<BilledToken> billed_tokens(const RequestRecord& record);

// What each forced token makes the pass longer that it rides in, as a share of a pass without any:
// the slope over the medians of passes with the same number of them. Nothing where too few passes
// show it, or none tells which tokens are forced; never below 0.
std::optional<double> forced_price(std::span<const RequestRecord> records);

struct FieldCost {
  FieldPath path;
  int64_t tokens = 0;  // forced and chosen
  int64_t forced = 0;
  double ms = 0;
};

struct AnswerBill {
  double start_ms = 0, end_ms = 0, whole_ms = 0;
  std::vector<FieldCost> fields;  // their own, without what is nested; the first is the frame
  FieldCost thinking;
  int64_t end_tokens = 0;
  bool knows_forced = true;
  int64_t estimated_tokens = 0;  // whose part of an event is not known

  // Everything below a path, itself included.
  FieldCost under(const FieldPath& path) const;
  int64_t tokens() const;  // of all places
};
// whole_ms: sent → closed. forced_price: see above.
AnswerBill bill_answer(std::string_view text, std::span<const BilledToken> tokens, double whole_ms,
                       double forced_price = 0);
// Of a record that kept its text. Nothing unless it is a success that was streamed.
std::optional<AnswerBill> bill_of(const RequestRecord& record, double forced_price = 0);

// Means over answers; shares are of the whole time and of all tokens.
struct BillRow {
  FieldPath path;
  double tokens = 0, forced = 0;  // nested fields included
  Estimate ms;                    // their interval is of 95 %; of one answer it is the value alone
  double share = 0, token_share = 0;
};
struct Bill {
  int64_t answers = 0;
  std::vector<BillRow> rows;  // fields in the order in which answers began them, parents first
  BillRow frame, thinking;    // without a path
  Estimate start_ms, end_ms, whole_ms;
  double end_tokens = 0, tokens = 0;
  bool knows_forced = true;
  std::optional<double> forced_price;  // with which the bills were made
  int64_t estimated_tokens = 0;

  const BillRow* find(const FieldPath& path) const;
};
Bill sum_bills(std::span<const AnswerBill> bills);

}  // namespace pawl::lab
