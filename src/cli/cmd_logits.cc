// SPDX-License-Identifier: Apache-2.0
// pawl logits: the two halves side by side: what the network returned, and what each rule did to
// it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "base/json.h"
#include "cli/command.h"
#include "cli/model_session.h"
#include "cli/npy_file.h"
#include "cli/policy_flags.h"
#include "cli/terminal.h"
#include "model/model.h"
#include "policy/explain.h"
#include "probe/rows.h"

namespace pawl::cli {

using base::Json;
using base::Result;
using base::TokenId;

const CommandHelp kLogitsHelp = {
    "logits",
    "Shows the logits that the network returns for a text, and what each rule makes of them.",
    "pawl logits -p \"The sea is\" --top 5 --temperature 0.8 --top-k 40", "-p TEXT [options]"};

namespace {

struct LogitsFlags {
  PromptFlags prompt;
  PolicyFlags policy;
  std::string at = "last";
  int64_t top = 20;
  std::optional<std::string> out;
  bool is_reference = false;
  ModelFlags model;
  CommonOptions common;

  void declare(CommandLine& line) {
    prompt.declare(line);
    line.group("What to show");
    line.text({"--at", "WHERE", "the position: last, all, or its index from 0"}, at);
    line.integer({"--top", "N", "tokens to show of each row"}, top, 1, 1000);
    line.text({"--out", "F.npy", "writes the rows as float32 [positions, vocabulary]"}, out);
    line.flag({"--reference", "", "float32 activations and the scalar kernels: slow and exact"},
              is_reference);
    policy.declare(line);
    model.declare(line);
    add_common_options(line, common);
  }
};

// Rows [first, last] of the prompt's positions.
Result<probe::RowsOptions> positions_of(const CommandLine& line, const std::string& at,
                                        int64_t length) {
  if (at == "last") return probe::RowsOptions{.first = length - 1, .last = length - 1};
  if (at == "all") return probe::RowsOptions{.first = 0, .last = length - 1};
  const auto index = parse_integer(at);
  if (!index || *index < 0 || *index >= length) {
    return line.wrong(fmt::format("--at: '{}' is neither last, all nor a position from 0 to {}",
                                  at.substr(0, 40), length - 1));
  }
  return probe::RowsOptions{.first = *index, .last = *index};
}

struct TopEntry {
  TokenId id;
  float logit;
  double p;
};

struct PositionView {
  int64_t index;
  double logsumexp;
  std::vector<TopEntry> top;
};

PositionView view_of(int64_t index, std::span<const float> row, int64_t top) {
  const float largest = *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (const float logit : row) sum += std::exp(static_cast<double>(logit) - largest);
  PositionView view{index, largest + std::log(sum), {}};
  std::vector<TokenId> order(row.size());
  std::iota(order.begin(), order.end(), 0);
  const auto count = std::min<size_t>(static_cast<size_t>(top), row.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](TokenId a, TokenId b) {
                      const float x = row[static_cast<size_t>(a)], y = row[static_cast<size_t>(b)];
                      return x != y ? x > y : a < b;
                    });
  for (size_t i = 0; i < count; ++i) {
    const float logit = row[static_cast<size_t>(order[i])];
    view.top.push_back({order[i], logit, std::exp(static_cast<double>(logit) - view.logsumexp)});
  }
  return view;
}

Json entry_json(const ModelSession& session, TokenId id, float logit, double p) {
  Json entry;
  entry["id"] = int64_t{id};
  entry["text"] = session.piece(id);
  entry["logit"] = logit;
  entry["p"] = p;
  return entry;
}

Json to_json(const ModelSession& session, const Prompt& prompt, const policy::Policy& policy,
             const std::vector<PositionView>& views, const policy::Explanation& explanation) {
  Json document;
  document["model"] = session.name;
  document["prompt_ids"] = Json::array_of({prompt.ids.begin(), prompt.ids.end()});
  document["positions"] = Json::array();
  for (const auto& view : views) {
    Json position;
    position["index"] = view.index;
    position["id"] = int64_t{prompt.ids[static_cast<size_t>(view.index)]};
    position["logsumexp"] = view.logsumexp;
    position["top"] = Json::array();
    for (const auto& [id, logit, p] : view.top) {
      position["top"].push_back(entry_json(session, id, logit, p));
    }
    document["positions"].push_back(std::move(position));
  }
  document["stages"] = Json::array();
  for (const auto& effect : explanation.stages) {
    Json stage;
    stage["name"] = effect.name;
    stage["kept"] = effect.kept;
    stage["top"] = Json::array();
    for (const auto& [id, logit, p] : effect.top) {
      stage["top"].push_back(entry_json(session, id, logit, p));
    }
    document["stages"].push_back(std::move(stage));
  }
  Json& choice = document["choice"];
  choice["id"] = int64_t{explanation.choice.id};
  choice["text"] = explanation.choice.id < 0 ? Json() : Json(session.piece(explanation.choice.id));
  document["seed"] = policy.seed;
  return document;
}

void print_position(const ModelSession& session, const Prompt& prompt, const PositionView& view) {
  fmt::print("position {}, after {}: logsumexp {:.4f}\n", view.index,
             quoted_piece(session.piece(prompt.ids[static_cast<size_t>(view.index)])),
             view.logsumexp);
  fmt::print("  {:>7}  {:>9}  {:>8}  {}\n", "id", "logit", "p", "text");
  for (const auto& [id, logit, p] : view.top) {
    fmt::print("  {:>7}  {:>9.4f}  {:>7.3f}%  {}\n", id, logit, p * 100,
               quoted_piece(session.piece(id)));
  }
}

void print_stages(const ModelSession& session, const policy::Policy& policy,
                  const policy::Explanation& explanation) {
  fmt::print("\nfrom these logits to a token\n");
  for (const auto& effect : explanation.stages) {
    fmt::print("  {:14} keeps {:>7}:", effect.name, grouped(effect.kept));
    constexpr size_t kShown = 5;
    for (size_t i = 0; i < std::min(kShown, effect.top.size()); ++i) {
      fmt::print("  {} {:.1f}%", quoted_piece(session.piece(effect.top[i].id)),
                 effect.top[i].p * 100);
    }
    fmt::print("\n");
  }
  if (explanation.choice.id < 0) {
    fmt::print("  nothing is left to choose\n");
  } else if (policy.temperature == 0) {
    fmt::print("  chosen {} (id {}): the largest\n",
               quoted_piece(session.piece(explanation.choice.id)), explanation.choice.id);
  } else {
    fmt::print("  drawn {} (id {}) with seed {}\n",
               quoted_piece(session.piece(explanation.choice.id)), explanation.choice.id,
               policy.seed);
  }
}

// Everything that is kept of the rows while they pass by.
struct Collected {
  std::vector<PositionView> views;
  std::vector<float> last_row;  // [vocabulary]
};

Result<Collected> collect(ModelSession& session, const Prompt& prompt, const LogitsFlags& flags,
                          const probe::RowsOptions& where) {
  Collected collected;
  std::optional<NpyFile> file;
  if (flags.out) {
    const auto vocabulary = static_cast<int64_t>(session.runtime->model()->config().vocabulary);
    PAWL_TRY(NpyFile created,
             NpyFile::create(*flags.out, where.last - where.first + 1, vocabulary));
    file.emplace(std::move(created));
  }
  Result<void> written;
  PAWL_TRY_VOID(probe::compute_rows(*session.runtime, prompt.ids, where,
                                    [&](int64_t index, std::span<const float> row) {
                                      collected.views.push_back(view_of(index, row, flags.top));
                                      if (file && written.ok()) written = file->write_row(row);
                                      if (index == where.last)
                                        collected.last_row.assign(row.begin(), row.end());
                                    }));
  PAWL_TRY_VOID(written);
  if (file) PAWL_TRY_VOID(file->finish());
  return collected;
}

}  // namespace

Result<ExitStatus> logits_command(const Arguments& arguments) {
  CommandLine line(kLogitsHelp);
  LogitsFlags flags;
  flags.declare(line);
  PAWL_TRY(const bool goes_on, line.parse(arguments));
  if (!goes_on) return ExitStatus::kDone;
  if (!flags.prompt.is_given())
    return line.wrong("--prompt is missing; --file - reads standard input");
  PAWL_TRY(const policy::Policy policy, flags.policy.policy(line, flags.common.seed));
  const base::SteadyClock clock;
  std::optional<ModelSession> session;
  {
    const InterruptWatch interrupt;
    PAWL_TRY(session, ModelSession::open(flags.common, flags.is_reference, clock, interrupt.token(),
                                         flags.model));
  }
  PAWL_TRY(const Prompt prompt, read_prompt(line, flags.prompt, *session->runtime, clock));
  PAWL_TRY(const auto where, positions_of(line, flags.at, static_cast<int64_t>(prompt.ids.size())));
  PAWL_TRY(const Collected collected, collect(*session, prompt, flags, where));

  PAWL_TRY_VOID(policy::validate_ids(policy, static_cast<int32_t>(collected.last_row.size())));
  const std::span<const TokenId> before(prompt.ids.data(), static_cast<size_t>(where.last + 1));
  const policy::History history(policy, before, before.size());
  policy::Scratch scratch;
  const policy::Situation situation{.row = collected.last_row,
                                    .policy = policy,
                                    .history = history,
                                    .draw = {policy.seed, before.size()},
                                    .end_ids = session->runtime->tokenizer().vocab().end_ids()};
  const auto explanation = policy::explain(situation, static_cast<int32_t>(flags.top), scratch);
  if (flags.common.is_json) {
    fmt::print("{}\n", to_json(*session, prompt, policy, collected.views, explanation).dump());
    return ExitStatus::kDone;
  }
  for (const auto& view : collected.views) print_position(*session, prompt, view);
  print_stages(*session, policy, explanation);
  return ExitStatus::kDone;
}

}  // namespace pawl::cli
