// SPDX-License-Identifier: Apache-2.0
// The signs of split.h: what a fit of time against length cannot be, and lengths that cost the
// same.
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "lab/split.h"
#include "lab/stats.h"

namespace pawl::lab {

std::string_view symptom_name(SymptomKind kind) {
  switch (kind) {
    case SymptomKind::kNegativeStartUp:
      return "negative start-up";
    case SymptomKind::kNegativePerToken:
      return "negative time per token";
    case SymptomKind::kFlatArm:
      return "flat arm";
    case SymptomKind::kStep:
      return "step";
    case SymptomKind::kNoStartUp:
      return "no start-up";
    case SymptomKind::kTooFew:
      return "too few";
  }
  return "";
}

std::vector<Symptom> signs_in(const Fit& fit, std::string_view what) {
  std::vector<Symptom> symptoms;
  if (fit.coefficient(0) < 0) {
    symptoms.push_back(
        {SymptomKind::kNegativeStartUp, true,
         fmt::format(
             "{}: the fit starts at {:.4g} ms, which cannot be: the curve bends, a length is "
             "cut or cached, or a few long requests carry all the weight",
             what, fit.coefficient(0))});
  }
  if (fit.coefficient(1) < 0) {
    symptoms.push_back(
        {SymptomKind::kNegativePerToken, true,
         fmt::format("{}: {:.4g} ms for one token more, which cannot be: a cache, or "
                     "a prompt that is cut",
                     what, fit.coefficient(1))});
  }
  return symptoms;
}

std::vector<Symptom> steps_in(const Fit& fit, std::string_view what) {
  std::map<double, std::vector<double>> lengths;
  for (const Sample& sample : fit.samples) lengths[sample.x].push_back(sample.y);
  std::vector<Symptom> symptoms;
  for (auto above = lengths.begin(), below = above; above != lengths.end(); below = above++) {
    if (above == below) continue;
    const double rise = fit.at(above->first) - fit.at(below->first);
    const double least = median_of(below->second), most = median_of(above->second);
    const auto square_error = [](const std::vector<double>& values) {
      const double deviation = deviation_of(values);
      return deviation * deviation / static_cast<double>(values.size());
    };
    // With repetitions the rise must stand out of their noise; a table of medians has none to
    // compare with, and there only near equality is a step.
    const bool has_noise = above->second.size() > 1 && below->second.size() > 1;
    const double noise = std::sqrt(square_error(above->second) + square_error(below->second));
    constexpr double kClear = 5, kVisible = 0.1;
    const bool is_expected = rise > kVisible * least && (!has_noise || rise > kClear * noise);
    const double allowed = has_noise ? 0.2 * rise : 0.02 * rise;
    if (!is_expected || std::abs(most - least) > allowed) continue;
    symptoms.push_back({SymptomKind::kStep, false,
                        fmt::format("{}: {:.0f} and {:.0f} tokens take the same time ({:.2f} and "
                                    "{:.2f} ms) where {:.0f} ms more are expected: padding",
                                    what, below->first, above->first, least, most, rise)});
  }
  return symptoms;
}

}  // namespace pawl::lab
