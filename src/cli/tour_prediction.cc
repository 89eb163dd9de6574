// SPDX-License-Identifier: Apache-2.0
// Tour: predictions by several rules, scored on pairs of requests that are then sent.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/sweep_report.h"
#include "cli/terminal.h"
#include "cli/tour.h"
#include "lab/score.h"

namespace pawl::cli {

using base::Json;
using base::Result;
using lab::RuleScore;
using lab::RuleState;
using lab::Score;
using lab::Slower;

extern const char kDeploymentsJson[];

namespace {

constexpr int64_t kPairs = 24;
constexpr double kNearlyAll = 0.9;  // of the variance

const RuleScore* find_rule(const Score& score, std::string_view name) {
  const auto found = std::find_if(score.rules.begin(), score.rules.end(),
                                  [&](const RuleScore& rule) { return rule.name == name; });
  return found == score.rules.end() ? nullptr : &*found;
}

std::string share_text(const RuleScore* rule) {
  if (rule == nullptr || rule->decided == 0) return "none decided";
  return fmt::format("{} of {}", rule->right, rule->decided);
}

// Pairs that the full fit decides and that only one of both rules ranks right. A sign test: were
// both equally good, each of these pairs would fall to either side by a toss.
struct Discordant {
  int64_t fit = 0, total = 0;
  // Probability that `most` or more of n tosses fall to one side.
  static double tail(int64_t most, int64_t n) {
    double sum = 0, term = std::pow(0.5, static_cast<double>(n));
    for (int64_t k = n; k >= most; --k) {
      sum += term;
      term *= static_cast<double>(k) / static_cast<double>(n - k + 1);
    }
    return sum;
  }
  TourVerdict verdict() const {
    constexpr double kSure = 0.05;
    const int64_t n = fit + total;
    if (n > 0 && tail(fit, n) <= kSure) return TourVerdict::kHolds;
    if (n > 0 && tail(total, n) <= kSure) return TourVerdict::kFails;
    return TourVerdict::kCannotTell;
  }
};

Discordant compare_rules(const Score& score) {
  Discordant counts;
  for (const lab::ScoredPair& pair : score.pairs) {
    const lab::RuleAnswer& fit = pair.prediction.rules.back();
    if (fit.state != RuleState::kAnswers || fit.slower == Slower::kCannotTell) continue;
    const Slower truth = pair.a.e2e_ms > pair.b.e2e_ms ? Slower::kA : Slower::kB;
    const int64_t a = pair.a.prompt + pair.a.output, b = pair.b.prompt + pair.b.output;
    const bool is_total_right = a != b && (a > b) == (truth == Slower::kA);
    const bool is_fit_right = fit.slower == truth;
    counts.fit += is_fit_right && !is_total_right ? 1 : 0;
    counts.total += is_total_right && !is_fit_right ? 1 : 0;
  }
  return counts;
}

TourPicture picture_of(const Score& score) {
  TourPicture picture{"pairs that each rule ranked right, of those it decided", {}};
  for (const RuleScore& rule : score.rules) {
    const double share =
        rule.decided > 0 ? static_cast<double>(rule.right) / static_cast<double>(rule.decided) : 0;
    picture.lines.push_back(
        {rule.name,
         {{share, rule.name == "full fit" ? Ink::kTail : Ink::kFirst}},
         fmt::format("{}{}{}", share_text(&rule),
                     rule.abstained > 0 ? fmt::format(", cannot tell {}", rule.abstained) : "",
                     rule.refused > 0 ? fmt::format(", refused {}", rule.refused) : "")});
  }
  return picture;
}

// 500 tokens of a large model that publishes 20 tokens per second, against 2,000 of a small one
// that publishes 90.
struct Published {
  std::vector<lab::Deployment> deployments;
  lab::Side a, b;
  lab::Prediction prediction;
};
Result<Published> predict_published() {
  Published published;
  PAWL_TRY(const Json json, base::parse_json(kDeploymentsJson));
  PAWL_TRY(published.deployments, lab::parse_deployments(json));
  const auto side = [&](std::string_view name, double output) {
    lab::Side made;
    made.shape = {0, output};
    made.place = name;
    for (const auto& one : published.deployments) {
      if (one.name == name) made.deployment = &one;
    }
    return made;
  };
  published.a = side("70b-a100", 500);
  published.b = side("8b-h100", 2000);
  published.prediction = lab::predict(published.a, published.b);
  return published;
}

TourFinding across_deployments(const Published& published) {
  const auto& rules = published.prediction.rules;
  const lab::RuleAnswer& length = rules[0];
  const lab::RuleAnswer& rate = rules[1];
  const bool holds = length.state == RuleState::kRefuses && rate.state == RuleState::kAnswers &&
                     rate.slower == Slower::kA && rate.a_ms && rate.b_ms;
  return {
      "5b",
      "tokens ÷ rate across deployments",
      "Across deployments compare tokens ÷ measured rate: 500 tokens of 70B on four A100 lose to "
      "2,000 of 8B on an H100.",
      holds ? fmt::format("{:.0f} s against {:.1f} s", rate.a_ms->value / 1000,
                          rate.b_ms->value / 1000)
            : "not so",
      holds ? fmt::format(
                  "By published rates {:.1f} s against {:.1f} s; the rule of output length "
                  "refuses to answer and names {} conditions that differ. Arithmetic: neither "
                  "is here.",
                  rate.a_ms->value / 1000, rate.b_ms->value / 1000, length.reasons.size())
            : "The rules do not answer as the claim says.",
      holds ? TourVerdict::kHolds : TourVerdict::kFails};
}

void add_scored(const Score& score, TourChapterResult& result) {
  const Discordant counts = compare_rules(score);
  result.pictures.push_back(picture_of(score));
  result.findings.push_back(
      {"4b", "total tokens rank worse", "Ranking by total tokens gets the order backwards.",
       fmt::format("{}; fit {}", share_text(find_rule(score, "total tokens")),
                   share_text(find_rule(score, "full fit"))),
       fmt::format(
           "Total tokens ranked {} pairs right, the full fit {}, output length {}; {} pairs "
           "that the fit had right total tokens had wrong, {} the other way round.",
           share_text(find_rule(score, "total tokens")), share_text(find_rule(score, "full fit")),
           share_text(find_rule(score, "output length")), counts.fit, counts.total),
       counts.verdict()});
  const lab::Estimate& r2 = score.r2_inside;
  result.findings.push_back(
      {"5a", "output length explains the time",
       "Inside the fence (same model, machine, load, similar prompts) output length explains "
       "nearly "
       "all of the variance.",
       fmt::format("{:.0f} % of the variance", 100 * r2.value),
       fmt::format(
           "Output length explains {:.1f} % of the variance inside the fence ({:.1f} to "
           "{:.1f}), {:.0f} % with prompts of all lengths; {} of {} requests lay inside the "
           "95 % interval predicted for them.",
           100 * r2.value, 100 * r2.interval.low, 100 * r2.interval.high,
           100 * score.r2_overall.value, score.covered, score.intervals),
       r2.interval.low >= kNearlyAll   ? TourVerdict::kHolds
       : r2.interval.high < kNearlyAll ? TourVerdict::kFails
                                       : TourVerdict::kCannotTell});
}

}  // namespace

Result<TourChapterResult> tour_prediction(Tour& tour) {
  constexpr double kSweepShare = 0.5;
  PAWL_TRY(const Tour::Swept* const swept, tour.sweep(0, kSweepShare));
  PAWL_TRY(const Published published, predict_published());
  TourChapterResult result;
  const lab::SweepResult& sweep = swept->result;
  if (sweep.split.is_usable()) {
    PAWL_TRY(LabSession* const session, tour.server());
    const uint64_t seed = tour.options().seed();
    PAWL_TRY(const auto records, tour.ask(lab::plan_score(sweep.split, kPairs, seed), kSweepShare,
                                          1, "pairs that were predicted"));
    const Score score = lab::conclude_score(sweep.profile, sweep.split, records, seed);
    add_scored(score, result);
    result.documents.push_back(lab::score_json(score, session->conditions));
  } else {
    const std::string why = sweep.split.symptoms().empty()
                                ? std::string("too few requests succeeded")
                                : sweep.split.symptoms().front().text;
    for (const auto& [row, title] : {std::pair("4b", "total tokens rank worse"),
                                     std::pair("5a", "output length explains the time")}) {
      result.findings.push_back({row, title, "", "no fit", "No fit of this server is given: " + why,
                                 TourVerdict::kCannotTell});
    }
  }
  result.findings.push_back(across_deployments(published));
  result.documents.push_back(lab::prediction_json(published.a, published.b, published.prediction));
  return result;
}

}  // namespace pawl::cli
