// SPDX-License-Identifier: Apache-2.0
#include "probe/machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace pawl::probe {
namespace {

TEST(Machine, EveryVariantCountsTheOperationsOfItsPeak) {
  const std::string names(kernels::variant_names());
  for (size_t begin = 0; begin < names.size();) {
    const size_t end = std::min(names.find(',', begin), names.size());
    const std::string name = names.substr(begin, end - begin);
    const auto table = kernels::choose_table(name);
    ASSERT_TRUE(table.ok()) << name;
    const int64_t one = (*table)->dot_peak(1);
    EXPECT_GE(one, 2) << name;
    EXPECT_EQ((*table)->dot_peak(1000), 1000 * one) << name;
    begin = end + 1;
  }
}

TEST(Machine, LimitsArePlausible) {
  base::TaskPool pool(2);
  const base::SteadyClock clock;
  const auto table = kernels::choose_table("");
  ASSERT_TRUE(table.ok());
  auto meter = LimitMeter::create(pool, **table, clock);
  ASSERT_TRUE(meter.ok()) << meter.error().message;
  const MachineLimits limits = meter->measure();
  // No machine reads less than 10 MB/s, and none 100 TB/s.
  EXPECT_GT(limits.read_bytes_per_s, 1e7);
  EXPECT_LT(limits.read_bytes_per_s, 1e14);
  EXPECT_GT(limits.int8_operations_per_s, 1e7);
  EXPECT_LT(limits.int8_operations_per_s, 1e15);
}

}  // namespace
}  // namespace pawl::probe
