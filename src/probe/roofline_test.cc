// SPDX-License-Identifier: Apache-2.0
// The roofline against figures that are published elsewhere or follow by hand.
#include "probe/roofline.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace pawl::probe {
namespace {

std::vector<Hardware> shipped() {
  std::ifstream in(PAWL_SOURCE_DIR "/data/hardware.json");
  std::stringstream text;
  text << in.rdbuf();
  auto machines = parse_hardware(text.str());
  EXPECT_TRUE(machines.ok());
  return machines.ok() ? *machines : std::vector<Hardware>{};
}

Hardware named(std::string_view name) {
  for (const Hardware& machine : shipped()) {
    if (machine.name == name) return machine;
  }
  ADD_FAILURE() << name << " is not shipped";
  return {};
}

TEST(Roofline, RidgesOfTheShippedMachinesAreThePublishedOnes) {
  EXPECT_NEAR(named("A100-80GB").ridge(), 153, 0.5);
  EXPECT_NEAR(named("H200").ridge(), 206, 0.5);
  EXPECT_NEAR(named("H100-SXM").ridge(), 295, 0.5);
  EXPECT_NEAR(named("RTX-4090").ridge(), 164, 0.5);
}

TEST(Roofline, EightBillionAt16BitsOnAnH200CannotExceed299TokensPerSecond) {
  const Roofline best =
      evaluate(named("H200"), {.kv_bytes = 0, .prompt = 1, .prefill_share = 1, .decode_share = 1});
  EXPECT_NEAR(best.decode_tokens_per_s, 299, 0.5);
}

TEST(Roofline, KeysAndValuesOfEveryPositionAreRead) {
  // 8.03e9 weights of 2 bytes, and 8,192 positions of 128 KiB: 17.13 GB at 3.35 TB/s.
  const Roofline far =
      evaluate(named("H100-SXM"), {.prompt = 8192, .prefill_share = 1, .decode_share = 1});
  EXPECT_NEAR(1 / far.decode_tokens_per_s, (16.06e9 + 8192 * 131072.0) / 3.35e12, 1e-9);
}

TEST(Roofline, PrefillTakesTwiceTheParametersForEachToken) {
  const Roofline prefill = evaluate(named("A100-80GB"), {.parameters = 70e9, .prompt = 2000});
  EXPECT_EQ(prefill.prefill.bound, Bound::kCompute);
  EXPECT_NEAR(prefill.prefill.seconds, 2 * 70e9 * 2000 / (0.5 * 312e12), 1e-9);
}

// One request at a time, 16-bit weights: FLOP per byte times the ratio of the shares.
TEST(Roofline, AHundredTo140PromptTokensForAnOutputTokenOnDataCentreMachines) {
  const Deployment usual{.kv_bytes = 0};
  EXPECT_NEAR(evaluate(named("A100-80GB"), usual).exchange, 153 * 0.5 / 0.75, 0.5);
  EXPECT_NEAR(evaluate(named("H200"), usual).exchange, 206 * 0.5 / 0.75, 0.5);
  for (const char* name : {"A100-80GB", "H200"}) {
    const double exchange = evaluate(named(name), usual).exchange;
    EXPECT_TRUE(exchange >= 100 && exchange <= 140) << name << ": " << exchange;
  }
  // It hangs on the shares: with the whole of both an H100 stands at its ridge.
  const Roofline peak =
      evaluate(named("H100-SXM"), {.kv_bytes = 0, .prefill_share = 1, .decode_share = 1});
  EXPECT_NEAR(peak.exchange, 295, 1);
}

TEST(Roofline, ABatchSharesTheWeights) {
  const Roofline one = evaluate(named("H100-SXM"), {.kv_bytes = 0});
  const Roofline eight = evaluate(named("H100-SXM"), {.kv_bytes = 0, .batch = 8});
  EXPECT_NEAR(eight.exchange, one.exchange / 8, 1e-9);
  EXPECT_EQ(eight.decode.bound, Bound::kBandwidth);
  // As many sequences as operations per byte: arithmetic binds decode too.
  const Roofline many = evaluate(named("H100-SXM"), {.kv_bytes = 0, .batch = 512});
  EXPECT_EQ(many.decode.bound, Bound::kCompute);
}

TEST(Roofline, AShortPromptIsBoundByBandwidth) {
  EXPECT_EQ(evaluate(named("A100-80GB"), {.kv_bytes = 0, .prompt = 152}).prefill.bound,
            Bound::kBandwidth);
  EXPECT_EQ(evaluate(named("A100-80GB"), {.kv_bytes = 0, .prompt = 154}).prefill.bound,
            Bound::kCompute);
}

TEST(Roofline, AFileThatIsNoListOfMachinesNamesTheMember) {
  const std::string good =
      R"({"name": "a", "read_GBps": 1, "TFLOPS": 1, "arithmetic": "x", "source": "y"})";
  ASSERT_TRUE(parse_hardware(R"({"hardware": [)" + good + "]}").ok());
  for (const auto& [text, offender] : std::vector<std::pair<std::string, std::string>>{
           {"", "not JSON"},
           {"[]", "hardware"},
           {R"({"hardware": []})", "hardware"},
           {R"({"hardware": [)" + good + R"(, 7]})", "hardware[1].name"},
           {R"({"hardware": [{"name": ""}]})", "hardware[0].name"},
           {R"({"hardware": [{"name": "a", "read_GBps": 0}]})", "read_GBps"},
           {R"({"hardware": [{"name": "a", "read_GBps": "fast"}]})", "read_GBps"},
           {R"({"hardware": [{"name": "a", "read_GBps": 1, "TFLOPS": -1}]})", "TFLOPS"},
           {R"({"hardware": [{"name": "a", "read_GBps": 1, "TFLOPS": 1e300}]})", "TFLOPS"},
           {R"({"hardware": [{"name": "a", "read_GBps": 1, "TFLOPS": 1}]})", "arithmetic"}}) {
    const auto parsed = parse_hardware(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_NE(parsed.error().message.find(offender), std::string::npos)
        << text << ": " << parsed.error().message;
  }
}

}  // namespace
}  // namespace pawl::probe
