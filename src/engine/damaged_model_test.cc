// SPDX-License-Identifier: Apache-2.0
// Damaged model files, opened as a runtime opens them: each loads and then computes, or ends in an
// error of one line. Crashes, and reads outside, are for the sanitizers to see.
#include <gtest/gtest.h>

#include <cctype>
#include <ctime>
#include <random>

#include "engine/engine.h"
#include "support/golden.h"
#include "support/small_model.h"

namespace pawl::engine {
namespace {

// Of CPU time, for one file. Sanitizers make everything about ten times slower.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kMostSeconds = 10.0;
#else
constexpr double kMostSeconds = 1.0;
#endif

using Bytes = std::vector<std::byte>;

RuntimeOptions one_thread() {
  RuntimeOptions options;
  options.threads = 1;
  return options;
}

class Counter final : public EventSink {
 public:
  void on_delta(const Delta& delta) override { tokens += delta.id >= 0 ? 1 : 0; }
  void on_finished(const Finished& finished) override {
    ++finishes;
    error = finished.error;
  }
  int tokens = 0, finishes = 0;
  std::string error;
};

void expect_one_line(const base::Error& error) {
  EXPECT_FALSE(error.message.empty());
  EXPECT_LT(error.message.size(), 1000U);
  for (const char c : error.message + error.where) {
    EXPECT_FALSE(std::iscntrl(static_cast<unsigned char>(c))) << error.message;
  }
}

// A prompt of a few tokens through the whole step, greedily or drawn; what is chosen means nothing.
void generate(Runtime& runtime, double temperature) {
  const auto ids = runtime.tokenizer().encode("a ab", {.add_bos = true, .parse_special = true});
  ASSERT_TRUE(ids.ok()) << ids.error().message;
  const int64_t context = std::min<int64_t>(runtime.model()->config().context_length, 32);
  const base::SteadyClock clock;
  auto engine = Engine::create(
      runtime, {.context = context, .max_sequences = 1, .tokens_per_step = 16}, clock);
  if (!engine.ok()) return expect_one_line(engine.error());
  Counter counter;
  Request request;
  request.prompt = *ids;
  request.policy.temperature = temperature;
  request.policy.logprobs = true;
  request.stops.max_tokens = 2;
  request.sink = &counter;
  const auto submitted = (*engine)->submit(std::move(request));
  if (!submitted.ok()) return expect_one_line(submitted.error());
  (*engine)->run_until_idle();
  EXPECT_EQ(counter.finishes, 1);
}

// True when it loads.
bool open_and_run(Bytes bytes) {
  bytes.shrink_to_fit();  // so that a sanitizer sees the first byte behind
  const std::clock_t start = std::clock();
  auto file = gguf::open_bytes(bytes);
  if (!file.ok()) {
    expect_one_line(file.error());
    return false;
  }
  auto runtime = Runtime::create(*file, one_thread());
  if (runtime.ok()) {
    for (const std::string& warning : (*runtime)->warnings()) EXPECT_FALSE(warning.empty());
    generate(**runtime, 0);
    generate(**runtime, 1);
  } else {
    expect_one_line(runtime.error());
  }
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, kMostSeconds);
  return runtime.ok();
}

Bytes read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  Bytes bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

// Where the tensors' data begins, to damage what stands before more densely.
size_t data_begin(const Bytes& bytes) {
  const auto file = gguf::open_bytes(bytes);
  return static_cast<size_t>((*file)->tensors().front().data.data() - bytes.data());
}

// One to three changes: a bit, a byte, or a number of 2, 4 or 8 bytes near a border. Two in three
// hit what comes before the tensors' data; vocabularies fill most of that, so every second of those
// hits the first kilobytes or the last ones, where sizes and the tensor table stand.
void damage(Bytes& bytes, size_t head, std::mt19937_64& random) {
  constexpr uint64_t kBorders[] = {
      0,          1,          2,          3,          7,          0x7fff,     0x7c00,
      0xfc00,     0x7f800000, 0xff800000, 0x7fc00000, 0x7fffffff, 0x80000000, 0xffffffff,
      0x3f800000, 1ULL << 32, 1ULL << 62, ~0ULL >> 1, ~0ULL - 7,  ~0ULL,      0x40000000ULL};
  constexpr size_t kEdge = 2048;
  for (uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
    size_t begin = 0, end = bytes.size();
    if (random() % 3 != 0) {
      end = head;
      const uint64_t part = random() % 4;
      if (part == 0) end = std::min(head, kEdge);
      if (part == 1) begin = head - std::min(head, kEdge);
    }
    const size_t at = begin + random() % (end - begin);
    const uint64_t value = kBorders[random() % std::size(kBorders)];
    const size_t width = std::min<size_t>(size_t{2} << random() % 3, bytes.size() - at);
    switch (random() % 4) {
      case 0:
        bytes[at] ^= static_cast<std::byte>(1U << random() % 8);
        break;
      case 1:
        bytes[at] = static_cast<std::byte>(random());
        break;
      default:
        std::memcpy(bytes.data() + at, &value, width);
    }
  }
}

struct File {
  const char* name;
  size_t truncations, mutations;
};

class DamagedModel : public testing::TestWithParam<File> {};

TEST_P(DamagedModel, LoadsAndComputesOrEndsInAnError) {
  const auto path = tests::golden_path(GetParam().name);
  if (!path) GTEST_SKIP() << "missing: golden/" << GetParam().name;
  const Bytes whole = read_file(*path);
  ASSERT_TRUE(open_and_run(whole));
  const size_t truncations = GetParam().truncations;
  for (size_t i = 0; i < truncations; ++i) {
    const auto size = static_cast<std::ptrdiff_t>(i * whole.size() / truncations);
    EXPECT_FALSE(open_and_run({whole.begin(), whole.begin() + size})) << size << " bytes";
  }
  const size_t head = data_begin(whole), mutations = GetParam().mutations;
  std::mt19937_64 random(20250611);
  size_t loaded = 0;
  for (size_t i = 0; i < mutations && !HasFailure(); ++i) {
    Bytes bytes = whole;
    damage(bytes, head, random);
    loaded += open_and_run(std::move(bytes)) ? 1 : 0;
    if (HasFailure()) ADD_FAILURE() << "mutation " << i;
  }
  RecordProperty("loaded", static_cast<int>(loaded));
  // Both must happen, or the mutations do not test what they should.
  EXPECT_GT(loaded, mutations / 20);
  EXPECT_LT(loaded, mutations - mutations / 20);
}

// In all: more than 1,000 truncations and 10,000 mutations.
INSTANTIATE_TEST_SUITE_P(
    Files, DamagedModel,
    testing::Values(File{"tiny/qwen3.gguf", 300, 3000}, File{"tiny/llama-spm.gguf", 300, 3000},
                    File{"tiny/gemma3.gguf", 100, 1000}, File{"tiny/llama-moe.gguf", 50, 500},
                    File{"tiny/gpt-oss.gguf", 50, 500}, File{"tiny/deepseek2-mla.gguf", 50, 500},
                    File{"tiny/mamba.gguf", 50, 500}, File{"tiny/mamba2.gguf", 50, 500},
                    File{"tiny/lfm2moe.gguf", 50, 500}, File{"tiny/qwen3next.gguf", 50, 500},
                    File{"quants/llama-q4_k_m.gguf", 100, 1000},
                    File{"quants/llama-q6_k.gguf", 100, 1000},
                    File{"quants/llama-iq4_xs.gguf", 100, 1000}),
    [](const auto& file) {
      std::string name = file.param.name;
      for (char& c : name) c = std::isalnum(c) != 0 ? c : '_';
      return name;
    });

// ---- shapes that no real file has

bool loads(const tests::SmallModel& model) {
  return open_and_run(model.writer().bytes());
}

TEST(OddModel, TheSmallModelItselfGenerates) {
  for (const gguf::TensorType type : {gguf::TensorType::kF32, gguf::TensorType::kF16}) {
    EXPECT_TRUE(loads({.type = type}));
  }
  for (const gguf::TensorType type :
       {gguf::TensorType::kQ4_0, gguf::TensorType::kQ8_0, gguf::TensorType::kIQ4_NL}) {
    EXPECT_TRUE(loads({.width = 32, .head_dim = 16, .feed_forward = 32, .type = type}));
  }
  EXPECT_TRUE(loads({.architecture = "qwen3", .layers = 3, .has_output = true}));
}

TEST(OddModel, MoreQueryHeadsOnOneKvHeadThanATileOfAttentionHolds) {
  EXPECT_TRUE(loads({.heads = 64}));
  EXPECT_TRUE(loads({.heads = 65}));
  EXPECT_TRUE(loads({.heads = 4096}));
}

TEST(OddModel, WidthsThatFillNoVector) {
  for (const uint32_t width : {1u, 3u, 15u, 17u, 33u}) {
    EXPECT_TRUE(loads({.width = width, .heads = 3, .kv_heads = 3, .feed_forward = width}));
  }
  EXPECT_TRUE(loads({.heads = 1, .head_dim = 1024}));
  EXPECT_FALSE(loads({.heads = 1, .head_dim = 1028}));
}

TEST(OddModel, WeightsThatAreNoNumbersEndInAnErrorThatSaysSo) {
  Bytes bytes = tests::SmallModel().writer().bytes();
  const auto file = gguf::open_bytes(bytes);
  const auto norm = (*file)->find_tensor("output_norm.weight")->data;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(bytes.data() + (norm.data() - bytes.data()), &nan, sizeof(nan));
  auto runtime = Runtime::create(*file, one_thread());
  ASSERT_TRUE(runtime.ok());
  const base::SteadyClock clock;
  auto engine = Engine::create(**runtime, {.context = 16, .max_sequences = 1}, clock);
  Counter counter;
  Request request;
  request.prompt = {2};
  request.sink = &counter;
  ASSERT_TRUE((*engine)->submit(std::move(request)).ok());
  (*engine)->run_until_idle();
  EXPECT_NE(counter.error.find("not numbers"), std::string::npos) << counter.error;
}

TEST(OddModel, AContextOfOneLeavesNoRoom) {
  EXPECT_TRUE(loads({.context = 1}));
  EXPECT_TRUE(loads({.context = 1u << 30}));
  EXPECT_FALSE(loads({.context = 0}));
}

TEST(OddModel, AHeadSizeThatFollowsFromTheWidthIsLimitedToo) {
  gguf::Writer writer;
  writer.add("general.architecture", "llama");
  writer.add("llama.block_count", uint32_t{1});
  writer.add("llama.embedding_length", uint32_t{1 << 20});
  writer.add("llama.feed_forward_length", uint32_t{1});
  writer.add("llama.context_length", uint32_t{8});
  writer.add("llama.attention.head_count", uint32_t{1});
  const Bytes bytes = writer.bytes();
  const auto runtime = Runtime::create(*gguf::open_bytes(bytes), one_thread());
  ASSERT_FALSE(runtime.ok());
  EXPECT_NE(runtime.error().message.find("llama.attention.key_length"), std::string::npos);
  EXPECT_NE(runtime.error().message.find("1048576"), std::string::npos) << runtime.error().message;
}

// Rows are packed 16 at a time: a model of few and long ones would take a multiple of its file.
TEST(OddModel, RowsTooFewForTheirLengthAreRefused) {
  const tests::SmallModel model{.width = 1 << 18, .heads = 1, .feed_forward = 1};
  const Bytes bytes = model.writer().bytes();
  const auto runtime = Runtime::create(*gguf::open_bytes(bytes), one_thread());
  ASSERT_FALSE(runtime.ok());
  EXPECT_NE(runtime.error().message.find("blocks of 16 rows"), std::string::npos)
      << runtime.error().message;
}

}  // namespace
}  // namespace pawl::engine
