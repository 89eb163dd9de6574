// SPDX-License-Identifier: Apache-2.0
// Passes over a row of logits. Every sum has one order, and exp and log are written out in plain
// arithmetic: a C library's differ in the last bit between machines, and a seeded draw must not.
// Not-a-number counts as "not there": it is never the largest and its weight is 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pawl::policy {

// e^x and ln x to about 1 ulp, the same bits on every machine. e^x is 0 below -708 and inf above
// 709.
double exact_exp(double x);
double exact_log(double x);  // REQUIRES: x > 0, finite

// x^y. REQUIRES: x >= 0. 0^y is 0.
double exact_pow(double x, double y);

struct Largest {
  float value;   // -inf when nothing is above -inf
  size_t index;  // the first of equals; size() when nothing is above -inf
};
Largest find_largest(std::span<const float> x);

// A row is looked at in blocks of so many items.
inline constexpr size_t kBlock = 64;

// The largest of each block, [ceil(n / kBlock)]; -inf where nothing is above it. Their largest is
// find_largest's.
void largest_of_blocks(std::span<const float> x, std::vector<float>& largest);
// The same into memory for as many; gives their number.
size_t largest_of_blocks(std::span<const float> x, float* largest);

// sum of e^(x - largest) in one pass; the weight of a difference below -87 is 0. Relative error
// below 1e-6.
double sum_of_weights(std::span<const float> x, float largest);

// Writes the weights e^(x - largest) of at most kBlock items, as sum_of_weights adds them up.
void weights_of_block(std::span<const float> x, float largest, float* weights);

// ln of the sum of e^x, in double, to 1e-9. -inf when nothing is above -inf.
double log_sum_exp(std::span<const float> x);

// Appends the index of every x >= threshold, in order. REQUIRES: threshold > -inf
void append_at_least(std::span<const float> x, float threshold, std::vector<int32_t>& indices);

// The k largest, as ascending indices; of equals at the border the first ones. Leaves out -inf. One
// pass and a partial selection among about 2k candidates; nothing is sorted but those. REQUIRES: k
// >= 1
void select_largest(std::span<const float> x, size_t k, std::vector<int32_t>& indices);

}  // namespace pawl::policy
