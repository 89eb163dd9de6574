// SPDX-License-Identifier: Apache-2.0
#include "model/config.h"

#include <gtest/gtest.h>

#include "gguf/writer.h"

namespace pawl::model {
namespace {

TEST(Placeholder, Config) {}

}  // namespace
}  // namespace pawl::model
