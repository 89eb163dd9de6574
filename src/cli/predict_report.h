// SPDX-License-Identifier: Apache-2.0
// Predictions and their score for a person at a terminal.
#pragma once

#include "lab/predict.h"
#include "lab/score.h"

namespace pawl::cli {

void print_prediction(const lab::Side& a, const lab::Side& b, const lab::Prediction& prediction);
void print_score(const lab::Score& score, const lab::Conditions& conditions);

}  // namespace pawl::cli
