// SPDX-License-Identifier: Apache-2.0
// Numbers as texts. Every set of numbers is given as the set of its plain spellings: no exponent,
// no leading zero, no minus before zero; so the complement of a set is the complement of its
// spellings. Digits are counted: a number of a grammar ends.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "schema/language.h"

namespace pawl::schema {

// A decimal of any size: digits before and behind the point, without zeros at the ends.
struct Decimal {
  bool is_negative = false;
  std::string whole = "0";
  std::string fraction;

  bool is_zero() const { return whole == "0" && fraction.empty(); }
  bool is_integer() const { return fraction.empty(); }
  std::string text() const;
};

// Of a finite number, by the fewest digits that read back the same. Error: more than 400 digits.
base::Result<Decimal> decimal_of(double value);
Decimal decimal_of(int64_t value);
Decimal decimal_of(uint64_t value);
int compare(const Decimal& a, const Decimal& b);

// All numbers below 1e308, those with an exponent included: no reader makes infinity of one.
Language any_number();
// All numbers without exponent.
Language plain_numbers();
// Integers in their usual form: no point.
Language integers();
// Plain spellings of numbers that are no integers: a digit behind the point is not zero.
Language fractions();
Language at_least(const Decimal& bound, bool is_exclusive);
Language at_most(const Decimal& bound, bool is_exclusive);
// Every plain spelling of the number; in a grammar its shortest one alone is `literal`.
Language equal_to(const Decimal& value);
// The multiples of `step` > 0 among the plain spellings. Error kUnsupported: a step of more than
// five digits, zeros at its end left out, or of more than eight behind the point.
base::Result<Language> multiples_of(const Decimal& step);

}  // namespace pawl::schema
