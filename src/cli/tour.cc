// SPDX-License-Identifier: Apache-2.0
#include "cli/tour.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pawl::cli {

using base::Result;

namespace {

constexpr TourChapter kChapters[] = {
    {1, "logits", "A row of scores, and then a choice",
     "pawl logits -p \"The capital of France is\" --temperature 0.8 --top-p 0.9", 2, tour_logits},
    {2, "loop", "One pass, one token, nothing revised",
     "pawl trace -p \"The sea is\" -n 24 --greedy --out t.jsonl && pawl trace verify t.jsonl", 6,
     tour_loop},
    {2, "divergence", "One early word, another answer", "pawl diverge --n 200", 20, tour_divergence},
    {3, "phases", "The prompt in parallel, the answer one by one", "pawl phases --prompt 16..1024", 25,
     tour_phases},
    {4, "shapes", "Long in and short out, against short in and long out",
     "pawl compare --self --a 2000,5 --b 20,200", 25, tour_shapes},
    {5, "prediction", "Which of two takes longer, said beforehand",
     "pawl sweep --self -o here.json && pawl predict --score 60 --self --profile here.json", 85,
     tour_prediction},
    {6, "streaming", "Two clocks: the first token and the last", "pawl sweep --self --report s.html",
     2, tour_streaming},
    {7, "cancel", "What a cancelled answer costs, and its missing end",
     "pawl cancel --url http://127.0.0.1:8080 --after 300 --of 800", 20, tour_cancel},
    {8, "schema", "What a field of an answer costs",
     "pawl schema --self --schema schema.json --prompts prompts.jsonl", 25, tour_schema},
};

}  // namespace

std::span<const TourChapter> tour_chapters() {
  return kChapters;
}

std::string_view verdict_name(TourVerdict verdict) {
  switch (verdict) {
    case TourVerdict::kHolds:
      return "holds";
    case TourVerdict::kFails:
      return "does not hold";
    case TourVerdict::kCannotTell:
      return "cannot tell";
    case TourVerdict::kDiffers:
      return "differs here";
  }
  return "";
}

Tour::Tour(const TourOptions& options, const base::Clock& clock, const InterruptWatch& interrupt,
           TourProgress progress)
    : options_(options), clock_(clock), interrupt_(interrupt), progress_(std::move(progress)) {
  lab_flags_.is_self = true;
  lab_flags_.is_quiet = true;
  lab_flags_.server.model = options.common.model;
  lab_flags_.threads = options.common.threads;
  lab_flags_.seed = options.seed();
}

Result<ModelSession*> Tour::model() {
  server_.reset();
  if (!model_) {
    tell(0, "opening the model");
    PAWL_TRY(ModelSession opened, ModelSession::open(options_.common, false, clock_, stop()));
    model_.emplace(std::move(opened));
  }
  return &*model_;
}

Result<LabSession*> Tour::server() {
  model_.reset();
  if (!server_) {
    tell(0, "starting pawl serve");
    PAWL_TRY(LabSession opened, open_lab_session(lab_flags_, clock_, interrupt_));
    server_.emplace(std::move(opened));
  }
  return &*server_;
}

Result<std::vector<lab::RequestRecord>> Tour::ask(const std::vector<lab::Planned>& plan,
                                                  double from, double to, std::string_view what) {
  PAWL_TRY(LabSession* const session, server());
  double all = 0, done = 0;
  for (const lab::Planned& one : plan) all += lab::weight_of(one);
  std::vector<lab::RequestRecord> records;
  lab::RunEvents events;
  events.should_stop = [this] { return interrupt_.has_stopped(); };
  events.record = [&](const lab::RequestRecord& record) -> Result<void> {
    lab::Planned one;
    one.prompt = record.asked.prompt_tokens.value_or(0);
    one.output = record.asked.output_tokens.value_or(0);
    done += lab::weight_of(one);
    records.push_back(record);
    tell(from + (to - from) * std::min(1.0, done / all),
         fmt::format("{}, request {} of {}", what, records.size(), plan.size()));
    return {};
  };
  tell(from, what);
  PAWL_TRY_VOID(lab::run_plan(*session->client, *session->prompts, plan, session->run_options(0),
                              clock_, events));
  return records;
}

Result<const Tour::Swept*> Tour::sweep(double from, double to) {
  if (swept_) return &*swept_;
  PAWL_TRY(LabSession* const session, server());
  lab::SweepOptions options;
  options.prompts = {32, 128, 512};
  options.outputs = {1, 16, 48};
  options.repetitions = 4;
  options.warm_ups = 2;
  options.probe_pairs = 2;
  options.seed = options_.seed();
  PAWL_TRY_VOID(session->check_context(options.prompts.back(), options.outputs.back()));
  PAWL_TRY(auto records, ask(lab::plan_sweep(options), from, to, "learning its two clocks"));
  lab::SweepResult result = lab::conclude_sweep(records, session->conditions, options.seed);
  swept_.emplace(Swept{std::move(records), std::move(result)});
  return &*swept_;
}

}  // namespace pawl::cli
