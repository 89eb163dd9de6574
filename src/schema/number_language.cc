// SPDX-License-Identifier: Apache-2.0
#include "schema/number_language.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <vector>

namespace pawl::schema {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

// More digits than any number of JSON has a use for, and few enough that a model that likes a digit
// comes to an end.
constexpr int kDigits = 40;

std::string digits(size_t count) {
  return count == 0 ? "" : fmt::format("[0-9]{{{}}}", count);
}

std::string some_digits() {
  return fmt::format("[0-9]{{0,{}}}", kDigits);
}

std::string fraction_or_none() {
  return fmt::format("(?:\\.[0-9]{{1,{}}})?", kDigits);
}

std::string above(char digit) {
  return digit == '9' ? "" : fmt::format("[{}-9]", static_cast<char>(digit + 1));
}

// Fractions, the point included, that are larger than `bound`, or as large.
std::string fraction_beyond(const std::string& bound, bool is_exclusive) {
  if (bound.empty() && !is_exclusive) return fraction_or_none();
  std::vector<std::string> ways;
  for (size_t i = 0; i < bound.size(); ++i) {
    const std::string larger = above(bound[i]);
    if (!larger.empty()) ways.push_back(bound.substr(0, i) + larger + some_digits());
  }
  ways.push_back(bound + (is_exclusive ? "0*[1-9]" + some_digits() : some_digits()));
  return fmt::format("\\.(?:{})", fmt::join(ways, "|"));
}

// Plain numbers from 0 on that are larger than the bound, or as large. The sign of the bound is not
// looked at.
Language beyond(const Decimal& bound, bool is_exclusive) {
  std::vector<std::string> ways;
  const std::string& whole = bound.whole;
  if (whole == "0") {
    ways.push_back(fmt::format("[1-9][0-9]{{0,{}}}{}", kDigits, fraction_or_none()));
  } else {
    ways.push_back(fmt::format("[1-9][0-9]{{{},{}}}{}", whole.size(),
                               std::max<size_t>(kDigits, whole.size()), fraction_or_none()));
    for (size_t i = 0; i < whole.size(); ++i) {
      const std::string larger = above(whole[i]);
      if (larger.empty()) continue;
      ways.push_back(whole.substr(0, i) + larger + digits(whole.size() - i - 1) +
                     fraction_or_none());
    }
  }
  ways.push_back(whole + fraction_beyond(bound.fraction, is_exclusive));
  return Language::regex(fmt::format("(?:{})", fmt::join(ways, "|")));
}

Language from_zero() {
  return Language::regex(fmt::format("(?:0|[1-9][0-9]{{0,{}}}){}", kDigits, fraction_or_none()));
}

Language negative(Language magnitude) {
  const Language zero = Language::regex("0(?:\\.0*)?");
  return Language::concat({Language::literal("-"),
                           Language::all_of({std::move(magnitude), Language::complement(zero)})});
}

// Magnitudes up to the bound.
Language within(const Decimal& bound, bool is_exclusive) {
  return Language::all_of({from_zero(), Language::complement(beyond(bound, !is_exclusive))});
}

}  // namespace

std::string Decimal::text() const {
  return (is_negative ? "-" : "") + whole + (fraction.empty() ? "" : "." + fraction);
}

Result<Decimal> decimal_of(double value) {
  // %e with enough digits is read back; fmt gives the fewest.
  const std::string text = fmt::format("{}", std::fabs(value));
  const size_t e = text.find('e');
  const int exponent = e == std::string::npos ? 0 : std::stoi(text.substr(e + 1));
  std::string mantissa = text.substr(0, e);
  const size_t point = mantissa.find('.');
  std::string whole = mantissa.substr(0, point);
  std::string fraction = point == std::string::npos ? "" : mantissa.substr(point + 1);
  if (!std::isfinite(value) || std::abs(exponent) > 400) {
    return Error{ErrorCode::kUnsupported, fmt::format("the number {} is too large", value), ""};
  }
  for (int i = 0; i < exponent; ++i) {
    whole += fraction.empty() ? '0' : fraction.front();
    if (!fraction.empty()) fraction.erase(0, 1);
  }
  for (int i = 0; i > exponent; --i) {
    fraction.insert(fraction.begin(), whole.empty() ? '0' : whole.back());
    if (!whole.empty()) whole.pop_back();
  }
  while (whole.size() > 1 && whole.front() == '0') whole.erase(0, 1);
  while (!fraction.empty() && fraction.back() == '0') fraction.pop_back();
  Decimal made{.whole = whole.empty() ? "0" : whole, .fraction = fraction};
  made.is_negative = std::signbit(value) && !made.is_zero();
  return made;
}

Decimal decimal_of(int64_t value) {
  const std::string text = std::to_string(value);
  return {.is_negative = value < 0, .whole = value < 0 ? text.substr(1) : text, .fraction = ""};
}

Decimal decimal_of(uint64_t value) {
  return {.is_negative = false, .whole = std::to_string(value), .fraction = ""};
}

int compare(const Decimal& a, const Decimal& b) {
  if (a.is_negative != b.is_negative) return a.is_negative ? -1 : 1;
  int order = 0;
  if (a.whole.size() != b.whole.size()) {
    order = a.whole.size() < b.whole.size() ? -1 : 1;
  } else if (a.whole != b.whole) {
    order = a.whole < b.whole ? -1 : 1;
  } else if (a.fraction != b.fraction) {
    order = a.fraction < b.fraction ? -1 : 1;
  }
  return a.is_negative ? -order : order;
}

Language any_number() {
  const Language exponent =
      Language::regex("(?:[eE](?:-[0-9]{1,3}|\\+?(?:[0-9]{1,2}|1[0-9]{2}|2[0-5][0-9])))?");
  // With one digit before the point the exponent may be larger: no number is past what a double
  // holds.
  const Language large =
      Language::regex("-?[1-9](?:\\.[0-9]{1,40})?[eE]\\+?(?:2[6-9][0-9]|30[0-7])");
  return Language::any_of({Language::concat({plain_numbers(), exponent}), large});
}

Language plain_numbers() {
  return Language::any_of({from_zero(), negative(from_zero())});
}

Language integers() {
  return Language::regex(fmt::format("0|-?[1-9][0-9]{{0,{}}}", kDigits));
}

Language fractions() {
  return Language::all_of({plain_numbers(), Language::regex("-?[0-9]+\\.[0-9]*[1-9][0-9]*")});
}

Language at_least(const Decimal& bound, bool is_exclusive) {
  if (!bound.is_negative) return beyond(bound, is_exclusive);
  return Language::any_of({from_zero(), negative(within(bound, is_exclusive))});
}

Language at_most(const Decimal& bound, bool is_exclusive) {
  return Language::all_of({plain_numbers(), Language::complement(at_least(bound, !is_exclusive))});
}

Language equal_to(const Decimal& value) {
  const std::string tail = value.fraction.empty() ? "(?:\\.0+)?" : "\\." + value.fraction + "0*";
  return Language::all_of(
      {plain_numbers(),
       Language::regex(fmt::format("{}{}{}", value.is_negative ? "-" : "", value.whole, tail))});
}

namespace {

// Unsigned multiples of coefficient · 10^-decimals, whatever zeros stand behind the point. The
// library takes as many digits there as the step has, or none: with fewer the step is another one.
Language unsigned_multiples(uint32_t coefficient, uint32_t decimals) {
  const Language exact = Language::multiple(coefficient, decimals);
  if (decimals == 0) return Language::concat({exact, Language::regex("(?:\\.0+)?")});
  std::vector<Language> ways = {Language::concat({exact, Language::regex("0*")})};
  uint32_t tens = 10;
  for (uint32_t digits = decimals; --digits > 0; tens *= 10) {
    Language shape = Language::regex(fmt::format("[0-9]+\\.[0-9]{{{}}}", digits));
    const uint32_t coarser = coefficient / std::gcd(coefficient, tens);
    if (coarser == 1) {
      ways.push_back(std::move(shape));
    } else {
      ways.push_back(Language::all_of({Language::multiple(coarser, digits), std::move(shape)}));
    }
  }
  return Language::any_of(std::move(ways));
}

}  // namespace

// The library keeps remainders in 32 bits; and who asks whether a number can go on may have to look
// at all of them.
Result<Language> multiples_of(const Decimal& step) {
  constexpr size_t kMostDigits = 5, kMostDecimals = 8;
  std::string number = (step.whole == "0" ? "" : step.whole) + step.fraction;
  number.erase(0, std::min(number.find_first_not_of('0'), number.size()));
  size_t zeros = 0;  // of a step without fraction: whatever is a multiple ends with them
  while (step.fraction.empty() && number.size() > 1 && number.back() == '0') {
    number.pop_back();
    ++zeros;
  }
  if (number.empty() || number.size() > kMostDigits || step.fraction.size() > kMostDecimals) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("a multiple of {}, which has more than {} digits or {} decimals",
                             step.text(), kMostDigits, kMostDecimals),
                 ""};
  }
  const Language multiples = unsigned_multiples(static_cast<uint32_t>(std::stoul(number)),
                                                static_cast<uint32_t>(step.fraction.size()));
  if (zeros == 0) {
    return Language::all_of(
        {plain_numbers(), Language::concat({Language::regex("-?"), multiples})});
  }
  const Language heads = Language::all_of({multiples, Language::regex("[1-9][0-9]*")});
  const Language whole = Language::concat({heads, Language::regex(fmt::format("0{{{}}}", zeros))});
  return Language::all_of(
      {plain_numbers(),
       Language::concat({Language::regex("-?"), Language::any_of({Language::literal("0"), whole}),
                         Language::regex("(?:\\.0+)?")})});
}

}  // namespace pawl::schema
