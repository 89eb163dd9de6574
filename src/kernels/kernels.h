// SPDX-License-Identifier: Apache-2.0
// The arithmetic of a forward pass on raw arrays: one table of functions, one row of variants per instruction set.
// reference*.cc is the definition; EVERY VARIANT GIVES THE SAME BITS. What makes that possible:
//   - a lane is an output (a weight row, a position, a column), and adds its terms in column order;
//   - where lanes must be summed, the order is fixed: 16 partial sums, lane i takes elements i, i+16, i+32 …
//     (a tail shorter than 16 fills the missing lanes with nothing), then lanes are added pairwise 8, 4, 2, 1 apart:
//     s[i] += s[i+8] for i<8, s[i] += s[i+4] for i<4, and so on;
//   - fma(a, b, c) means one rounding, everything else is rounded step by step (-ffp-contract=off);
//   - exp, tanh and their like are one polynomial, written once (elementwise-inl.h) over a vector of 16 floats.
// Batch-invariant: an output depends on its own inputs only, not on the tile, the neighbours or the thread.
// Threads: every function may run on any number of threads at once on disjoint outputs; none allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "kernels/formats.h"

namespace pawl::kernels {

// ---- activations in 8 bits -----------------------------------------------------------------------------------
// A quantised row of n activations (n a multiple of 32) is n / 32 groups, each in a cache line of its own: what goes with
// a group of weights has one address and costs one miss.
// Per group: amax = max |x|, taken for 0 below 1e-30; scale = amax / 127; inverse = amax == 0 ? 0 : 127 / amax;
// q = x * inverse, to nearest, ties to even (|q| <= 127). A group that holds NaN or infinity gives q = 0, scale = NaN.
// Sums of 16 bits: a group's two are one 32-bit word, which one multiply-add of pairs turns into either or both.
// Totals: where a code with an offset of 128 has its sum start, without an instruction.
struct A8Group {
  int8_t q[32];
  float scale;
  int16_t sum[2];    // of q, of the first and the last 16
  int32_t total[3];  // -128 times the sum of q: of all, of the first 16, of the last
  int32_t unused[3];
};
static_assert(sizeof(A8Group) == 64);
constexpr int64_t a8_row_bytes(int64_t n) { return n / 32 * static_cast<int64_t>(sizeof(A8Group)); }

// ---- matrix product ------------------------------------------------------------------------------------------
// out[t, r] = sum over columns of w[r, c] * x[t, c], for the row-blocks of one tile.
struct MatmulTile {
  Format format;
  const std::byte* w;   // packed (packed.h), the first row-block of the tile, 64-byte aligned
  const std::byte* fine = nullptr;  // its lower bits, where the format has them apart
  int64_t row_blocks;   // of 16 rows
  int64_t rows;         // rows written, 16 * (row_blocks - 1) < rows <= 16 * row_blocks
  int64_t cols;
  const std::byte* x;   // [tokens] rows, x_row_bytes apart: quantised (matmul_a8) or float (matmul_f32)
  int64_t x_row_bytes;
  int64_t tokens;
  float* out;           // [tokens, rows], out_stride floats apart
  int64_t out_stride;
};

// ---- attention -----------------------------------------------------------------------------------------------
constexpr int kKvBlock = 32;   // positions in a KV block
constexpr int kKvSpan = 256;   // positions whose softmax is taken together; spans are then folded left to right

// kQ8_0: 8-bit codes. A position's key and value are cut into groups of 32 entries, the last perhaps smaller; per
// group amax = max |x|, scale = f16(amax / 127), code = x * (127 / amax) to nearest, ties to even; amax below 1e-30
// counts as 0, which gives codes and scale 0; a group that holds NaN or infinity gives codes 0, scale NaN.
// kF16Q8_0: keys as kF16, values as kQ8_0.
enum class KvType : int { kF16, kF32, kQ8_0, kF16Q8_0 };
constexpr bool has_coded_keys(KvType type) { return type == KvType::kQ8_0; }
constexpr bool has_coded_values(KvType type) { return type == KvType::kQ8_0 || type == KvType::kF16Q8_0; }
// As flags and records spell them: "f16", "f32", "q8_0", "f16+q8_0".
constexpr std::string_view kv_type_name(KvType type) {
  constexpr std::string_view kNames[] = {"f16", "f32", "q8_0", "f16+q8_0"};
  return kNames[static_cast<int>(type)];
}
constexpr int kKvGroup = 32;  // entries that share a scale
constexpr int kv_groups(int dim) { return (dim + kKvGroup - 1) / kKvGroup; }
// Bytes of the keys, or of the values, of one KV block whose vectors have `dim` entries.
constexpr int64_t kv_coded_bytes(int dim) { return int64_t{kKvBlock} * (dim + 2 * kv_groups(dim)); }
constexpr int64_t kv_plain_bytes(KvType type, int dim) { return int64_t{kKvBlock} * dim * (type == KvType::kF32 ? 4 : 2); }
constexpr int64_t kv_key_bytes(KvType type, int dim) {
  return has_coded_keys(type) ? kv_coded_bytes(dim) : kv_plain_bytes(type, dim);
}
constexpr int64_t kv_value_bytes(KvType type, int dim) {
  return has_coded_values(type) ? kv_coded_bytes(dim) : kv_plain_bytes(type, dim);
}

// Queries of one KV head: `tokens` consecutive positions of one sequence, `group` query heads each.
// Position p attends to j with j <= p and (window == 0 or p - j < window).
// score(p, j) = (sum over d of q[d] * k[j, d], d ascending, fma) * scale; then soft cap if cap > 0:
// cap * tanh(score / cap); then + slope * (j - p) if slopes.
struct AttentionTile {
  KvType type;
  // [blocks], block b holding positions [b * kKvBlock, (b + 1) * kKvBlock) of the sequence; 4-byte aligned. Blocks
  // in which nothing is attended to may be null, and slots to which a row does not attend never reach that row.
  const std::byte* const* k;  // each [head_dim][kKvBlock]: transposed, lanes are positions
  const std::byte* const* v;  // each [kKvBlock][value_dim]
  // Codes: int8 as above, then the f16 scales: of keys [groups][kKvBlock], of values [kKvBlock][groups]. An
  // entry is float(code) * scale, in f32; from there on all is as with kF32.
  int head_dim, value_dim;    // value_dim a multiple of 4
  const float* q;             // head h of token t at q + t * q_token_stride + h * head_dim, in floats
  int64_t q_token_stride;
  int tokens, group;
  int64_t first_position;     // of token 0
  int64_t window;             // 0: none
  float scale, cap;           // cap 0: none
  const float* slopes;        // [group] ALiBi, or null
};

// The running softmax of one query (row = t * group + h): max m, sum l of exp(score - m), and acc[value_dim] = sum
// of exp(score - m) * v. All rows of a tile: m[rows], l[rows], acc[rows][value_dim].
// Reset is m = -infinity, l = 0, acc = 0. Folding (m2, l2, acc2) into it: m2 = -infinity (nothing was attended to)
// changes no bit; into m = -infinity it is a copy; otherwise
//   n = max(m, m2); a = exp(m - n); b = exp(m2 - n); l = fma(l, a, l2 * b); acc = fma(acc, a, acc2 * b); m = n.
// So spans may be computed apart, each into a reset state, and then folded left to right: the bits are the same.
struct AttentionState {
  float* m;
  float* l;
  float* acc;
};

// ---- layers with a state -------------------------------------------------------------------------------------
// A causal convolution of each channel by its own taps, in place, over positions in order:
//   x[t, c] = bias[c] + sum over taps j ascending, by fma, of w[j, c] * in[t - (taps - 1) + j, c]
// Inputs before t = 0 are the window's, oldest first; afterwards it holds the last taps - 1 inputs.
struct Convolution {
  float* x;           // [tokens, channels]
  float* window;      // [taps - 1, channels]
  const float* w;     // [taps, channels]
  const float* bias;  // [channels] or null: 0
  int64_t stride;     // floats from row to row, of all of them
  int64_t tokens, channels;
  int taps;           // at least 2
};

// One position of `n` channels, each with `states` states: what comes in is written to the states and the states are
// read into what goes out.
struct StateStep {
  float* state;        // [states, n], rows `stride` floats apart
  int64_t states, n, stride;
  const float* x;      // [n]
  const float* write;  // [states]
  const float* read;   // [states]
  float* out;          // [n]
};

enum class Activation : int { kSilu, kGelu, kGeluQuick, kRelu, kReluSquared };   // kGelu: the tanh form
enum class RopeLayout : int { kHalves, kPairs };  // (i, i + n/2) as in NeoX, (2i, 2i + 1) as in GPT-J

struct Table {
  const char* name;  // "scalar", "avx2", "avx512", "avx512vnni"

  // ---- matrices
  // count activations, a multiple of 32, to as many A8Group as that gives; out 4-byte aligned.
  void (*quantize_a8)(const float* x, int64_t count, std::byte* out);
  // w has planes. Per row and token, from acc = 0, for each 32 columns in order:
  //   isum = exact integer sum of (weight code - offset) * q, w_scale = d or d * sc (exact in f32);
  //   p = float(isum) * w_scale; where 16 columns share a scale (Q6_K Q3_K Q2_K), of the first 16, and then
  //   p = fma(float(isum), w_scale, p) of the second 16;
  //   with minima then p = fma(float(sum of q), min, p), min = +m (Q4_1, Q5_1) or -(dmin * m) (K), likewise of the
  //   first and then the second 16 for Q2_K;
  //   acc = fma(p, x_scale, acc).
  // The codes' offset: Q4_0 8, Q5_0 16, Q8_0 (split, coarse) 128, Q6_K 32, Q3_K 4; IQ4 formats and MXFP4 take the signed code book.
  void (*matmul_a8)(const MatmulTile& tile);
  // Any format; x is float. acc = fma(w[r, c], x[c], acc), c ascending, w as unpack_row gives it.
  void (*matmul_f32)(const MatmulTile& tile);
  // No product, but the limit of matmul_a8: `turns` rounds of nothing but this variant's step of a dot product of
  // 8-bit numbers, on registers. Gives the operations done, 2 per pair of numbers; turns times those of one turn.
  int64_t (*dot_peak)(int64_t turns);

  // Weights whose codes are in two places (packed.h) come about as fast as those in one: unpacking does not bind.
  bool splits_well;

  // ---- vectors of n floats; in and out may be the same array. exp is at most 2 ulp off and rounds to subnormals,
  // tanh at most 4 ulp. NaN in gives NaN out; infinities give what the formula gives (silu and gelu of -infinity: NaN).
  // y = x * (1 / sqrt(mean(x^2) + eps)), then * weight (null: none). The mean: squares summed by fma in 16 lanes.
  void (*rms_norm)(const float* x, const float* weight, float eps, int64_t n, float* out);
  // y = (x - mean) * (1 / sqrt(mean((x - mean)^2) + eps)), * weight, + bias (each may be null)
  void (*layer_norm)(const float* x, const float* weight, const float* bias, float eps, int64_t n, float* out);
  void (*add)(float* x, const float* y, int64_t n);                     // x += y
  void (*add_scaled)(float* x, const float* y, float s, int64_t n);     // x = fma(y, s, x)
  void (*multiply)(float* x, const float* y, int64_t n);                // x *= y
  void (*scale)(float* x, float s, int64_t n);                          // x *= s
  void (*clamp)(float* x, float limit, int64_t n);                      // to [-limit, limit]
  void (*soft_cap)(float* x, float cap, int64_t n);                     // cap * tanh(x / cap)
  void (*activate)(Activation kind, float* x, int64_t n);
  void (*gate)(Activation kind, const float* gate, const float* up, int64_t n, float* out);  // act(gate) * up
  void (*softmax)(float* x, int64_t n);                                 // exp(x - max) / sum
  float (*exp_sum)(const float* x, float largest, int64_t n);           // sum of exp(x - largest)
  void (*sigmoid)(float* x, int64_t n);
  // Rotates the first `rotary` entries of each of `heads` vectors, head_stride floats apart, in place.
  // cos, sin: [rotary / 2]. (a, b) -> (fma(a, cos, -(b * sin)), fma(a, sin, b * cos))
  void (*rope)(float* x, int64_t heads, int64_t head_stride, int64_t rotary, RopeLayout layout, const float* cos,
               const float* sin);

  // ---- attention
  // Writes one position into a KV block: k[head_dim] to column `slot`, v[value_dim] to row `slot`.
  void (*store_kv)(KvType type, const float* k, int head_dim, const float* v, int value_dim, int slot,
                   std::byte* k_block, std::byte* v_block);
  // Folds the spans [span_begin, span_end) of kKvSpan positions into `state`, one after the other; spans outside what
  // the tile attends to do nothing. REQUIRES: tokens * group <= kAttentionRows. Within a span the blocks of 32 go in
  // order: n = max(m, max of the block's scores), 0 in the exponents where it is -infinity; a = exp(m - n);
  // p[j] = exp(score[j] - n);
  // l = fma(l, a, sum of p), the 32 p summed as 16 + 16 lanes, then the tree; acc = acc * a, then for j ascending
  // acc = fma(p[j], v[j], acc). Masked j are left out; a block of nothing but masked j is skipped.
  // scratch: attention_scratch_bytes(), 64-byte aligned, one per thread.
  void (*attention_spans)(const AttentionTile& tile, int64_t span_begin, int64_t span_end, AttentionState state,
                          void* scratch);
  // state = fold(state, part), rows of value_dim.
  void (*attention_fold)(AttentionState state, AttentionState part, int64_t rows, int value_dim);
  // out[row] = acc / l; a sink (null: none) of row r joins first, as one more score sinks[r % group] with v = 0:
  // n = max(m, sink); a = exp(m - n); l = fma(l, a, exp(sink - n)); acc = acc * a.
  // Row r = t * group + h is written to out + t * out_token_stride + h * value_dim.
  void (*attention_finish)(AttentionState state, int64_t tokens, int group, int value_dim, const float* sinks,
                           float* out, int64_t out_token_stride);

  // ---- layers with a state
  void (*softplus)(float* x, int64_t n);     // log(1 + e^x), at most 4 ulp off
  void (*exponential)(float* x, int64_t n);  // e^x
  void (*convolve)(const Convolution& convolution);
  // The three, for each channel c and states s ascending; out[c] = sum by fma of state[s, c] * read[s].
  // state = fma(state, exp(dt[c] * rates[s, c]), write[s] * (x[c] * dt[c])); rates: as the state
  void (*selective_step)(const StateStep& step, const float* rates, const float* dt);
  // state = fma(state, decay, write[s] * (x[c] * dt))
  void (*decay_step)(const StateStep& step, float decay, float dt);
  // state *= decay; known[c] = sum by fma of state[s, c] * write[s];
  // state = fma(write[s], (x[c] - known[c]) * beta, state)
  void (*delta_step)(const StateStep& step, float decay, float beta);
};

// The most rows (tokens * group) one attention tile may hold, and the scratch one call needs.
constexpr int kAttentionRows = 64;
int64_t attention_scratch_bytes(int head_dim, int value_dim);

// The variants this CPU and its operating system can run, best first; "scalar" is always the last.
// `forced` (PAWL_ISA) empty: the best. Error invalid_argument, naming the variants that would do, for an unknown
// name or one this machine lacks.
base::Result<const Table*> choose_table(std::string_view forced);
std::string_view variant_names();  // comma-separated, of this machine

}  // namespace pawl::kernels
