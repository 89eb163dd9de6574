// SPDX-License-Identifier: Apache-2.0
#include "lab/report.h"

#include <algorithm>
#include <string_view>

namespace pawl::lab {

using base::Json;

extern const char kReportPage[];    // report_page.html
extern const char kReportScript[];  // report_page.js
extern const char kChartLibrary[];  // Chart.js, as the distribution packages it

namespace {

// A page must stay readable by a phone.
constexpr size_t kMostGaps = 20'000, kMostRows = 120;

// JSON inside a <script>: no "<" can end it.
std::string script_text(const Json& value) {
  std::string text;
  for (const char c : value.dump()) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

Json gaps_json(const std::vector<RequestRecord>& records) {
  Json gaps = Json::array();
  size_t n = 0;
  for (const RequestRecord& record : records) {
    if (record.asked.is_warm_up || record.state != RequestState::kSuccess) continue;
    for (const double ms : inter_token_gaps(record).ms) {
      if (n++ < kMostGaps) gaps.push_back(ms);
    }
  }
  return gaps;
}

// When each request was sent, had its first text and its last, ms from the first sending.
Json timeline_json(const std::vector<RequestRecord>& records) {
  Json rows = Json::array();
  int64_t start_ns = 0;
  size_t n = 0;
  for (const RequestRecord& record : records) {
    const auto first = ttft_ms(record), last = e2e_ms(record);
    if (!record.sent_ns || !first || !last || n >= kMostRows) continue;
    if (n++ == 0) start_ns = *record.sent_ns;
    Json row;
    row["name"] = record.asked.arm + " " + record.asked.label;
    row["sent_ms"] = static_cast<double>(*record.sent_ns - start_ns) / 1e6;
    row["first_ms"] = *first;
    row["last_ms"] = *last;
    rows.push_back(std::move(row));
  }
  return rows;
}

void replace(std::string& text, std::string_view mark, std::string_view with) {
  const size_t at = text.find(mark);
  if (at != std::string::npos) text.replace(at, mark.size(), with);
}

}  // namespace

std::string report_page(std::span<const ReportInput> inputs) {
  Json data = Json::array();
  for (const ReportInput& input : inputs) {
    Json entry;
    entry["name"] = input.name;
    entry["document"] = input.document;
    entry["gaps"] = gaps_json(input.records);
    entry["timeline"] = timeline_json(input.records);
    data.push_back(std::move(entry));
  }
  std::string page = kReportPage;
  // The data last: what stands in them must not be taken for a mark.
  replace(page, "/*chart*/", kChartLibrary);
  replace(page, "/*script*/", kReportScript);
  replace(page, "/*data*/", script_text(data));
  return page;
}

}  // namespace pawl::lab
