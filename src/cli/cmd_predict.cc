// SPDX-License-Identifier: Apache-2.0
// pawl predict: which of two requests takes longer, from profiles or published sizes, without
// sending any; or how often such predictions are right, by sending pairs.
#include <fmt/format.h>

#include <map>

#include "cli/command.h"
#include "cli/lab_session.h"
#include "cli/predict_report.h"
#include "lab/recorder.h"
#include "lab/report.h"
#include "lab/score.h"

namespace pawl::cli {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

const CommandHelp kPredictHelp = {
    "predict", "Says which of two requests takes longer, by three rules with their conditions.",
    "pawl predict --a 20000,50@claim --b 200,2000@claim",
    "--a P,O[@PROFILE] --b P,O[@PROFILE] [options]"};

extern const char kDeploymentsJson[];

namespace {

struct PredictFlags {
  LabFlags lab;
  std::optional<std::string> a, b, profile, spec, out, records, report;
  int64_t pairs = 0;
  bool asks_length = false;

  void declare(CommandLine& line) {
    line.group("What to predict");
    line.text({"--a", "P,O[@WHERE]",
               "tokens of prompt and output, and a profile of pawl sweep or a deployment's name",
               "needed"},
              a);
    line.text({"--b", "P,O[@WHERE]", "the other", "needed"}, b);
    line.text({"--profile", "F.json", "where no @ says it", "none"}, profile);
    line.text({"--spec", "F.json", "deployments that are not here, with published sizes or rates",
               "a few that are built in"},
              spec);
    line.flag({"--output-length", "", "by output length alone: exit 1 where that rule refuses"},
              asks_length);
    line.group("How often that is right");
    line.integer(
        {"--score", "N", "sends N random pairs and compares; needs --profile and a server"}, pairs,
        0, 100'000);
    line.text(
        {"--records", "F.jsonl", "raw records of the pairs; goes on from those there", "none"},
        records);
    line.group("Files");
    line.text({"-o,--out", "F.json", "the result", "none"}, out);
    line.text({"--report", "F.html", "one page with tables and plots", "none"}, report);
    lab.declare(line, false);
  }
};

// Profiles that were read, each once; addresses stay.
class Profiles {
 public:
  struct Loaded {
    lab::Profile profile;
    lab::Split split;
  };
  Result<const Loaded*> load(const std::string& path) {
    if (const auto found = loaded_.find(path); found != loaded_.end()) return &found->second;
    PAWL_TRY(const Json json, read_json(path));
    auto profile = lab::parse_profile(json);
    if (!profile.ok()) {
      profile.error().where = path + ": " + profile.error().where;
      return profile.error();
    }
    lab::Split split = lab::Split::of(profile->points, profile->seed);
    return &loaded_.try_emplace(path, Loaded{std::move(profile).value(), std::move(split)})
                .first->second;
  }

 private:
  std::map<std::string, Loaded> loaded_;
};

Result<std::vector<lab::Deployment>> read_deployments(const PredictFlags& flags) {
  auto json = flags.spec ? read_json(*flags.spec) : base::parse_json(kDeploymentsJson);
  if (!json.ok()) return json.error();
  auto list = lab::parse_deployments(*json);
  if (!list.ok() && flags.spec) list.error().where = *flags.spec + ": " + list.error().where;
  return list;
}

Result<lab::Side> side_of(const CommandLine& line, std::string_view flag,
                          const std::optional<std::string>& text, const PredictFlags& flags,
                          const std::vector<lab::Deployment>& deployments, Profiles& profiles) {
  if (!text) return line.wrong(fmt::format("{} P,O is needed", flag));
  const auto named = lab::parse_shape(*text);
  if (!named) {
    return line.wrong(fmt::format("{}: '{}' is no P,O or P,O@WHERE of whole numbers", flag,
                                  std::string_view(*text).substr(0, 60)));
  }
  lab::Side side;
  side.shape = named->shape;
  side.place = named->name.empty() ? flags.profile.value_or("") : named->name;
  if (side.place.empty()) return side;
  for (const lab::Deployment& deployment : deployments) {
    if (deployment.name == side.place) {
      side.deployment = &deployment;
      return side;
    }
  }
  auto loaded = profiles.load(side.place);
  if (!loaded.ok() && loaded.error().code == ErrorCode::kNotFound) {
    std::string names;
    for (const auto& deployment : deployments)
      names += (names.empty() ? "" : ", ") + deployment.name;
    return line.wrong(
        fmt::format("{}: '{}' is neither a profile nor one of {}", flag, side.place, names));
  }
  if (!loaded.ok()) return loaded.error();
  side.profile = &(*loaded)->profile;
  side.split = &(*loaded)->split;
  return side;
}

Result<void> save(const PredictFlags& flags, const Json& document,
                  std::vector<lab::RequestRecord> records) {
  if (flags.out) PAWL_TRY_VOID(write_text(*flags.out, document.dump() + "\n"));
  if (flags.report) {
    lab::ReportInput input{"pawl predict", document, std::move(records)};
    PAWL_TRY_VOID(write_text(*flags.report, lab::report_page({&input, 1})));
  }
  return {};
}

Result<ExitStatus> predict_two(const CommandLine& line, const PredictFlags& flags) {
  PAWL_TRY(const auto deployments, read_deployments(flags));
  Profiles profiles;
  PAWL_TRY(const lab::Side a, side_of(line, "--a", flags.a, flags, deployments, profiles));
  PAWL_TRY(const lab::Side b, side_of(line, "--b", flags.b, flags, deployments, profiles));
  const lab::Prediction prediction = lab::predict(a, b);
  const Json document = lab::prediction_json(a, b, prediction);
  PAWL_TRY_VOID(save(flags, document, {}));
  if (flags.lab.is_json) {
    fmt::print("{}\n", document.dump());
  } else {
    print_prediction(a, b, prediction);
  }
  const bool has_refused = prediction.rules.front().state == lab::RuleState::kRefuses;
  return flags.asks_length && has_refused ? ExitStatus::kVerdictFailed : ExitStatus::kDone;
}

Result<std::vector<lab::RequestRecord>> measure(const PredictFlags& flags, LabSession& session,
                                                const lab::Split& split, const base::Clock& clock,
                                                const InterruptWatch& interrupt) {
  const auto plan = lab::plan_score(split, flags.pairs, flags.lab.seed_or_default());
  Json experiment;
  experiment["command"] = "predict --score";
  experiment["profile"] = *flags.profile;
  experiment["seed"] = flags.lab.seed_or_default();
  return run_plan_recorded(session, plan, flags.lab, clock, interrupt, flags.records, experiment);
}

Result<ExitStatus> score_pairs(const CommandLine& line, PredictFlags& flags) {
  if (!flags.profile) return line.wrong("--score needs --profile, the file of pawl sweep");
  Profiles profiles;
  PAWL_TRY(const Profiles::Loaded* loaded, profiles.load(*flags.profile));
  if (!loaded->split.is_usable()) {
    return Error{ErrorCode::kBadFile, "no fit can be made of its points", *flags.profile};
  }
  flags.lab.concurrency = loaded->profile.conditions.concurrency.value_or(1);
  const InterruptWatch interrupt;
  const base::SteadyClock clock;
  PAWL_TRY(LabSession session, open_lab_session(flags.lab, clock, interrupt));
  for (const auto& difference : lab::differences(loaded->profile.conditions, session.conditions)) {
    note(flags.lab.is_quiet, fmt::format("the profile differs in {}: {} / {}", difference.name,
                                         difference.a, difference.b));
  }
  PAWL_TRY(const auto records, measure(flags, session, loaded->split, clock, interrupt));
  const lab::Score score =
      lab::conclude_score(loaded->profile, loaded->split, records, flags.lab.seed_or_default());
  const Json document = lab::score_json(score, session.conditions);
  PAWL_TRY_VOID(save(flags, document, records));
  if (flags.lab.is_json) {
    fmt::print("{}\n", document.dump());
  } else {
    print_score(score, session.conditions);
  }
  return score.holds ? ExitStatus::kDone : ExitStatus::kVerdictFailed;
}

}  // namespace

Result<ExitStatus> predict_command(const Arguments& arguments) {
  CommandLine line(kPredictHelp);
  PredictFlags flags;
  flags.declare(line);
  PAWL_TRY(const bool goes_on, line.parse(arguments));
  if (!goes_on) return ExitStatus::kDone;
  return flags.pairs > 0 ? score_pairs(line, flags) : predict_two(line, flags);
}

}  // namespace pawl::cli
