// SPDX-License-Identifier: Apache-2.0
// A trace of a small model holds; each way of tampering with it is found at its step.
#include "probe/trace_verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/digest.h"
#include "engine/engine.h"
#include "kernels/kernels.h"
#include "probe/policy_json.h"
#include "probe/trace_writer.h"
#include "support/golden.h"

namespace pawl::probe {
namespace {

using base::TokenId;
using Lines = std::vector<std::string>;

// SHA-256 of "02000000 05000000 ffffff7f" (hex) by coreutils' sha256sum.
TEST(Trace, ThePrefixIsHashedAsLittleEndianWords) {
  const std::vector<TokenId> ids{2, 5, 0x7fffffff};
  std::vector<std::byte> bytes;
  for (const int value : {2, 0, 0, 0, 5, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f}) {
    bytes.push_back(std::byte(value));
  }
  EXPECT_EQ(prefix_sha256(ids), base::sha256_hex(bytes));
}

TEST(Trace, ARowIsKeptByItsDigestItsLargestAndTheirGap) {
  const std::vector<float> row{0.0F, 2.0F, -1.0F, 2.0F, 1.5F};
  base::TaskPool pool(2);
  const auto table = kernels::choose_table("");
  ASSERT_TRUE(table.ok());
  const TraceRow kept = trace_row(row, 3, **table, pool);
  ASSERT_EQ(kept.top.size(), 3u);
  EXPECT_EQ(kept.top[0].id, 1);
  EXPECT_EQ(kept.top[1].id, 3);
  EXPECT_EQ(kept.top[2].id, 4);
  EXPECT_EQ(kept.gap, 0.0);
  EXPECT_EQ(trace_row(row, 1, **table, pool).gap, 0.0);
  double sum = 0;
  for (const float x : row) sum += std::exp(double{x});
  EXPECT_NEAR(kept.top[2].p, std::exp(1.5) / sum, 1e-6);
}

// Against a sort and a sum in double, over pieces, blocks and a rest; some entries are -inf.
TEST(Trace, ALongRowIsKeptAsWell) {
  base::TaskPool pool(2);
  const auto table = kernels::choose_table("");
  ASSERT_TRUE(table.ok());
  for (const size_t size : {1, 2, 63, 64, 65, 4096, 4097, 20011}) {
    std::vector<float> row(size);
    std::vector<int> order(size);
    double sum = 0;
    for (size_t i = 0; i < size; ++i) {
      row[i] = static_cast<float>(i * 7919 % 1009) / 50.0F;
      if (i >= 4096 && i < 8192) row[i] = -INFINITY;
      sum += std::exp(double{row[i]});
      order[i] = static_cast<int>(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return row[static_cast<size_t>(a)] > row[static_cast<size_t>(b)];
    });
    const TraceRow kept = trace_row(row, 7, **table, pool);
    EXPECT_EQ(kept.gap.has_value(), size > 1);
    ASSERT_EQ(kept.top.size(), std::min<size_t>(size, 7));
    for (size_t i = 0; i < kept.top.size(); ++i) {
      const float logit = row[static_cast<size_t>(order[i])];
      EXPECT_EQ(kept.top[i].id, order[i]) << size;
      EXPECT_EQ(kept.top[i].logit, logit);
      EXPECT_NEAR(kept.top[i].p * sum / std::exp(double{logit}), 1, 1e-5);
    }
  }
}

TEST(PolicyJson, HoldsWhatIsNotNeutralAndNothingElse) {
  policy::Policy policy;
  EXPECT_EQ(policy_json(policy).dump(), "{}");
  policy.temperature = 0.7;
  policy.top_k = 40;
  policy.ignore_eos = true;
  policy.logit_bias = {{3, -1.5}};
  policy.banned = {4, 5};
  policy.dry_sequence_breakers = {{1, 2}};
  policy.samplers = {policy::Stage::kTopK, policy::Stage::kTemperature};
  const auto again = parse_policy(policy_json(policy));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->temperature, 0.7);
  EXPECT_EQ(again->top_k, 40);
  EXPECT_TRUE(again->ignore_eos);
  EXPECT_EQ(again->logit_bias, policy.logit_bias);
  EXPECT_EQ(again->banned, policy.banned);
  EXPECT_EQ(again->dry_sequence_breakers, policy.dry_sequence_breakers);
  EXPECT_EQ(again->samplers, policy.samplers);
}

TEST(PolicyJson, RefusesByName) {
  for (const auto& [text, offender] : std::vector<std::pair<std::string, std::string>>{
           {"[]", "policy"},
           {R"({"temprature": 1})", "temprature"},
           {R"({"temperature": -1})", "temperature"},
           {R"({"top_p": "x"})", "top_p"},
           {R"({"banned": [-1]})", "banned"},
           {R"({"logit_bias": [[1]]})", "logit_bias"},
           {R"({"samplers": ["nope"]})", "samplers"}}) {
    const auto policy = parse_policy(base::parse_json(text).value());
    ASSERT_FALSE(policy.ok()) << text;
    EXPECT_NE(policy.error().message.find(offender), std::string::npos) << policy.error().message;
  }
}

class Sink final : public engine::EventSink {
 public:
  void on_delta(const engine::Delta&) override {}
  void on_finished(const engine::Finished& finished) override { reason = finished.reason; }
  engine::FinishReason reason{};
};

class TraceTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto path = tests::golden_path("tiny/gemma3.gguf");
    if (!path) GTEST_SKIP() << "missing: golden/tiny/gemma3.gguf";
    auto runtime = engine::Runtime::open(*path, {.threads = 2});
    ASSERT_TRUE(runtime.ok()) << runtime.error().message;
    runtime_ = std::move(runtime).value();
  }

  static TraceHeader header() {
    TraceHeader header;
    header.pawl_version = "0.0.0";
    header.model = "tiny";
    header.model_sha256 = std::string(64, 'a');
    header.tokenizer = "llama";
    header.isa = "any";
    header.threads = 2;
    header.policy.ignore_eos = true;
    header.policy.seed = 7;
    header.prompt = {2};
    for (int i = 1; i < 20; ++i) header.prompt.push_back(6 + i * 37 % 500);
    return header;
  }

  // A prompt of 20 in passes of 8, then `tokens` - 1 more passes.
  Lines traced(const TraceHeader& header, int64_t tokens = 12) {
    Lines lines;
    TraceWriter writer(*runtime_, header, 5, clock_, [&](std::string_view line) {
      lines.emplace_back(line);
      return base::Result<void>();
    });
    auto engine = engine::Engine::create(
        *runtime_, {.context = 128, .max_sequences = 1, .tokens_per_step = 8}, clock_, &writer);
    EXPECT_TRUE(engine.ok());
    Sink sink;
    engine::Request request;
    request.prompt = header.prompt;
    request.policy = header.policy;
    request.stops.max_tokens = tokens;
    request.sink = &sink;
    EXPECT_TRUE((*engine)->submit(std::move(request)).ok());
    (*engine)->run_until_idle();
    EXPECT_TRUE(writer.finish(engine::finish_reason_name(sink.reason)).ok());
    return lines;
  }

  static base::Result<Trace> parsed(const Lines& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + '\n';
    return parse_trace(text);
  }

  std::vector<Verdict> verified(const Lines& lines) {
    auto trace = parsed(lines);
    EXPECT_TRUE(trace.ok()) << trace.error().message;
    std::vector<Verdict> verdicts = verify_chain(*trace);
    if (!all_hold(verdicts)) return verdicts;
    auto computed = verify_by_computing(*trace, *runtime_, 1);
    EXPECT_TRUE(computed.ok());
    for (Verdict& verdict : *computed) verdicts.push_back(std::move(verdict));
    return verdicts;
  }

  // Replaces the first `from` in the line.
  static void replace(std::string& line, std::string_view from, std::string_view to) {
    const size_t at = line.find(from);
    ASSERT_NE(at, std::string::npos) << from << " in " << line;
    line.replace(at, from.size(), to);
  }

  // Another value at the key: its first digit that can be changed is.
  static void change_after(std::string& line, std::string_view key) {
    size_t at = line.find("\"" + std::string(key) + "\":");
    ASSERT_NE(at, std::string::npos) << key;
    at = line.find_first_of("0123456789", at + key.size() + 3);
    // Of "xxh3-128:…" the digits behind the colon.
    if (const size_t name = line.find("xxh3-128:", at - 6); name < at) at = name + 9;
    line[at] = line[at] == '1' ? '2' : '1';
  }

  void expect_found(const std::function<void(Lines&)>& tamper, int64_t step,
                    std::string_view reason) {
    TraceHeader sampled = header();
    Lines lines = traced(sampled);
    tamper(lines);
    const auto verdicts = verified(lines);
    ASSERT_FALSE(all_hold(verdicts));
    const Verdict& last = verdicts.back();
    EXPECT_EQ(last.outcome, Verdict::Outcome::kFails);
    EXPECT_EQ(last.step, step) << last.reason;
    EXPECT_NE(last.reason.find(reason), std::string::npos) << last.reason;
  }

  base::SteadyClock clock_;
  std::unique_ptr<engine::Runtime> runtime_;
};

// Lines: the header, 3 passes over the prompt (steps 0 to 2), 11 that decode (3 to 13), the end.
constexpr size_t line_of(size_t step) {
  return step + 1;
}

TEST_F(TraceTest, AnUntouchedTraceHolds) {
  const Lines lines = traced(header());
  ASSERT_EQ(lines.size(), 1u + 3 + 11 + 1);
  const auto verdicts = verified(lines);
  ASSERT_EQ(verdicts.size(), 5u);
  for (const Verdict& verdict : verdicts) {
    EXPECT_EQ(verdict.outcome, Verdict::Outcome::kHolds) << verdict.name << ": " << verdict.reason;
  }
}

TEST_F(TraceTest, EveryPolicyIsReplayed) {
  for (const int variant : {0, 1, 2, 3, 4}) {
    TraceHeader h = header();
    if (variant == 0) h.policy.temperature = 0;
    if (variant == 1) h.policy.top_p = 0.8, h.policy.repetition_penalty = 1.3;
    if (variant == 2) h.policy.mirostat = 2;
    if (variant == 3) h.policy.dry_multiplier = 0.8, h.policy.xtc_probability = 0.5;
    if (variant == 4) h.policy.logit_bias = {{9, 3.0}}, h.policy.banned = {11, 12};
    const auto verdicts = verified(traced(h, 24));
    EXPECT_TRUE(all_hold(verdicts)) << variant << ": " << verdicts.back().reason;
  }
}

TEST_F(TraceTest, OneTokenHasNoneBefore) {
  const auto verdicts = verified(traced(header(), 1));
  EXPECT_TRUE(all_hold(verdicts));
  EXPECT_EQ(verdicts.back().outcome, Verdict::Outcome::kNotChecked);
}

TEST_F(TraceTest, ReadsAsJsonForOthers) {
  const Lines lines = traced(header());
  const auto first = nlohmann::json::parse(lines[0]);
  EXPECT_EQ(first["policy"], (nlohmann::json{{"ignore_eos", true}}));
  std::vector<int> ids = first["prompt_ids"];
  for (size_t step = 0; step + 2 < lines.size(); ++step) {
    const auto line = nlohmann::json::parse(lines[line_of(step)]);
    EXPECT_EQ(line["step"], step);
    EXPECT_EQ(line["kind"], step < 3 ? "prefill" : "decode");
    const size_t prefix = line["prefix_len"];
    EXPECT_EQ(prefix, step < 2 ? 8 * (step + 1) : ids.size());
    if (step < 2) {
      EXPECT_TRUE(line["selected"].is_null() && line["logits_digest"].is_null());
      continue;
    }
    EXPECT_EQ(line["top"].size(), 5u);
    EXPECT_NEAR(line["gap"], double(line["top"][0]["logit"]) - double(line["top"][1]["logit"]),
                1e-6);
    ids.push_back(line["selected"]["id"]);
  }
  const auto end = nlohmann::json::parse(lines.back());
  EXPECT_EQ(end["passes"], 14);
  EXPECT_EQ(end["selected"], 12);
}

TEST_F(TraceTest, FindsSwappedLines) {
  expect_found([](Lines& l) { std::swap(l[line_of(5)], l[line_of(6)]); }, 5, "says step 6");
}
TEST_F(TraceTest, FindsADroppedStep) {
  expect_found([](Lines& l) { l.erase(l.begin() + line_of(7)); }, 7, "says step 8");
}
TEST_F(TraceTest, FindsADroppedStepThatWasRenumbered) {
  expect_found(
      [](Lines& l) {
        l.erase(l.begin() + line_of(7));
        for (size_t s = 7; s < 13; ++s) {
          replace(l[line_of(s)], "\"step\": " + std::to_string(s + 1),
                  "\"step\": " + std::to_string(s));
        }
      },
      7, "where the step before selected");
}
TEST_F(TraceTest, FindsAChangedId) {
  expect_found([](Lines& l) { change_after(l[line_of(4)], "selected"); }, 4,
               "but the next step goes on from");
}
TEST_F(TraceTest, FindsAChangedIdInTheLastStep) {
  expect_found([](Lines& l) { change_after(l[line_of(13)], "selected"); }, 13,
               "this seed and policy select");
}
TEST_F(TraceTest, FindsAChangedInput) {
  expect_found([](Lines& l) { change_after(l[line_of(6)], "inputs"); }, 6, "at position");
}
TEST_F(TraceTest, FindsAChangedDigest) {
  expect_found([](Lines& l) { change_after(l[line_of(8)], "logits_digest"); }, 8, "logits_digest");
}
TEST_F(TraceTest, FindsAChangedPrefixHash) {
  expect_found([](Lines& l) { change_after(l[line_of(3)], "prefix_sha256"); }, 3,
               "does not extend");
}
TEST_F(TraceTest, FindsAChangedProbability) {
  expect_found([](Lines& l) { change_after(l[line_of(9)], "p"); }, 9, "top or gap");
}
TEST_F(TraceTest, FindsAChangedGap) {
  expect_found([](Lines& l) { change_after(l[line_of(9)], "gap"); }, 9, "gap");
}
TEST_F(TraceTest, FindsAMissingEnd) {
  expect_found([](Lines& l) { l.pop_back(); }, 14, "closing line is missing");
}
TEST_F(TraceTest, FindsALineThatIsCut) {
  expect_found(
      [](Lines& l) {
        l.resize(line_of(10));
        l.back().resize(l.back().size() / 2);
      },
      9, "line 11");
}
TEST_F(TraceTest, FindsAnAddedLine) {
  expect_found([](Lines& l) { l.push_back(l[line_of(13)]); }, 14, "after the closing line");
}
TEST_F(TraceTest, FindsADoubledLine) {
  expect_found([](Lines& l) { l.insert(l.begin() + line_of(5), l[line_of(4)]); }, 5, "says step 4");
}
TEST_F(TraceTest, FindsAnEmptyLine) {
  expect_found([](Lines& l) { l.insert(l.begin() + line_of(5), ""); }, 5, "line 7");
}
TEST_F(TraceTest, FindsAWrongCount) {
  expect_found([](Lines& l) { change_after(l.back(), "passes"); }, 14, "closing line says");
}
TEST_F(TraceTest, FindsAChangedPromptId) {
  expect_found([](Lines& l) { change_after(l[0], "prompt_ids"); }, 0, "where the prompt has");
}
TEST_F(TraceTest, FindsAChangedSeed) {
  // The first step that draws another token from the same logits.
  TraceHeader h = header();
  h.policy.seed = 8;
  const Lines mine = traced(header()), other = traced(h);
  int64_t step = 0;
  const auto selected = [](const std::string& line) {
    return nlohmann::json::parse(line)["selected"];
  };
  while (selected(mine[line_of(static_cast<size_t>(step))]) ==
         selected(other[line_of(static_cast<size_t>(step))])) {
    ++step;
  }
  expect_found([](Lines& l) { replace(l[0], "\"seed\": 7", "\"seed\": 8"); }, step,
               "this seed and policy select");
}
TEST_F(TraceTest, FindsAChangedPolicy) {
  Lines lines = traced(header());
  replace(lines[0], "\"ignore_eos\": true", "\"temperature\": 0");
  const auto verdicts = verified(lines);
  EXPECT_EQ(verdicts.back().outcome, Verdict::Outcome::kFails);
  EXPECT_NE(verdicts.back().reason.find("this seed and policy"), std::string::npos);
}
TEST_F(TraceTest, FindsAnIdOutsideTheVocabulary) {
  TraceHeader h = header();
  Lines lines = traced(h);
  Lines other = lines;
  other.resize(1);
  h.prompt = {2, 100000};
  auto trace = parsed({header_line(h)});
  ASSERT_TRUE(trace.ok());
  TraceStep step;
  step.is_prefill = true;
  step.prefix_len = 2;
  step.prefix_sha256 = prefix_sha256(h.prompt);
  step.inputs = h.prompt;
  step.selected = 5;
  step.row = TraceRow{"xxh3-128:" + std::string(32, '0'), {{5, 1.0F, 0.5}}, {}};
  trace->steps = {step};
  trace->end = TraceEnd{1, 1, 1, "length"};
  ASSERT_TRUE(all_hold(verify_chain(*trace)));
  const auto verdicts = verify_by_computing(*trace, *runtime_, 1);
  ASSERT_TRUE(verdicts.ok());
  EXPECT_NE(verdicts->back().reason.find("100000"), std::string::npos);
}

TEST(TraceVerify, AnotherModelIsNamedWithBothHashes) {
  TraceHeader header;
  header.model = "one";
  header.model_sha256 = std::string(64, 'a');
  const Verdict verdict = verify_model(header, "two", std::string(64, 'b'));
  EXPECT_EQ(verdict.outcome, Verdict::Outcome::kFails);
  EXPECT_NE(verdict.reason.find(std::string(64, 'a')), std::string::npos);
  EXPECT_NE(verdict.reason.find(std::string(64, 'b')), std::string::npos);
  EXPECT_EQ(verify_model(header, "one", header.model_sha256).outcome, Verdict::Outcome::kHolds);
}

TEST(TraceFile, WhatIsNoTraceIsAnError) {
  for (const std::string text :
       {"", "\n", "hello", "{}", "[]", "{\"kind\": \"header\"}", "{\"pawl_trace\": 2}",
        "{\"pawl_trace\": 1}", "\xff\xfe", "{\"pawl_trace\": \"1\"}"}) {
    const auto trace = parse_trace(text);
    EXPECT_FALSE(trace.ok()) << text;
  }
}

}  // namespace
}  // namespace pawl::probe
