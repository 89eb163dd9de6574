// SPDX-License-Identifier: Apache-2.0
#include "lab/report.h"

#include <gtest/gtest.h>

#include "lab/simulated_sweep.h"
#include "lab/sweep.h"

namespace pawl::lab {
namespace {

TEST(Report, IsOnePageThatFetchesNothing) {
  const auto records = testing::simulated_sweep({}, 1, 2);
  const ReportInput input{"sweep.json", sweep_json(conclude_sweep(records, {}, 1)), records};
  const std::string page = report_page({&input, 1});
  EXPECT_NE(page.find("Chart.js v3"), std::string::npos);
  EXPECT_NE(page.find("\"kind\":"), std::string::npos);
  EXPECT_EQ(page.find("/*data*/"), std::string::npos);
  for (const char* fetched : {"<script src", "<link", "@import", "<img", "fetch(", "<iframe"}) {
    EXPECT_EQ(page.find(fetched), std::string::npos) << fetched;
  }
}

TEST(Report, TextsOfResultsCannotBecomeMarkup) {
  base::Json document;
  document["kind"] = "other";
  document["text"] = "</script><script>alert(1)</script><!--";
  const ReportInput input{"a<b.json", document, {}};
  const std::string page = report_page({&input, 1});
  EXPECT_EQ(page.find("alert(1)</script>"), std::string::npos);
  EXPECT_NE(page.find("\\u003c/script>\\u003cscript>alert(1)"), std::string::npos);
}

}  // namespace
}  // namespace pawl::lab
