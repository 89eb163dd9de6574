// SPDX-License-Identifier: Apache-2.0
// pawl quantize: a model file in a smaller tensor type.
#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "base/clock.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/model_session.h"
#include "cli/terminal.h"
#include "model/quantize_file.h"

namespace pawl::cli {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;
using model::TensorPlan;

const CommandHelp kQuantizeHelp = {
    "quantize", "Writes a model file of F32, F16 or BF16 matrices anew in a smaller tensor type.",
    "pawl quantize -m model-f16.gguf -o model-q4_k_m.gguf --type q4_k_m",
    "-m MODEL -o FILE [options]"};

namespace {

struct QuantizeFlags {
  std::string out;
  std::string type = "q4_k_m";
  bool is_pure = false;
  bool may_replace = false;
  CommonOptions common;

  void declare(CommandLine& line) {
    line.group("What to write");
    line.text({"-o,--out", "FILE", "the new file; it is there whole or not at all", "none"}, out);
    line.text({"--type", "TYPE",
               "q8_0, q6_k, q5_k_m, q5_k, q4_k_m, q4_k or q4_0, from large to small; with _m the "
               "values and the second feed-forward matrices of half of the layers are Q6_K"},
              type);
    line.flag(
        {"--pure", "", "also the matrix that gives the logits in this type, else Q6_K at least"},
        is_pure);
    line.flag({"--force", "", "replaces FILE where it is there"}, may_replace);
    add_common_options(line, common);
  }
};

std::string_view name_of(gguf::TensorType type) {
  return gguf::tensor_type_info(type).name;
}

Result<const model::QuantizeType*> check(const CommandLine& line, const QuantizeFlags& flags,
                                         const std::string& path) {
  const model::QuantizeType* type = model::find_quantize_type(flags.type);
  if (type == nullptr) {
    std::string names;
    for (const auto& row : model::quantize_types())
      names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
    return line.wrong(fmt::format("--type: '{}' is none of {}", flags.type.substr(0, 40), names));
  }
  if (flags.out.empty()) return line.wrong("say with --out where the new file shall be");
  std::error_code failure;
  if (!std::filesystem::exists(flags.out, failure)) return type;
  if (std::filesystem::equivalent(flags.out, path, failure))
    return Error{ErrorCode::kInvalidArgument, "a file is not quantised onto itself", flags.out};
  if (!flags.may_replace) {
    return Error{ErrorCode::kInvalidArgument, "is there already; --force replaces it", flags.out};
  }
  return type;
}

Json to_json(const QuantizeFlags& flags, const gguf::File& file, int64_t bytes,
             const std::vector<TensorPlan>& plan) {
  Json document;
  document["model"] = flags.common.model;
  document["out"] = flags.out;
  document["type"] = flags.type;
  document["bytes_before"] = file.bytes();
  document["bytes"] = bytes;
  document["tensors"] = Json::array();
  for (const TensorPlan& item : plan) {
    Json row;
    row["name"] = item.tensor->name;
    row["from"] = name_of(item.tensor->type);
    row["to"] = name_of(item.type);
    row["reason"] = item.reason.empty() ? Json() : Json(item.reason);
    document["tensors"].push_back(std::move(row));
  }
  return document;
}

// One line for each type that tensors have now, and why it is not the one asked for.
void print_summary(const QuantizeFlags& flags, const gguf::File& file, int64_t bytes,
                   const std::vector<TensorPlan>& plan) {
  std::map<std::pair<std::string_view, std::string_view>, int> counts;
  for (const TensorPlan& item : plan) ++counts[{name_of(item.type), item.reason}];
  fmt::print("{}: {} of {}\n", flags.out, human_bytes(bytes), human_bytes(file.bytes()));
  for (const auto& [key, count] : counts) {
    fmt::print("  {:>5} {} in {}{}\n", count, count == 1 ? "tensor" : "tensors", key.first,
               key.second.empty() ? "" : fmt::format(" ({})", key.second));
  }
}

}  // namespace

Result<ExitStatus> quantize_command(const Arguments& arguments) {
  CommandLine line(kQuantizeHelp);
  QuantizeFlags flags;
  flags.declare(line);
  PAWL_TRY(const bool goes_on, line.parse(arguments));
  if (!goes_on) return ExitStatus::kDone;
  const InterruptWatch interrupt;
  PAWL_TRY(const std::string path, ModelSession::find(flags.common, interrupt.token()));
  PAWL_TRY(const model::QuantizeType* type, check(line, flags, path));
  PAWL_TRY(const auto file, gguf::open(path));
  auto plan = model::plan_quantization(*file, *type, flags.is_pure);
  if (!plan.ok()) {
    plan.error().where = path;
    return plan.error();
  }
  const base::SteadyClock clock;
  base::TaskPool pool(
      static_cast<int>(flags.common.threads.value_or(base::TaskPool::available_cpus())));
  {
    Progress progress(flags.out, Progress::style_for(flags.common.is_quiet), clock);
    PAWL_TRY_VOID(model::write_quantized(
        *file, *plan, *type, flags.out, pool,
        {[&](int64_t done, int64_t total) { progress.update(done, total); }, interrupt.token()}));
    progress.finish();
  }
  const auto bytes = static_cast<int64_t>(std::filesystem::file_size(flags.out));
  if (flags.common.is_json) {
    fmt::print("{}\n", to_json(flags, *file, bytes, *plan).dump());
  } else {
    print_summary(flags, *file, bytes, *plan);
  }
  return ExitStatus::kDone;
}

}  // namespace pawl::cli
