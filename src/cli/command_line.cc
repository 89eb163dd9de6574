// SPDX-License-Identifier: Apache-2.0
// A thin layer over CLI11: it finds flags and values, the reading of values, messages and help are
// ours.
#include "cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>

#include "cli/version.h"

namespace pawl::cli {

struct CommandLine::Row {
  std::string group;
  std::string names;
  std::string description;
};

struct CommandLine::State {
  CLI::App app;
  std::string group = "Options";
  std::vector<Row> rows;
};

namespace {

template <typename T>
std::optional<T> parse_exactly(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  if (failure != std::errc() || stop != end) return std::nullopt;
  return value;
}

// "-n,--max-tokens" → "-n, --max-tokens"; a flag without a short name is indented to stand under
// the others.
std::string shown_names(std::string_view names) {
  std::string shown;
  for (const char c : names) {
    shown += c;
    if (c == ',') shown += ' ';
  }
  return names.starts_with("--") ? "    " + shown : shown;
}

std::string range_text(int64_t minimum, int64_t maximum) {
  if (maximum == std::numeric_limits<int64_t>::max() ||
      maximum == std::numeric_limits<int32_t>::max()) {
    return fmt::format("an integer of {} or more", minimum);
  }
  return fmt::format("an integer from {} to {}", minimum, maximum);
}

std::string range_text(double minimum, double maximum) {
  if (std::isinf(maximum)) return fmt::format("a number of {} or more", minimum);
  return fmt::format("a number from {} to {}", minimum, maximum);
}

// CLI11 wants a validator to give "" or what is wrong; the flag's name is put before it.
template <typename T, typename Parse>
CLI::Validator range_check(T minimum, T maximum, Parse parse) {
  return CLI::Validator(
      [=](const std::string& text) -> std::string {
        const std::optional<T> value = parse(text);
        if (value && *value >= minimum && *value <= maximum) return "";
        return fmt::format("'{}' is not {}", text.substr(0, 60), range_text(minimum, maximum));
      },
      "");
}

// How different two words are: the edits between them, each letter inserted, removed or replaced.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

std::string nearest_flag(const CLI::App& app, std::string_view wanted) {
  std::string best;
  size_t best_distance = std::min<size_t>(4, wanted.size() / 2);
  for (const auto* option : app.get_options()) {
    for (const auto& name : option->get_lnames()) {
      const size_t distance = edit_distance("--" + name, wanted);
      if (distance < best_distance) {
        best_distance = distance;
        best = "--" + name;
      }
    }
  }
  return best;
}

}  // namespace

std::optional<int64_t> parse_integer(std::string_view text) {
  return parse_exactly<int64_t>(text);
}

std::optional<double> parse_number(std::string_view text) {
  const auto value = parse_exactly<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

CommandLine::CommandLine(const CommandHelp& help) : help_(help), state_(std::make_unique<State>()) {
  state_->app.set_help_flag("-h,--help");
  state_->app.allow_extras();
}

CommandLine::~CommandLine() = default;

void CommandLine::group(std::string_view title) {
  state_->group = title;
}

void CommandLine::add_row(const FlagText& text, std::string shown_default) {
  Row row{state_->group, shown_names(text.names), std::string(text.description)};
  if (!text.label.empty()) row.names += " " + std::string(text.label);
  if (!text.shown_default.empty()) shown_default = text.shown_default;
  if (!shown_default.empty()) row.description += " (default " + shown_default + ")";
  state_->rows.push_back(std::move(row));
}

void CommandLine::flag(const FlagText& text, bool& value) {
  add_row(text, "");
  state_->app.add_flag(std::string(text.names), value);
}

void CommandLine::text(const FlagText& text, std::string& value) {
  add_row(text, value);
  state_->app.add_option(std::string(text.names), value);
}

void CommandLine::text(const FlagText& text, std::optional<std::string>& value) {
  add_row(text, "");
  state_->app.add_option_function<std::string>(
      std::string(text.names), [&value](const std::string& given) { value = given; });
}

void CommandLine::texts(const FlagText& text, std::vector<std::string>& values) {
  add_row(text, "");
  state_->app.add_option(std::string(text.names), values)
      ->expected(1, 1 << 20)
      ->allow_extra_args(false);
}

void CommandLine::integer(const FlagText& text, int64_t& value, int64_t minimum, int64_t maximum) {
  add_row(text, fmt::format("{}", value));
  state_->app
      .add_option_function<std::string>(
          std::string(text.names),
          [&value](const std::string& given) { value = *parse_integer(given); })
      ->check(range_check(minimum, maximum, parse_integer));
}

void CommandLine::integer(const FlagText& text, std::optional<int64_t>& value, int64_t minimum,
                          int64_t maximum) {
  add_row(text, "");
  state_->app
      .add_option_function<std::string>(
          std::string(text.names),
          [&value](const std::string& given) { value = parse_integer(given); })
      ->check(range_check(minimum, maximum, parse_integer));
}

void CommandLine::unsigned_integer(const FlagText& text, std::optional<uint64_t>& value) {
  add_row(text, "");
  state_->app
      .add_option_function<std::string>(
          std::string(text.names),
          [&value](const std::string& given) { value = parse_exactly<uint64_t>(given); })
      ->check(CLI::Validator(
          [](const std::string& given) -> std::string {
            if (parse_exactly<uint64_t>(given)) return "";
            return fmt::format("'{}' is not an integer from 0 to 2^64 - 1", given.substr(0, 60));
          },
          ""));
}

void CommandLine::number(const FlagText& text, double& value, double minimum, double maximum) {
  add_row(text, fmt::format("{}", value));
  state_->app
      .add_option_function<std::string>(
          std::string(text.names),
          [&value](const std::string& given) { value = *parse_number(given); })
      ->check(range_check(minimum, maximum, parse_number));
}

void CommandLine::word(const FlagText& text, std::optional<std::string>& value) {
  add_row({text.names, "", text.description, text.shown_default}, "");
  state_->app.add_option_function<std::string>(
      std::string(text.names), [&value](const std::string& given) { value = given; });
}

void CommandLine::words(const FlagText& text, std::vector<std::string>& values) {
  add_row({text.names, "", text.description, text.shown_default}, "");
  state_->app.add_option(std::string(text.names), values);
}

base::Result<bool> CommandLine::parse(const std::vector<std::string>& arguments) {
  bool is_version_asked = false;
  group("Common");
  add_row({"-h,--help", "", "shows this text"}, "");
  flag({"--version", "", "shows the version"}, is_version_asked);
  try {
    // CLI11 takes them last first.
    state_->app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    std::fputs(help_text().c_str(), stdout);
    return false;
  } catch (const CLI::ArgumentMismatch& mismatch) {
    const std::string what = mismatch.what();
    const std::string name = what.substr(0, what.find(':'));
    if (what.ends_with("missing")) return wrong(name + " needs a value");
    return wrong(name.find(' ') == std::string::npos ? name + " is given twice" : what);
  } catch (const CLI::ParseError& failure) {
    return wrong(failure.what());
  }
  if (is_version_asked) {
    std::printf("pawl %s\n", kVersion);
    return false;
  }
  auto extras = state_->app.remaining();
  std::erase(extras, "--");  // only says that no flags follow
  if (extras.empty()) return true;
  const std::string& first = extras.front();
  if (!first.starts_with("-") || first == "-") {
    return wrong(fmt::format("unexpected word '{}'; a text with spaces needs quotes", first));
  }
  const std::string flag_name = first.substr(0, first.find('='));
  const std::string nearest = nearest_flag(state_->app, flag_name);
  return wrong(fmt::format("there is no flag '{}'{}", flag_name,
                           nearest.empty() ? "" : "; did you mean " + nearest + "?"));
}

bool CommandLine::was_given(const std::string& name) const {
  return state_->app.get_option(name)->count() > 0;
}

base::Error CommandLine::wrong(std::string message) const {
  return {base::ErrorCode::kInvalidArgument, std::move(message),
          fmt::format("see: pawl {} --help", help_.name)};
}

std::string CommandLine::help_text() const {
  constexpr size_t kWidest = 30;
  size_t width = 0;
  for (const auto& row : state_->rows) {
    if (row.names.size() <= kWidest) width = std::max(width, row.names.size());
  }
  std::string text = fmt::format("{}\n\n  {}\n\nusage: pawl {} {}\n", help_.summary, help_.example,
                                 help_.name, help_.usage);
  std::string_view title;
  for (const auto& row : state_->rows) {
    if (row.group != title) text += fmt::format("\n{}\n", title = row.group);
    if (row.names.size() > width) {
      text += fmt::format("  {}\n  {:{}}  {}\n", row.names, "", width, row.description);
    } else {
      text += fmt::format("  {:{}}  {}\n", row.names, width, row.description);
    }
  }
  return text;
}

}  // namespace pawl::cli
