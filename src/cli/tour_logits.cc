// SPDX-License-Identifier: Apache-2.0
// Tour: one row of scores, whatever the knobs say, and the choice as code of its own.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/digest.h"
#include "cli/generation.h"
#include "cli/terminal.h"
#include "cli/tour.h"
#include "engine/engine.h"
#include "model/model.h"
#include "probe/rows.h"

namespace pawl::cli {

using base::Json;
using base::Result;
using base::TokenId;

namespace {

constexpr std::string_view kPrompt = "The capital of France is";
constexpr size_t kShown = 5;

// A setting of the knobs, and the token that it made of the row.
struct Setting {
  std::string name;
  policy::Policy policy;
  std::string digest = {};
  TokenId chosen = policy::kNoToken;
};

std::vector<Setting> settings(TokenId best, uint64_t seed) {
  const auto with = [&](std::string name, auto change) {
    Setting setting{std::move(name), policy::Policy::defaults()};
    setting.policy.seed = seed;
    change(setting.policy);
    return setting;
  };
  return {
      with("greedy", [](auto& policy) { policy.temperature = 0; }),
      with("temperature 0.7", [](auto& policy) { policy.temperature = 0.7; }),
      with("temperature 2", [](auto& policy) { policy.temperature = 2; }),
      with("top-k 5", [](auto& policy) { policy.top_k = 5; }),
      with("top-p 0.9", [](auto& policy) { policy.top_p = 0.9; }),
      with("min-p 0.05", [](auto& policy) { policy.min_p = 0.05; }),
      with("repetition penalty 1.5", [](auto& policy) { policy.repetition_penalty = 1.5; }),
      with("the best one banned",
           [&](auto& policy) {
             policy.temperature = 0;
             policy.banned = {best};
           }),
  };
}

// Keeps the digest of the one row that a choice is made from.
class RowDigest final : public engine::StepObserver {
 public:
  void on_step(const engine::StepRecord& record) override {
    for (const engine::StepRow& row : record.rows) {
      if (row.choice == nullptr) continue;
      digest = base::xxh3_128(std::as_bytes(row.logits));
      chosen = row.choice->id;
    }
  }
  std::string digest;
  TokenId chosen = policy::kNoToken;
};

Result<void> choose_one(ModelSession& session, const Prompt& prompt, const base::Clock& clock,
                        Setting& setting) {
  engine::EngineLimits limits;
  limits.context = static_cast<int64_t>(prompt.ids.size()) + 1;
  limits.max_sequences = 1;
  RowDigest seen;
  PAWL_TRY(const auto engine, engine::Engine::create(*session.runtime, limits, clock, &seen));
  GenerationSink sink(GenerationSink::Output::kNone, false);
  engine::Request request;
  request.prompt = prompt.ids;
  request.policy = setting.policy;
  request.stops.max_tokens = 1;
  request.sink = &sink;
  request.received_ns = clock.now_ns();
  PAWL_TRY_VOID(engine->submit(std::move(request)));
  engine->run_until_idle();
  setting.digest = seen.digest;
  setting.chosen = seen.chosen;
  return {};
}

struct Row {
  std::vector<float> logits;
  std::vector<TokenId> best;  // kShown ids, the best first
  double logsumexp = 0;
  double p(TokenId id) const { return std::exp(logits[static_cast<size_t>(id)] - logsumexp); }
};

Row row_of(std::vector<float> logits) {
  Row row{std::move(logits), {}, 0};
  std::vector<TokenId> order(row.logits.size());
  std::iota(order.begin(), order.end(), 0);
  const size_t shown = std::min(kShown, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                    [&](TokenId a, TokenId b) {
                      const float x = row.logits[static_cast<size_t>(a)];
                      const float y = row.logits[static_cast<size_t>(b)];
                      return x != y ? x > y : a < b;
                    });
  order.resize(shown);
  row.best = std::move(order);
  const double largest = row.logits[static_cast<size_t>(row.best[0])];
  double sum = 0;
  for (const float logit : row.logits) sum += std::exp(static_cast<double>(logit) - largest);
  row.logsumexp = largest + std::log(sum);
  return row;
}

Json document_of(const ModelSession& session, const Row& row, const std::string& digest,
                 const std::vector<Setting>& tried) {
  Json document;
  document["kind"] = "logits";
  document["model"] = session.name;
  document["prompt"] = kPrompt;
  document["vocabulary"] = row.logits.size();
  document["logits_digest"] = digest;
  document["top"] = Json::array();
  for (const TokenId id : row.best) {
    Json entry;
    entry["id"] = int64_t{id};
    entry["text"] = session.piece(id);
    entry["logit"] = row.logits[static_cast<size_t>(id)];
    entry["p"] = row.p(id);
    document["top"].push_back(std::move(entry));
  }
  document["settings"] = Json::array();
  for (const Setting& setting : tried) {
    Json entry;
    entry["name"] = setting.name;
    entry["logits_digest"] = setting.digest;
    entry["chosen"] = setting.chosen < 0 ? Json() : Json(session.piece(setting.chosen));
    document["settings"].push_back(std::move(entry));
  }
  return document;
}

TourPicture picture_of(const ModelSession& session, const Row& row) {
  TourPicture picture{fmt::format("after \"{}\", the largest of {} scores", kPrompt,
                                  grouped(static_cast<int64_t>(row.logits.size()))),
                      {}};
  for (const TokenId id : row.best) {
    picture.lines.push_back({quoted_piece(session.piece(id)),
                             {{row.p(id), id == row.best[0] ? Ink::kTail : Ink::kFirst}},
                             fmt::format("{:.1f} %", row.p(id) * 100)});
  }
  return picture;
}

}  // namespace

Result<TourChapterResult> tour_logits(Tour& tour) {
  PAWL_TRY(ModelSession* const session, tour.model());
  tour.tell(0.3, "one forward pass");
  PAWL_TRY(const Prompt prompt,
           tokenize_prompt(std::string(kPrompt), false, *session->runtime, tour.clock()));
  PAWL_TRY(std::vector<float> logits, probe::compute_last_row(*session->runtime, prompt.ids));
  const std::string digest = base::xxh3_128(std::as_bytes(std::span(logits)));
  const Row row = row_of(std::move(logits));
  std::vector<Setting> tried = settings(row.best[0], tour.options().seed());
  std::set<TokenId> chosen;
  bool is_same = true;
  for (size_t i = 0; i < tried.size(); ++i) {
    tour.tell(0.4 + 0.6 * static_cast<double>(i) / static_cast<double>(tried.size()),
              tried[i].name);
    PAWL_TRY_VOID(choose_one(*session, prompt, tour.clock(), tried[i]));
    is_same = is_same && tried[i].digest == digest;
    chosen.insert(tried[i].chosen);
  }
  const auto scores = static_cast<int64_t>(row.logits.size());
  const bool is_greedy = tried[0].chosen == row.best[0];

  TourChapterResult result;
  result.pictures.push_back(picture_of(*session, row));
  result.findings.push_back(
      {"1a", "scores and choice are separate",
       "A forward pass yields one score for each vocabulary entry; choosing is separate, ordinary "
       "code.",
       fmt::format("{} scores", grouped(scores)),
       is_same
           ? fmt::format("{} scores, the same to the last bit ({}) under {} settings of the knobs, "
                         "which chose {} different tokens.",
                         grouped(scores), digest.substr(0, 17) + "…", tried.size(), chosen.size())
           : fmt::format("A knob changed the row: {} settings gave more than one digest.",
                         tried.size()),
       is_same ? TourVerdict::kHolds : TourVerdict::kFails});
  result.findings.push_back(
      {"1b", "greedy takes the highest", "Greedy decoding takes the highest score.",
       fmt::format("{} at {:.1f} %", quoted_piece(session->piece(tried[0].chosen)),
                   row.p(std::max(tried[0].chosen, 0)) * 100),
       fmt::format("Greedy chose {}, the largest score; with that one banned it took the next, {}.",
                   quoted_piece(session->piece(tried[0].chosen)),
                   quoted_piece(session->piece(tried.back().chosen))),
       is_greedy && tried.back().chosen == row.best[1] ? TourVerdict::kHolds
                                                       : TourVerdict::kFails});
  result.documents.push_back(document_of(*session, row, digest, tried));
  return result;
}

}  // namespace pawl::cli
