// SPDX-License-Identifier: Apache-2.0
#include "bridge/validator.h"

#include <utility>

#include "bridge/text.h"

namespace pawl::bridge {

void Validator::Free::operator()(pawl_validator* validator) const {
  pawl_validator_free(validator);
}

base::Result<Validator> Validator::compile(std::string_view schema, int32_t draft,
                                           bool checks_formats) {
  pawl_validator* compiled = nullptr;
  pawl_text message{};
  const int32_t status = pawl_validator_compile(schema.data(), schema.size(), draft,
                                                checks_formats ? 1 : 0, &compiled, &message);
  std::string text = take(message);
  if (status != PAWL_BRIDGE_OK) return error_of(status, std::move(text), "schema");
  return Validator(compiled);
}

base::Result<std::string> Validator::check(std::string_view instance) const {
  pawl_text message{};
  const int32_t status =
      pawl_validator_check(compiled_.get(), instance.data(), instance.size(), &message);
  std::string text = take(message);
  if (status != PAWL_BRIDGE_OK) return error_of(status, std::move(text), "answer");
  return text;
}

}  // namespace pawl::bridge
