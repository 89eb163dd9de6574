// SPDX-License-Identifier: Apache-2.0
#include "schema/format_language.h"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace pawl::schema {
namespace {

// RFC 3339 §5.6. February ends on the 28th: leap years are no matter of letters.
const std::string kDate =
    "[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|"
    "30)"
    "|02-(?:0[1-9]|1[0-9]|2[0-8]))";
const std::string kTime =
    "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?"
    "(?:[zZ]|[+\\-](?:[01][0-9]|2[0-3]):[0-5][0-9])";

// RFC 3339 appendix A.
std::string duration() {
  const std::string count = "[0-9]{1,9}";
  const std::string time = fmt::format("T(?:{0}H(?:{0}M(?:{0}S)?)?|{0}M(?:{0}S)?|{0}S)", count);
  const std::string date =
      fmt::format("(?:{0}Y(?:{0}M(?:{0}D)?)?|{0}M(?:{0}D)?|{0}D)(?:{1})?", count, time);
  return fmt::format("P(?:{}|{}|{}W)", date, time, count);
}

const std::string kByte = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";

std::string ipv4() {
  return fmt::format("(?:{0}\\.){{3}}{0}", kByte);
}

// RFC 4291 §2.2: eight groups, of which a run may be left out once; the last two may be an IPv4
// address.
std::string ipv6() {
  const std::string group = "[0-9a-fA-F]{1,4}";
  const std::string low = fmt::format("(?:{0}:{0}|{1})", group, ipv4());
  std::vector<std::string> ways = {fmt::format("(?:{0}:){{6}}{1}", group, low)};
  const auto groups = [&](int count) {  // "a:b:c", count of them
    if (count == 0) return std::string();
    return fmt::format("{0}(?::{0}){{{1}}}", group, count - 1);
  };
  for (int before = 0; before <= 7; ++before) {
    for (int after = 0; before + after <= 7; ++after) {
      ways.push_back(groups(before) + "::" + groups(after));
      if (after >= 2) {
        const std::string head = after == 2 ? "" : groups(after - 2) + ":";
        ways.push_back(groups(before) + "::" + head + ipv4());
      }
    }
  }
  return fmt::format("(?:{})", fmt::join(ways, "|"));
}

// RFC 1123 §2.1; a label has at most 63 characters, a name 253.
Language hostname() {
  const std::string label = "[0-9A-Za-z](?:[0-9A-Za-z\\-]{0,61}[0-9A-Za-z])?";
  return Language::all_of(
      {Language::regex(fmt::format("{0}(?:\\.{0})*", label)), Language::regex("(?s:.{1,253})")});
}

// RFC 5321 §4.1.2, without quoted local parts.
Language email() {
  const std::string atom = "[0-9A-Za-z!#$%&'*+\\-/=?\\^_`{|}~]+";
  const std::string label = "[0-9A-Za-z](?:[0-9A-Za-z\\-]{0,61}[0-9A-Za-z])?";
  const std::string local = fmt::format("{0}(?:\\.{0})*", atom);
  return Language::all_of({Language::regex(fmt::format("{0}@{1}(?:\\.{1})*", local, label)),
                           Language::regex("[^@]{1,64}@[^@]{1,253}")});
}

// RFC 3986 appendix A. `is_wide`: RFC 3987, other letters too.
struct Uri {
  explicit Uri(bool is_wide) {
    const std::string wide = is_wide ? "\\x{A0}-\\x{D7FF}\\x{F900}-\\x{FDCF}\\x{FDF0}-\\x{FFEF}"
                                       "\\x{10000}-\\x{1FFFD}\\x{20000}-\\x{2FFFD}"
                                     : "";
    const std::string letters = "0-9A-Za-z\\-._~!$&'()*+,;=" + wide;
    const std::string escape = "%[0-9A-Fa-f]{2}";
    const auto of = [&](const std::string& more) {
      return fmt::format("(?:[{}{}]|{})", letters, more, escape);
    };
    const std::string pchar = of(":@");
    const std::string segments = fmt::format("(?:/{}*)*", pchar);
    const std::string host =
        fmt::format("(?:\\[(?:{}|v[0-9A-Fa-f]+\\.[{}:]+)\\]|{}*)", ipv6(), letters, of(""));
    const std::string authority = fmt::format("(?:{}*@)?{}(?::[0-9]*)?", of(":"), host);
    const std::string tail = fmt::format("(?:\\?{0}*)?(?:#{0}*)?", of(":@/?"));
    const std::string rooted = fmt::format("/(?:{0}+{1})?", pchar, segments);
    whole = fmt::format("[A-Za-z][0-9A-Za-z+\\-.]*:(?://{0}{1}|{2}|{3}+{1}|){4}", authority,
                        segments, rooted, pchar, tail);
    relative =
        fmt::format("(?://{0}{1}|{2}|{3}+{1}|){4}", authority, segments, rooted, of("@"), tail);
  }
  std::string whole, relative;
};

// RFC 6570 §2: text, and expressions in braces.
std::string uri_template() {
  const std::string name =
      "(?:[0-9A-Za-z_]|%[0-9A-Fa-f]{2})(?:\\.?(?:[0-9A-Za-z_]|%[0-9A-Fa-f]{2}))*";
  const std::string variable = fmt::format("{}(?::[1-9][0-9]{{0,3}}|\\*)?", name);
  return fmt::format(
      "(?:[^\\x00-\\x20\"'%<>\\\\\\^`{{|}}]|%[0-9A-Fa-f]{{2}}|\\{{[+#./"
      ";?&=,!@|]?{0}(?:,{0})*\\}})*",
      variable);
}

// ECMA-262 expressions, with groups three deep: deeper ones are not regular together.
std::string expression() {
  const std::string escape =
      "\\\\(?:[dDwWsSbBtnrfv0^$\\\\.*+?()\\[\\]{}|/\\-]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4})";
  const std::string range = "(?:[a-z]\\-z|[A-Z]\\-Z|[0-9]\\-9|a\\-[a-z]|A\\-[A-Z]|0\\-[0-9])";
  const std::string members =
      fmt::format("\\[\\^?(?:{}|{}|[^\\\\\\]\\-\\x00-\\x1F])+\\-?\\]", escape, range);
  const std::string character = "[^\\\\^$.*+?()\\[\\]{}|\\x00-\\x1F]";
  // The second number is not below the first.
  const std::string count =
      "(?:[*+?]\\??|\\{(?:[0-9]{1,3}|[0-9]{1,3},|0,[0-9]|1,[1-9]|2,[2-9]|3,[3-9]|4,[4-9]|5,[5-9]|6,"
      "[6-9]"
      "|7,[7-9]|8,[89]|[0-9],[1-9][0-9]{1,2})\\}\\?"
      "?)?";
  std::string level =
      fmt::format("(?:(?:{}|\\.|{}|{}){}|[\\^$])*", character, escape, members, count);
  for (int depth = 0; depth < 3; ++depth) {
    const std::string inner = fmt::format("{0}(?:\\|{0})*", level);
    level = fmt::format("(?:(?:{}|\\.|{}|{}|\\((?:\\?[:=!])?{}\\)){}|[\\^$])*", character, escape,
                        members, inner, count);
  }
  return fmt::format("{0}(?:\\|{0})*", level);
}

Language made(std::string_view name) {
  const auto regex = [](std::string text) { return Language::regex(std::move(text)); };
  const std::string hex = "[0-9A-Fa-f]";
  if (name == "date") return regex(kDate);
  if (name == "time") return regex(kTime);
  if (name == "date-time") return regex(kDate + "[tT]" + kTime);
  if (name == "duration") return regex(duration());
  if (name == "ipv4") return regex(ipv4());
  if (name == "ipv6") return regex(ipv6());
  if (name == "uuid") return regex(fmt::format("{0}{{8}}(?:-{0}{{4}}){{3}}-{0}{{12}}", hex));
  if (name == "hostname") return hostname();
  if (name == "email") return email();
  if (name == "json-pointer") return regex("(?:/(?:[^/~]|~[01])*)*");
  if (name == "relative-json-pointer") {
    return regex("(?:0|[1-9][0-9]{0,9})(?:#|(?:/(?:[^/~]|~[01])*)*)");
  }
  if (name == "regex") return regex(expression());
  if (name == "uri-template") return regex(uri_template());
  const Uri uri(name == "iri" || name == "iri-reference");
  if (name == "uri" || name == "iri") return regex(uri.whole);
  return regex(fmt::format("(?:{}|{})", uri.whole, uri.relative));
}

}  // namespace

std::optional<Language> format_language(std::string_view name) {
  constexpr std::string_view kKnown[] = {
      "date",          "time",         "date-time",     "duration",
      "ipv4",          "ipv6",         "uuid",          "hostname",
      "email",         "json-pointer", "uri",           "uri-template",
      "uri-reference", "iri",          "iri-reference", "relative-json-pointer",
      "regex"};
  for (const std::string_view known : kKnown) {
    if (known == name) return made(name);
  }
  return std::nullopt;
}

}  // namespace pawl::schema
