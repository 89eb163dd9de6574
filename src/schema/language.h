// SPDX-License-Identifier: Apache-2.0
// Regular languages of texts, as values that can be combined without limit: whoever has an automata
// library makes automata of them. The form is that of bridge/bridge.h, and every part of it is
// exact: what cannot be said exactly is not made here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace pawl::schema {

class Language {
 public:
  static Language literal(std::string_view text);
  static Language any_of_literals(const std::vector<std::string>& texts);
  // `expression`: of the whole text, without anchors, in the syntax of the automata library: ours
  // is made by pattern.h.
  static Language regex(std::string expression);
  static Language everything();
  static Language nothing();
  static Language all_of(std::vector<Language> parts);  // of none: everything
  static Language any_of(std::vector<Language> parts);  // of none: nothing
  static Language concat(std::vector<Language> parts);
  static Language complement(Language part);  // among texts without U+0001
  // Texts of `least` to `most` characters (code points); most absent: no limit.
  static Language length(int64_t least, std::optional<int64_t> most);
  // Unsigned decimals that are a multiple of coefficient · 10^-exponent.
  static Language multiple(uint32_t coefficient, uint32_t exponent);
  // The texts as JSON strings, with quotes and escapes.
  Language quoted() const;

  const base::Json& form() const { return form_; }

 private:
  explicit Language(base::Json form) : form_(std::move(form)) {}
  static Language of(std::string_view kind, base::Json what);

  base::Json form_;
};

// `text` so that an expression means these characters.
std::string escaped(std::string_view text);

}  // namespace pawl::schema
