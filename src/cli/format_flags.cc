// SPDX-License-Identifier: Apache-2.0
#include "cli/format_flags.h"

#include "base/json.h"
#include "base/mapped_file.h"

namespace pawl::cli {

using base::Error;
using base::Json;
using base::Result;
using Kind = grammar::Description::Kind;

namespace {

Result<std::string> file_text(const std::string& path) {
  PAWL_TRY(const base::MappedFile file, base::MappedFile::open(path));
  const auto bytes = file.bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace

void FormatFlags::declare(CommandLine& line) {
  line.group("What the answer looks like; at most one");
  line.word({"--schema", "FILE", "JSON that obeys a JSON Schema"}, schema);
  line.word({"--regex", "PATTERN", "the whole answer matches"}, regex);
  line.texts({"--choice", "TEXT", "one of these; repeatable"}, choices);
  line.word({"--grammar", "FILE", "GBNF, or Lark as llguidance reads it"}, grammar);
  line.text({"--json-whitespace", "KIND", "none or any, between the lexemes of JSON"},
            json_whitespace);
  line.word({"--json-budget", "KIND", "close: the JSON is whole within --max-tokens"}, json_budget);
}

Result<std::shared_ptr<const grammar::Compiled>> FormatFlags::compile(
    const CommandLine& line, const text::Tokenizer& tokenizer, bool thinks) const {
  const int given = (schema ? 1 : 0) + (regex ? 1 : 0) + (grammar ? 1 : 0) + !choices.empty();
  if (json_budget && *json_budget != "close") return line.wrong("--json-budget is close");
  if (json_budget && !schema) return line.wrong("--json-budget asks for --schema");
  if (given == 0) return std::shared_ptr<const grammar::Compiled>();
  if (given > 1) return line.wrong("--schema, --regex, --choice and --grammar exclude each other");
  if (json_whitespace != "none" && json_whitespace != "any") {
    return line.wrong("--json-whitespace is none or any");
  }
  grammar::Description wanted;
  std::string flag = "--schema";
  if (schema) {
    PAWL_TRY(wanted.source, file_text(*schema));
  } else if (regex) {
    flag = "--regex";
    wanted = {Kind::kRegex, *regex};
  } else if (grammar) {
    flag = "--grammar";
    PAWL_TRY(wanted.source, file_text(*grammar));
    wanted.kind = wanted.source.find("::=") != std::string::npos ? Kind::kGbnf : Kind::kLark;
  } else {
    flag = "--choice";
    Json list = Json::array();
    for (const std::string& choice : choices) list.push_back(choice);
    wanted = {Kind::kChoice, list.dump()};
  }
  wanted.thinks = thinks;
  const auto whitespace =
      json_whitespace == "any" ? grammar::Whitespace::kAny : grammar::Whitespace::kNone;
  PAWL_TRY(const auto compiler, grammar::Compiler::create(tokenizer, whitespace));
  auto compiled = compiler->compile(wanted);
  if (!compiled.ok()) {
    return Error{compiled.error().code, flag + ": " + compiled.error().message,
                 compiled.error().where};
  }
  return compiled;
}

Result<std::shared_ptr<policy::Constraint>> FormatFlags::constraint(const grammar::Compiled& format,
                                                                    int64_t most_tokens) const {
  if (!json_budget) return format.constraint();
  auto made = format.closing_constraint(most_tokens);
  if (made.ok()) return made;
  return Error{made.error().code, "--json-budget: " + made.error().message, ""};
}

}  // namespace pawl::cli
