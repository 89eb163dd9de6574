// SPDX-License-Identifier: Apache-2.0
// Attention against a naive one in double precision, and every variant, cut of a tile and order of
// spans against each other, bit for bit.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/dequantize.h"
#include "kernels/vector_variants.h"

namespace pawl::kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Shape {
  const char* what;
  KvType type = KvType::kF16;
  int head_dim = 32, value_dim = 32;
  int tokens = 1, group = 1;
  int64_t first_position = 0, window = 0;
  float cap = 0;
  float sharpness = 1;  // what scores are multiplied with
  bool slopes = false, sinks = false;
};

const Shape kShapes[] = {
    {.what = "first token"},
    {.what = "prefill from nothing", .tokens = 40},
    {.what = "grouped decode", .head_dim = 64, .value_dim = 64, .group = 7, .first_position = 301},
    {.what = "gemma decode",
     .head_dim = 256,
     .value_dim = 256,
     .group = 4,
     .first_position = 700,
     .window = 512},
    {.what = "gemma prefill",
     .head_dim = 256,
     .value_dim = 256,
     .tokens = 16,
     .group = 4,
     .first_position = 250},
    {.what = "one head each", .tokens = 64, .first_position = 230},
    {.what = "tiny, odd columns",
     .head_dim = 12,
     .value_dim = 12,
     .tokens = 5,
     .group = 2,
     .first_position = 31},
    {.what = "wide values",
     .head_dim = 17,
     .value_dim = 84,
     .tokens = 9,
     .group = 3,
     .first_position = 100},
    {.what = "key smaller than value",
     .head_dim = 1,
     .value_dim = 4,
     .tokens = 3,
     .first_position = 63},
    {.what = "window within a block", .tokens = 20, .group = 3, .first_position = 90, .window = 5},
    {.what = "window of one", .tokens = 33, .first_position = 15, .window = 1},
    {.what = "window over spans",
     .value_dim = 20,
     .tokens = 12,
     .group = 2,
     .first_position = 600,
     .window = 300},
    {.what = "window larger than all", .tokens = 4, .first_position = 40, .window = 4096},
    {.what = "soft cap", .tokens = 10, .group = 2, .first_position = 280, .cap = 2.0f},
    {.what = "slopes", .tokens = 10, .group = 4, .first_position = 280, .slopes = true},
    {.what = "sinks",
     .tokens = 10,
     .group = 4,
     .first_position = 280,
     .window = 128,
     .sinks = true},
    {.what = "all at once",
     .head_dim = 24,
     .value_dim = 40,
     .tokens = 12,
     .group = 5,
     .first_position = 500,
     .window = 77,
     .cap = 3.0f,
     .slopes = true,
     .sinks = true},
    {.what = "scores in the hundreds",
     .tokens = 6,
     .group = 2,
     .first_position = 520,
     .sharpness = 100},
    {.what = "float cache", .type = KvType::kF32, .tokens = 21, .group = 3, .first_position = 260},
    {.what = "float cache, odd",
     .type = KvType::kF32,
     .head_dim = 12,
     .value_dim = 12,
     .group = 2,
     .first_position = 515,
     .window = 200},
    {.what = "8-bit cache",
     .type = KvType::kQ8_0,
     .head_dim = 64,
     .value_dim = 64,
     .tokens = 20,
     .group = 3,
     .first_position = 250},
    {.what = "8-bit cache, decode",
     .type = KvType::kQ8_0,
     .head_dim = 128,
     .value_dim = 128,
     .group = 7,
     .first_position = 700,
     .window = 512},
    {.what = "8-bit values",
     .type = KvType::kF16Q8_0,
     .head_dim = 64,
     .value_dim = 64,
     .tokens = 20,
     .group = 3,
     .first_position = 250},
    {.what = "8-bit values, odd",
     .type = KvType::kF16Q8_0,
     .head_dim = 77,
     .value_dim = 84,
     .group = 7,
     .first_position = 300,
     .window = 77},
    {.what = "8-bit cache, odd",
     .type = KvType::kQ8_0,
     .head_dim = 77,
     .value_dim = 84,
     .tokens = 9,
     .group = 2,
     .first_position = 100,
     .slopes = true,
     .sinks = true},
};

// Memory at a multiple of 64.
struct AlignedFree {
  void operator()(std::byte* p) const { std::free(p); }
};
using Aligned = std::unique_ptr<std::byte, AlignedFree>;
Aligned aligned_bytes(int64_t bytes) {
  return Aligned(
      static_cast<std::byte*>(std::aligned_alloc(64, static_cast<size_t>((bytes + 63) / 64 * 64))));
}

// Queries of a tile and a cache that holds exactly the positions it may attend to; every other slot
// is garbage and blocks without such a position are null.
class Scene {
 public:
  Scene(const Shape& shape, const VectorEntries& entries, uint32_t seed = 11) : shape_(shape) {
    const int64_t last = shape.first_position + shape.tokens - 1;
    oldest_ = shape.window > 0 ? std::max<int64_t>(0, shape.first_position - shape.window + 1) : 0;
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0.0f, 1.0f);
    const auto fill = [&](std::vector<float>& values, int64_t n) {
      values.resize(static_cast<size_t>(n));
      for (float& v : values) v = normal(random);
    };
    fill(k_, (last + 1) * shape.head_dim);
    fill(v_, (last + 1) * shape.value_dim);
    fill(q_, shape.tokens * q_stride());
    fill(sinks_, shape.group);
    kept_k_ = kept(k_, shape.head_dim, has_coded_keys(shape.type));
    kept_v_ = kept(v_, shape.value_dim, has_coded_values(shape.type));
    for (int h = 0; h < shape.group; ++h) slopes_.push_back(std::ldexp(1.0f, -h - 2));
    for (int64_t block = 0; block <= last / kKvBlock; ++block) add_block(block, last, entries);
  }

  // Overwrites one position in the cache, with everything infinite or NaN.
  void spoil(int64_t position, float with, const VectorEntries& entries) {
    const std::vector<float> bad(static_cast<size_t>(std::max(shape_.head_dim, shape_.value_dim)),
                                 with);
    entries.store_kv(shape_.type, bad.data(), shape_.head_dim, bad.data(), shape_.value_dim,
                     static_cast<int>(position % kKvBlock),
                     k_blocks_[static_cast<size_t>(position / kKvBlock)].get(),
                     v_blocks_[static_cast<size_t>(position / kKvBlock)].get());
  }

  int64_t q_stride() const { return shape_.group * shape_.head_dim + 3; }
  int64_t out_stride() const { return shape_.group * shape_.value_dim + 5; }
  int64_t spans() const { return (shape_.first_position + shape_.tokens - 1) / kKvSpan + 1; }
  float scale() const { return shape_.sharpness / std::sqrt(static_cast<float>(shape_.head_dim)); }

  // The tile of `tokens` tokens from `token` on.
  AttentionTile tile(int token, int tokens) const {
    return {.type = shape_.type,
            .k = k_pointers_.data(),
            .v = v_pointers_.data(),
            .head_dim = shape_.head_dim,
            .value_dim = shape_.value_dim,
            .q = q_.data() + token * q_stride(),
            .q_token_stride = q_stride(),
            .tokens = tokens,
            .group = shape_.group,
            .first_position = shape_.first_position + token,
            .window = shape_.window,
            .scale = scale(),
            .cap = shape_.cap,
            .slopes = shape_.slopes ? slopes_.data() : nullptr};
  }

  // Runs all tokens in tiles of `tile_tokens`, spans one after the other or each on its own and
  // then folded.
  std::vector<float> run(const VectorEntries& entries, int tile_tokens, bool spans_apart) const {
    std::vector<float> out(static_cast<size_t>(shape_.tokens * out_stride()), -77.0f);
    const Aligned scratch =
        aligned_bytes(attention_scratch_bytes(shape_.head_dim, shape_.value_dim));
    for (int token = 0; token < shape_.tokens; token += tile_tokens) {
      const int tokens = std::min(tile_tokens, shape_.tokens - token);
      const AttentionTile part = tile(token, tokens);
      State state(tokens * shape_.group, shape_.value_dim);
      if (spans_apart) {
        std::vector<State> states;
        for (int64_t span = 0; span < spans(); ++span) states.emplace_back(state);
        for (int64_t span = spans() - 1; span >= 0; --span) {
          entries.attention_spans(part, span, span + 1, states[static_cast<size_t>(span)].view(),
                                  scratch.get());
        }
        for (State& other : states) {
          entries.attention_fold(state.view(), other.view(), tokens * shape_.group,
                                 shape_.value_dim);
        }
      } else {
        entries.attention_spans(part, 0, spans(), state.view(), scratch.get());
      }
      entries.attention_finish(state.view(), tokens, shape_.group, shape_.value_dim,
                               shape_.sinks ? sinks_.data() : nullptr,
                               out.data() + token * out_stride(), out_stride());
    }
    return out;
  }

  std::vector<double> naive() const {
    std::vector<double> out(static_cast<size_t>(shape_.tokens * out_stride()), -77.0);
    for (int t = 0; t < shape_.tokens; ++t) {
      for (int h = 0; h < shape_.group; ++h)
        naive_row(t, h, out.data() + t * out_stride() + h * shape_.value_dim);
    }
    return out;
  }

 private:
  struct State {
    State(int64_t rows, int value_dim)
        : m(static_cast<size_t>(rows), -kInf),
          l(m.size(), 0.0f),
          acc(m.size() * static_cast<size_t>(value_dim), 0.0f) {}
    AttentionState view() { return {m.data(), l.data(), acc.data()}; }
    std::vector<float> m, l, acc;
  };

  void add_block(int64_t block, int64_t last, const VectorEntries& entries) {
    const int64_t begin = block * kKvBlock;
    k_blocks_.push_back(aligned_bytes(kv_key_bytes(shape_.type, shape_.head_dim)));
    v_blocks_.push_back(aligned_bytes(kv_value_bytes(shape_.type, shape_.value_dim)));
    const bool used = begin + kKvBlock > oldest_;
    k_pointers_.push_back(used ? k_blocks_.back().get() : nullptr);
    v_pointers_.push_back(used ? v_blocks_.back().get() : nullptr);
    for (int slot = 0; slot < kKvBlock; ++slot)
      spoil(begin + slot, slot % 2 == 0 ? kNaN : kInf, entries);
    for (int64_t p = std::max(begin, oldest_); p <= std::min(last, begin + kKvBlock - 1); ++p) {
      entries.store_kv(shape_.type, k_.data() + p * shape_.head_dim, shape_.head_dim,
                       v_.data() + p * shape_.value_dim, shape_.value_dim,
                       static_cast<int>(p - begin), k_blocks_.back().get(), v_blocks_.back().get());
    }
  }

  // Vectors of `dim` entries as the cache keeps them, by the definition in kernels.h.
  std::vector<double> kept(const std::vector<float>& x, int dim, bool in_codes) const {
    std::vector<double> out(x.begin(), x.end());
    if (shape_.type == KvType::kF32) return out;
    if (!in_codes) {
      for (size_t i = 0; i < x.size(); ++i) out[i] = half_to_float(float_to_half(x[i]));
      return out;
    }
    for (size_t begin = 0; begin < x.size();) {
      const size_t in_vector = begin % static_cast<size_t>(dim);
      const size_t n = std::min<size_t>(kKvGroup, static_cast<size_t>(dim) - in_vector);
      float most = 0;
      for (size_t i = begin; i < begin + n; ++i) most = std::max(most, std::fabs(x[i]));
      const double scale = half_to_float(float_to_half(most / 127.0f));
      const float inverse = 127.0f / most;
      for (size_t i = begin; i < begin + n; ++i) {
        out[i] = static_cast<double>(std::nearbyint(x[i] * inverse)) * scale;
      }
      begin += n;
    }
    return out;
  }

  void naive_row(int t, int h, double* out) const {
    const int64_t position = shape_.first_position + t;
    const int64_t first =
        shape_.window > 0 ? std::max<int64_t>(0, position - shape_.window + 1) : 0;
    std::vector<double> scores;
    for (int64_t j = first; j <= position; ++j) {
      double s = 0;
      for (int d = 0; d < shape_.head_dim; ++d) {
        s +=
            static_cast<double>(q_[static_cast<size_t>(t * q_stride() + h * shape_.head_dim + d)]) *
            kept_k_[static_cast<size_t>(j * shape_.head_dim + d)];
      }
      s *= scale();
      if (shape_.cap > 0) s = shape_.cap * std::tanh(s / shape_.cap);
      if (shape_.slopes) s += slopes_[static_cast<size_t>(h)] * static_cast<double>(j - position);
      scores.push_back(s);
    }
    double sum = shape_.sinks ? std::exp(static_cast<double>(sinks_[static_cast<size_t>(h)])) : 0.0;
    for (double s : scores) sum += std::exp(s);
    for (int c = 0; c < shape_.value_dim; ++c) {
      out[c] = 0;
      for (int64_t j = first; j <= position; ++j) {
        out[c] += std::exp(scores[static_cast<size_t>(j - first)]) / sum *
                  kept_v_[static_cast<size_t>(j * shape_.value_dim + c)];
      }
    }
  }

  Shape shape_;
  int64_t oldest_ = 0;
  std::vector<float> k_, v_, q_, sinks_, slopes_;
  std::vector<double> kept_k_, kept_v_;
  std::vector<Aligned> k_blocks_, v_blocks_;
  std::vector<const std::byte*> k_pointers_, v_pointers_;
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), sizeof(float) * a.size()) == 0;
}

TEST(Attention, EveryVariantIsCloseToTheNaiveOne) {
  for (const Shape& shape : kShapes) {
    for (const VectorVariant& variant : vector_variants()) {
      const Scene scene(shape, *variant.entries);
      const std::vector<double> expected = scene.naive();
      const std::vector<float> got = scene.run(*variant.entries, shape.tokens, false);
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_NEAR(got[i], expected[i], 4e-6 * shape.sharpness)
            << shape.what << ", " << variant.name << " at " << i;
      }
    }
  }
}

TEST(Attention, EveryVariantCutAndOrderOfSpansGivesTheSameBits) {
  for (const Shape& shape : kShapes) {
    const Scene scalar(shape, kScalarVector);
    const std::vector<float> expected = scalar.run(kScalarVector, shape.tokens, false);
    for (const VectorVariant& variant : vector_variants()) {
      const Scene scene(shape, *variant.entries);
      for (int tile_tokens : {1, 2, 3, 5, 7, 16, shape.tokens}) {
        if (tile_tokens > shape.tokens) continue;
        for (bool apart : {false, true}) {
          ASSERT_TRUE(same_bits(scene.run(*variant.entries, tile_tokens, apart), expected))
              << shape.what << ", " << variant.name << ", tiles of " << tile_tokens
              << ", spans apart: " << apart;
        }
      }
    }
  }
}

class SpoiltSlot : public testing::TestWithParam<KvType> {};

TEST_P(SpoiltSlot, ReachesOnlyTheRowsThatAttendToIt) {
  const Shape shape = {.what = "spoilt",
                       .type = GetParam(),
                       .tokens = 9,
                       .group = 3,
                       .first_position = 40,
                       .window = 20};
  for (const VectorVariant& variant : vector_variants()) {
    Scene scene(shape, *variant.entries);
    const std::vector<float> before = scene.run(*variant.entries, shape.tokens, false);
    for (float with : {kNaN, kInf}) {
      for (int64_t position :
           {int64_t{24}, int64_t{45}}) {  // leaves the window at 44; begins at 45
        scene.spoil(position, with, *variant.entries);
      }
      const std::vector<float> after = scene.run(*variant.entries, shape.tokens, false);
      for (int t = 0; t < shape.tokens; ++t) {
        const int64_t p = shape.first_position + t;
        const bool attends = p - 24 < shape.window || p >= 45;
        const auto at = static_cast<size_t>(t * scene.out_stride());
        const size_t bytes = sizeof(float) * static_cast<size_t>(shape.group * shape.value_dim);
        const bool equal = std::memcmp(before.data() + at, after.data() + at, bytes) == 0;
        ASSERT_EQ(equal, !attends)
            << variant.name << ", position " << p << ", spoilt with " << with;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Attention, SpoiltSlot,
                         testing::Values(KvType::kF16, KvType::kF32, KvType::kQ8_0,
                                         KvType::kF16Q8_0));

TEST(Attention, FoldingAnEmptyPartChangesNoBitAndIntoAnEmptyStateCopies) {
  for (const VectorVariant& variant : vector_variants()) {
    float m[2] = {-1.5f, 3.0f}, l[2] = {1.25f, 7.0f}, acc[8] = {1, -0.0f, 3, 1e-40f, 5, 6, -7, 8};
    float empty_m[2] = {-kInf, -kInf}, empty_l[2] = {}, empty_acc[8] = {};
    float copy_m[2], copy_l[2], copy_acc[8];
    std::memcpy(copy_m, m, sizeof(m));
    std::memcpy(copy_l, l, sizeof(l));
    std::memcpy(copy_acc, acc, sizeof(acc));
    variant.entries->attention_fold({m, l, acc}, {empty_m, empty_l, empty_acc}, 2, 4);
    EXPECT_EQ(std::memcmp(acc, copy_acc, sizeof(acc)), 0) << variant.name;
    variant.entries->attention_fold({empty_m, empty_l, empty_acc}, {m, l, acc}, 2, 4);
    EXPECT_EQ(std::memcmp(empty_acc, copy_acc, sizeof(acc)), 0) << variant.name;
    EXPECT_EQ(std::memcmp(empty_m, copy_m, sizeof(m)), 0) << variant.name;
    EXPECT_EQ(std::memcmp(empty_l, copy_l, sizeof(l)), 0) << variant.name;
  }
}

TEST(Attention, ARowWithNothingButASinkIsZero) {
  for (const VectorVariant& variant : vector_variants()) {
    float m = -kInf, l = 0, acc[4] = {}, out[4] = {9, 9, 9, 9};
    const float sink = 0.5f;
    variant.entries->attention_finish({&m, &l, acc}, 1, 1, 4, &sink, out, 4);
    for (float v : out) EXPECT_EQ(v, 0.0f) << variant.name;
  }
}

}  // namespace
}  // namespace pawl::kernels
