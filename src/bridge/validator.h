// SPDX-License-Identifier: Apache-2.0
// A JSON Schema as a judge of finished texts: an implementation that has nothing in common with the
// one that makes grammars.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct pawl_validator;  // bridge.h

namespace pawl::bridge {

// Threads: immutable; any number of threads may check at once. Each call runs on a thread of its
// own, with a stack for what the input nests, and waits for it.
class Validator {
 public:
  // draft: 4, 6, 7, 2019 or 2020, for a schema that does not name its own. Error kInvalidArgument:
  // no schema, and what is wrong with it.
  static base::Result<Validator> compile(std::string_view schema, int32_t draft,
                                         bool checks_formats);

  // Empty when the text is JSON and valid; else what is wrong, and where.
  base::Result<std::string> check(std::string_view instance) const;

 private:
  struct Free {
    void operator()(pawl_validator* validator) const;
  };
  explicit Validator(pawl_validator* compiled) : compiled_(compiled) {}

  std::unique_ptr<pawl_validator, Free> compiled_;
};

}  // namespace pawl::bridge
