// SPDX-License-Identifier: Apache-2.0
#include "probe/roofline.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/utf8.h"

namespace pawl::probe {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

constexpr double kMostFigure = 1e12;  // no machine, in any of the units

Error bad(size_t index, std::string_view key, std::string_view wanted) {
  return {ErrorCode::kBadFile,
          "hardware[" + std::to_string(index) + "]." + std::string(key) + " is not " +
              std::string(wanted),
          ""};
}

Result<std::string> text_of(const Json& json, size_t index, std::string_view key) {
  const Json* member = json.find(key);
  const std::string* text = member != nullptr ? member->as_string() : nullptr;
  if (text == nullptr || text->empty()) return bad(index, key, "a text");
  return *text;
}

Result<double> figure_of(const Json& json, size_t index, std::string_view key) {
  const Json* member = json.find(key);
  const auto figure = member != nullptr ? member->to_double() : std::nullopt;
  if (!figure || !(*figure > 0 && *figure < kMostFigure)) {
    return bad(index, key, "a number above 0 and below 1e12");
  }
  return *figure;
}

RooflinePass pass_of(const Hardware& hardware, const Deployment& deployment, double bytes,
                     double operations) {
  RooflinePass pass;
  pass.bytes = bytes;
  pass.operations = operations;
  pass.bound = pass.intensity() >= hardware.ridge() ? Bound::kCompute : Bound::kBandwidth;
  const double computing = operations / (deployment.prefill_share * hardware.operations_per_s);
  const double reading = bytes / (deployment.decode_share * hardware.bytes_per_s);
  pass.seconds = std::max(computing, reading);
  return pass;
}

}  // namespace

std::string_view bound_name(Bound bound) {
  switch (bound) {
    case Bound::kCompute:
      return "compute";
    case Bound::kBandwidth:
      return "bandwidth";
    case Bound::kNeither:
      return "neither";
  }
  return "";
}

Result<std::vector<Hardware>> parse_hardware(std::string_view text) {
  PAWL_TRY(const Json document, base::parse_json(text));
  const Json* list = document.find("hardware");
  const Json::Array* entries = list != nullptr ? list->as_array() : nullptr;
  if (entries == nullptr || entries->empty()) {
    return Error{ErrorCode::kBadFile, "\"hardware\" is not a list of machines", ""};
  }
  std::vector<Hardware> machines;
  for (size_t i = 0; i < entries->size(); ++i) {
    const Json& entry = (*entries)[i];
    Hardware machine;
    PAWL_TRY(machine.name, text_of(entry, i, "name"));
    PAWL_TRY(const double read, figure_of(entry, i, "read_GBps"));
    PAWL_TRY(const double compute, figure_of(entry, i, "TFLOPS"));
    machine.bytes_per_s = read * 1e9;
    machine.operations_per_s = compute * 1e12;
    PAWL_TRY(machine.arithmetic, text_of(entry, i, "arithmetic"));
    PAWL_TRY(machine.source, text_of(entry, i, "source"));
    machines.push_back(std::move(machine));
  }
  return machines;
}

Roofline evaluate(const Hardware& hardware, const Deployment& deployment) {
  const double weights = deployment.parameters * deployment.weight_bits / 8;
  const double context = static_cast<double>(deployment.prompt) * deployment.kv_bytes;
  const auto prompt = static_cast<double>(deployment.prompt);
  const auto batch = static_cast<double>(deployment.batch);
  Roofline result;
  result.prefill =
      pass_of(hardware, deployment, weights + context, 2 * deployment.parameters * prompt);
  result.decode =
      pass_of(hardware, deployment, weights + batch * context, 2 * deployment.parameters * batch);
  result.prefill_tokens_per_s = prompt / result.prefill.seconds;
  result.decode_tokens_per_s = 1 / result.decode.seconds;
  result.exchange = result.decode.seconds / batch * result.prefill_tokens_per_s;
  return result;
}

}  // namespace pawl::probe
