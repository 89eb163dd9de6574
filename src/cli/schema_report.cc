// SPDX-License-Identifier: Apache-2.0
#include "cli/schema_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/lab_session.h"
#include "cli/terminal.h"
#include "cli/text_table.h"

namespace pawl::cli {

using lab::Bill;
using lab::BillRow;
using lab::Estimate;
using lab::VariantKind;
using lab::VariantResult;

namespace {

std::string percent(double share, int digits = 1) {
  return fmt::format("{:.{}f} %", 100 * share, digits);
}
std::string percent_range(const Estimate& share) {
  return fmt::format("{:.1f} % ({:.1f} to {:.1f})", 100 * share.value, 100 * share.interval.low,
                     100 * share.interval.high);
}
std::string number(double value) {
  return fmt::format("{:.1f}", value);
}

std::string bar_of(double share) {
  constexpr double kCells = 24;
  std::string bar;
  for (int i = 0; i < static_cast<int>(share * kCells + 0.5); ++i) bar += "█";
  return bar;
}

std::string indented(const lab::FieldPath& path) {
  return std::string(2 * (path.size() - 1), ' ') + path.back();
}

std::string mean_change(const lab::Agreement& agreement) {
  if (!agreement.mean_full || !agreement.mean_here) return "";
  return fmt::format("{:.2f} → {:.2f}", *agreement.mean_full, *agreement.mean_here);
}

template <typename T>
const T* find(const std::vector<T>& list, const lab::FieldPath& field) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const T& one) { return one.field == field; });
  return found == list.end() ? nullptr : &*found;
}

std::string right_of(const VariantResult& variant, const lab::FieldPath& field) {
  const lab::Rightness* const one = find(variant.rightness, field);
  return one != nullptr ? fmt::format("{} of {}", one->right, one->n) : "";
}

std::string head(const Paint& paint, std::string_view title, std::string_view about) {
  return fmt::format("\n{}  {}\n", paint(Ink::kBold, title), paint(Ink::kSoft, about));
}

std::string costs_text(const lab::Study& study, const Paint& paint) {
  TextTable table;
  table.columns = {{"variant", false},     {"n", true},
                   {"tokens", true},       {"time", true},
                   {"time saved", true},   {"by the bill", true},
                   {"saved ÷ bill", true}, {"the others alike", true},
                   {"bytes saved", true}};
  for (const VariantResult& variant : study.variants) {
    const auto or_dash = [](bool has_value, std::string text) {
      return has_value ? std::move(text) : std::string("–");
    };
    const auto ratio = [](bool is_billed, const std::optional<lab::OverBill>& over) {
      if (!is_billed || !over) return std::string("–");
      return fmt::format("{:.2f} ({:.2f} to {:.2f}; {})", over->ratio.value,
                         over->ratio.interval.low, over->ratio.interval.high, over->n);
    };
    const bool is_billed = variant.billed_share && variant.kind != VariantKind::kStripped;
    table.rows.push_back({variant.name, std::to_string(variant.pairs), number(variant.tokens),
                          human_ms(variant.ms.value),
                          or_dash(variant.saved_share.has_value(),
                                  variant.saved_share ? percent_range(*variant.saved_share) : ""),
                          or_dash(is_billed, is_billed ? percent(*variant.billed_share) : ""),
                          ratio(is_billed, variant.over_bill), ratio(is_billed, variant.alike),
                          or_dash(variant.saved_bytes_share.has_value(),
                                  percent(variant.saved_bytes_share.value_or(0), 0))});
  }
  std::string text =
      head(paint, "Leaving out", "time against the full answers to the same prompts, 95 %");
  text += table_text(table);
  for (const VariantResult& variant : study.variants) {
    if (variant.answers == variant.asked) continue;
    text += paint(Ink::kWarn,
                  fmt::format("{}: of {} asked {} failed, {} ended before their JSON did, {} spent "
                              "their tokens thinking",
                              variant.name, variant.asked, variant.failed, variant.incomplete,
                              variant.no_answer_budget)) +
            "\n";
  }
  return text;
}

std::string changes_text(const lab::Study& study, const Paint& paint) {
  TextTable table;
  table.columns = {{"field", false},   {"without what", false}, {"n", true},
                   {"the same", true}, {"other value", true},   {"full against itself", true},
                   {"mean", true},     {"right in full", true}, {"right here", true}};
  bool has_means = false, has_right = false;
  for (const VariantResult& variant : study.variants) {
    for (const lab::Agreement& one : variant.agreement) {
      const lab::Agreement* const self = find(study.self, one.field);
      const std::string mean = mean_change(one);
      const std::string right = right_of(variant, one.field);
      has_means = has_means || !mean.empty();
      has_right = has_right || !right.empty();
      table.rows.push_back(
          {lab::shown_path(one.field), variant.name, std::to_string(one.n),
           std::to_string(one.same),
           fmt::format("{:.0f} % ({:.0f} to {:.0f})", 100 * one.changed_share(),
                       100 * one.changed.low, 100 * one.changed.high),
           self != nullptr ? fmt::format("{} of {}", self->same, self->n) : "not asked twice", mean,
           right_of(study.variants.front(), one.field), right});
    }
  }
  if (table.rows.empty()) return "";
  std::stable_sort(table.rows.begin(), table.rows.end(),
                   [](const auto& a, const auto& b) { return a[0] < b[0]; });
  const auto drop = [&](size_t column) {
    table.columns.erase(table.columns.begin() + static_cast<std::ptrdiff_t>(column));
    for (auto& row : table.rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
  };
  if (!has_right) drop(8), drop(7);
  if (!has_means) drop(6);
  return head(paint, "Other answers",
              "how often a field's value differs from the full answer's, 95 %") +
         table_text(table);
}

}  // namespace

std::string bill_text(const Bill& bill, const Paint& paint) {
  TextTable table;
  table.columns = {{"field", false}, {"tokens", true}, {"forced", true}, {"chosen", true},
                   {"ms", true},     {"share", true},  {"", false}};
  const auto put = [&](const std::string& name, const BillRow& row) {
    table.rows.push_back({name, number(row.tokens), bill.knows_forced ? number(row.forced) : "–",
                          bill.knows_forced ? number(row.tokens - row.forced) : "–",
                          fmt::format("{:.0f} ({:.0f} to {:.0f})", row.ms.value,
                                      row.ms.interval.low, row.ms.interval.high),
                          percent(row.share), bar_of(row.share)});
  };
  const auto share_of = [&](double ms) {
    return bill.whole_ms.value > 0 ? ms / bill.whole_ms.value : 0;
  };
  table.rows.push_back({"prompt, to the first chosen token", "–", "–", "–",
                        fmt::format("{:.0f} ({:.0f} to {:.0f})", bill.start_ms.value,
                                    bill.start_ms.interval.low, bill.start_ms.interval.high),
                        percent(share_of(bill.start_ms.value)),
                        bar_of(share_of(bill.start_ms.value))});
  for (const BillRow& row : bill.rows) put(indented(row.path), row);
  if (bill.thinking.tokens > 0) put("thinking, no part of the answer", bill.thinking);
  BillRow rest = bill.frame;
  rest.tokens += bill.end_tokens;
  rest.ms.value += bill.end_ms.value;
  rest.ms.interval.low += bill.end_ms.interval.low;
  rest.ms.interval.high += bill.end_ms.interval.high;
  rest.share = share_of(rest.ms.value);
  put("braces, end token", rest);
  table.total = {
      "together", number(bill.tokens), "", "", fmt::format("{:.0f}", bill.whole_ms.value), "100 %",
      ""};
  std::string text = head(
      paint, "The bill",
      fmt::format("of one answer, mean of {}; nested fields are in their parent", bill.answers));
  text += table_text(table);
  if (!bill.knows_forced) {
    text += paint(Ink::kSoft, "the server does not tell which tokens its grammar forced") + "\n";
  }
  if (bill.forced_price) {
    text +=
        paint(Ink::kSoft,
              fmt::format("a forced token makes the pass it rides in {} longer, and is billed that",
                          percent(*bill.forced_price))) +
        "\n";
  }
  if (bill.estimated_tokens > 0) {
    text += paint(Ink::kSoft,
                  fmt::format("{} tokens came together with others: their text was divided evenly",
                              bill.estimated_tokens)) +
            "\n";
  }
  return text;
}

std::string variants_text(const lab::StudyPlan& plan, const lab::Study& study, const Paint& paint) {
  std::string text = costs_text(study, paint);
  for (const std::string& note : plan.notes) text += paint(Ink::kSoft, note) + "\n";
  if (!plan.order.empty() && study.find(VariantKind::kReordered) != nullptr) {
    std::string order;
    for (const std::string& name : plan.order) order += (order.empty() ? "" : ", ") + name;
    text += paint(Ink::kSoft, "reordered: " + order) + "\n";
  }
  return text + changes_text(study, paint);
}

std::string lint_text(const lab::Lint& lint, const Paint& paint) {
  std::string text = head(paint, "Lint",
                          lint.findings.empty() ? "nothing to say of this schema"
                                                : fmt::format("{} findings", lint.findings.size()));
  for (const lab::LintFinding& finding : lint.findings) {
    const std::string path = finding.path.empty() ? "the root" : lab::shown_path(finding.path);
    text +=
        fmt::format("{} {}  {}\n", paint(Ink::kWarn, "!"), paint(Ink::kBold, path), finding.rule);
    for (const std::string& line : wrapped(finding.text, paint.columns - 4)) {
      text += "    " + line + "\n";
    }
    for (const std::string& line : wrapped("write: " + finding.proposal, paint.columns - 4)) {
      text += "    " + paint(Ink::kTail, line) + "\n";
    }
  }
  return text;
}

std::string study_verdicts_text(const lab::Study& study, const Paint& paint) {
  std::string text = "\n";
  for (const lab::CancelVerdict& verdict : study.verdicts) {
    const bool holds = verdict.outcome == lab::Outcome::kHolds;
    const bool fails = verdict.outcome == lab::Outcome::kFails;
    const Ink ink = holds ? Ink::kGood : fails ? Ink::kBad : Ink::kWarn;
    bool is_first = true;
    for (const std::string& line : wrapped(verdict.reason, paint.columns - 12)) {
      text += is_first ? fmt::format("{} {:9} ",
                                     paint(ink, holds   ? "✓"
                                                : fails ? "✗"
                                                        : "?"),
                                     verdict.name)
                       : std::string(12, ' ');
      text += line + "\n";
      is_first = false;
    }
  }
  return text;
}

}  // namespace pawl::cli
