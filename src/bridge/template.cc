// SPDX-License-Identifier: Apache-2.0
#include "bridge/template.h"

#include <utility>

#include "bridge/text.h"

namespace pawl::bridge {
namespace {

using base::Error;
using base::ErrorCode;

Error render_error(int32_t status, std::string message) {
  switch (status) {
    case PAWL_BRIDGE_RAISED:
      return {ErrorCode::kInvalidArgument, std::move(message), "chat template"};
    case PAWL_BRIDGE_BAD_INPUT:
      return {ErrorCode::kInvalidArgument, "variables of the template: " + message, ""};
    case PAWL_BRIDGE_PANIC:
      return {ErrorCode::kUnsupported, std::move(message), "chat template"};
    default:
      return {ErrorCode::kInvalidArgument, std::move(message), "chat template"};
  }
}

}  // namespace

void Template::Free::operator()(pawl_template* compiled) const {
  pawl_template_free(compiled);
}

base::Result<Template> Template::compile(std::string_view source) {
  pawl_template* compiled = nullptr;
  pawl_text text{};
  const int32_t status = pawl_template_compile(source.data(), source.size(), &compiled, &text);
  std::string message = take(text);
  if (status == PAWL_BRIDGE_OK) return Template(compiled);
  if (status == PAWL_BRIDGE_BAD_INPUT) message = "the template " + message;
  return Error{status == PAWL_BRIDGE_PANIC ? ErrorCode::kUnsupported : ErrorCode::kBadFile,
               std::move(message), "chat template"};
}

base::Result<std::string> Template::render(std::string_view variables,
                                           const RenderLimits& limits) const {
  const pawl_template_limits border{limits.fuel, limits.output_bytes, limits.local_seconds};
  pawl_text text{};
  const int32_t status =
      pawl_template_render(compiled_.get(), variables.data(), variables.size(), &border, &text);
  if (status == PAWL_BRIDGE_OK) return take(text);
  return render_error(status, take(text));
}

}  // namespace pawl::bridge
