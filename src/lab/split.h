// SPDX-License-Identifier: Apache-2.0
// The two clocks of a request: the prompt moves the start-up, the output moves the tail.
//
//   time to first token(P)      a + b·P, or a + b·P + d·P² where the data ask for it; P without the
//                               template's tokens where a cache held them each time (shared_head)
//   time per output token(x)    c0 + c1·x, x the context its tokens saw on average
//   time to the last token      time to first token(P) + (O − 1) · time per output token(P + O/2)
//
// Computed from the points of a profile alone. What cannot be so is refused and named: a fit with a
// negative start-up is a sign of something, not a start-up.
// Threads: any; a Split is a value.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/bootstrap.h"
#include "lab/fit.h"
#include "lab/profile.h"

namespace pawl::lab {

struct Estimate {
  double value = 0;
  Interval interval;  // 95 %
};

enum class SymptomKind {
  kNegativeStartUp,   // a < 0 beyond its interval
  kNegativePerToken,  // b < 0 or c0 < 0
  kFlatArm,           // the time does not grow with the prompt: a cache, or a prompt that is cut
  kStep,              // two lengths take the same time: padding
  kNoStartUp,         // a is not to be told from 0 and was left out
  kTooFew,            // not enough lengths for a fit
};
std::string_view symptom_name(SymptomKind kind);

struct Symptom {
  SymptomKind kind;
  bool refuses = false;  // no fit is given because of it
  std::string text;      // one line with the numbers
};

// Signs in a fit of time against length, whatever its weights: a negative constant or slope.
// `what`: "time to first token".
std::vector<Symptom> signs_in(const Fit& fit, std::string_view what);
// Pairs of neighbouring lengths that take the same time where `fit` expects a rise well above the
// noise of the repetitions.
std::vector<Symptom> steps_in(const Fit& fit, std::string_view what);

class Split {
 public:
  // Points of the arms "prompt" and "output"; others are held out.
  static Split of(std::span<const Point> points, uint64_t seed);

  const std::vector<Symptom>& symptoms() const { return symptoms_; }
  bool is_usable() const { return start_up_ && per_token_; }

  // Nothing where the fit was refused.
  const Fit* start_up() const { return start_up_ ? &start_up_->fit : nullptr; }
  const Fit* per_token() const { return per_token_ ? &per_token_->fit : nullptr; }

  // Each REQUIRES: is_usable(). P and O are tokens, x tokens of context.
  Estimate start_up_coefficient(int power) const;  // 0 without interval where it has none
  Estimate per_token_coefficient(int power) const;
  Estimate first_token_ms(double prompt) const;
  double first_token_at(double prompt) const;     // its value; REQUIRES: start_up()
  Estimate prompt_token_ms(double prompt) const;  // one more prompt token at that length
  Estimate output_token_ms(double context) const;
  // Prompt tokens that take as long as one output token, at these lengths.
  Estimate exchange_rate(double prompt, double context) const;

  // Time to the last token: the mean of requests of that shape, …
  Estimate mean_request_ms(double prompt, double output) const;
  double mean_request_at(double prompt, double output) const;  // its value alone
  // … its values over the draws, …
  std::vector<double> mean_request_draws(double prompt, double output) const;
  // … and a single one, with the noise that single requests of like lengths have.
  Estimate single_request_ms(double prompt, double output) const;

  // The lengths that were measured: outside of them a value is extrapolated.
  Interval prompt_range() const { return prompts_; }
  Interval output_range() const { return outputs_; }
  bool is_inside(double prompt, double output) const;

 private:
  struct Part {
    Fit fit;
    Bootstrap bootstrap;
    std::vector<double> lengths;  // [sample]: prompt or output tokens, for like requests
  };
  void fit_start_up(std::span<const Point> points);
  void fit_per_token(std::span<const Point> points);
  std::vector<double> noise(const Part& part, double length, uint64_t stream) const;

  uint64_t seed_ = 0;
  double head_ = 0;  // tokens of every prompt that cost nothing
  std::optional<Part> start_up_, per_token_;
  std::vector<Symptom> symptoms_;
  Interval prompts_, outputs_;
};

}  // namespace pawl::lab
