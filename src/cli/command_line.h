// SPDX-License-Identifier: Apache-2.0
// One command's flags: declared once, parsed, and printed as its help. Numbers are read strictly
// and name their flag and range when they are wrong; help rows carry unit and default.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pawl::cli {

// What a command says about itself.
struct CommandHelp {
  std::string_view name;     // "run", "model get"
  std::string_view summary;  // one sentence
  std::string_view example;  // works as printed
  std::string_view usage;    // the words after the name: "TEXT [options]"
};

// A flag's spelling, and its row of the help.
struct FlagText {
  std::string_view names;               // "-n,--max-tokens", or "TEXT" for a word without a flag
  std::string_view label;               // stands for the value in the help: "N"
  std::string_view description;         // with the unit, without the default
  std::string_view shown_default = "";  // when it is not the variable's own value
};

// The variables named in the declarations outlive the parse; they hold the defaults until then.
class CommandLine {
 public:
  explicit CommandLine(const CommandHelp& help);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // The title under which the declarations that follow stand in the help.
  void group(std::string_view title);

  void flag(const FlagText& text, bool& value);
  void text(const FlagText& text, std::string& value);
  void text(const FlagText& text, std::optional<std::string>& value);
  // May be given several times, one value each.
  void texts(const FlagText& text, std::vector<std::string>& values);
  // [minimum, maximum], both allowed.
  void integer(const FlagText& text, int64_t& value, int64_t minimum, int64_t maximum);
  void integer(const FlagText& text, std::optional<int64_t>& value, int64_t minimum,
               int64_t maximum);
  void unsigned_integer(const FlagText& text, std::optional<uint64_t>& value);
  void number(const FlagText& text, double& value, double minimum, double maximum);

  // A word, or all remaining words, without a flag.
  void word(const FlagText& text, std::optional<std::string>& value);
  void words(const FlagText& text, std::vector<std::string>& values);

  // Reads the arguments after the command's name. True: go on. False: help or version was asked for
  // and has been printed. Error kInvalidArgument, naming the flag.
  base::Result<bool> parse(const std::vector<std::string>& arguments);

  // Whether the flag or word of that name ("--seed", "TEXT") was given. REQUIRES: declared, parse()
  // was called
  bool was_given(const std::string& name) const;

  // An error about what was given, which points to this command's help.
  base::Error wrong(std::string message) const;

  std::string help_text() const;

 private:
  struct Row;
  struct State;
  void add_row(const FlagText& text, std::string shown_default);

  CommandHelp help_;
  std::unique_ptr<State> state_;
};

// A strict decimal number, whole text; nothing when it is none or does not fit.
std::optional<int64_t> parse_integer(std::string_view text);
std::optional<double> parse_number(std::string_view text);

}  // namespace pawl::cli
