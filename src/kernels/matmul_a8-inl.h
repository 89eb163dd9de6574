// SPDX-License-Identifier: Apache-2.0
// matmul_a8 once, over the instruction set V and a row of kPlaneFormats. A file of one instruction
// set includes it and gives V, whose members the files in avx2/ and avx512/ define:
//   Bytes, Ints, Floats   a vector of kLanes rows: of 4 codes, of an int32, of a float
//   kSignedCodes          codes of 8 bits are taken as signed by dot, else as unsigned with 128
//   kTopOfByte            codes with an offset of half their range are moved to the top of a byte
//   dot, pair_sum         integer sums, exact; with kTopOfByte also add_ints, divide_by_power
// All of it has internal linkage.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"
#include "kernels/packed.h"
#include "kernels/plane_format.h"
#include "kernels/unrolled-inl.h"
#include "kernels/weight_stream-inl.h"

namespace pawl::kernels {
namespace {

template <class V>
struct GroupWeights {
  typename V::Bytes code[8];  // a step each
  typename V::Floats scale[2], minimum[2];
};

// What the kernel takes off a code by way of the sums of x: the format's offset, or what made a
// signed code unsigned: of code books whose entries are small their offset, where that is less.
template <class V>
constexpr int code_offset(const PlaneFormat& format) {
  if (format.code_book != nullptr) return V::kSignedCodes ? format.offset : 128;
  if (format.bits() == 8) return V::kSignedCodes ? 0 : 128;
  return format.offset;
}

// How far codes are moved up. At the top of its byte a code of half the range for an offset has
// 128, whatever its width, and -128 times the sum of a group of x is there to load: an instruction
// less for every group and token. Codes of 5 and 6 bits stand there in the planes. The scale gives
// it back, and nothing is rounded on the way: sums stay below 2^24 and the factor is a power of
// two.
template <class V>
constexpr int code_shift(const PlaneFormat& format) {
  const bool is_half_range = format.offset == 1 << (format.bits() - 1);
  const bool is_there = format.low_bits == 5 || format.low_bits == 6;
  return V::kTopOfByte && (is_half_range || is_there) ? 8 - format.bits() : 0;
}

// True where the sum of a group comes from x's totals.
template <class V>
constexpr bool starts_from_total(const PlaneFormat& format) {
  return V::kTopOfByte && code_offset<V>(format) << code_shift<V>(format) == 128;
}

// True where the second four codes stay in the upper halves of their bytes, 16 times as large, and
// have a sum of their own: with one token that is less than moving them.
template <class V, int I, int kTokens>
constexpr bool keeps_upper_nibbles() {
  constexpr PlaneFormat kFormat = kPlaneFormats[I];
  return V::kTopOfByte && kTokens == 1 && kFormat.bits() == 4 && kFormat.offset == 0 &&
         kFormat.code_book == nullptr && !kFormat.by_halves();
}

// Moves bit `from` of every byte to bit `to`; the bits around it are rubbish.
template <class V, int from, int to>
PAWL_INLINE inline typename V::Bytes move_bits(typename V::Bytes bytes) {
  if constexpr (from < to) return V::template shift_left<to - from>(bytes);
  return V::template shift_right<from - to>(bytes);
}

// A code that stands in the upper bits of its byte with rubbish below.
template <class V, int bits, int kShift>
PAWL_INLINE inline typename V::Bytes upper_code(typename V::Bytes bytes) {
  return V::both(move_bits<V, 8 - bits, kShift>(bytes), V::every_byte(((1 << bits) - 1) << kShift));
}

// The layouts are drawn in packed.h.
template <class V, int kShift>
PAWL_INLINE inline void read_six_bits(const std::byte* planes, typename V::Bytes* code) {
  unrolled<2>([&](auto h) PAWL_INLINE {
    typename V::Bytes v[3];
    unrolled<3>([&](auto k) PAWL_INLINE {
      v[k] = V::load(planes + 64 * (3 * h + k));
      code[4 * h + k] = upper_code<V, 6, kShift>(v[k]);
    });
    const typename V::Bytes four =
        V::choose_bits(0xc0, V::template shift_left<6>(v[0]), V::template shift_left<4>(v[1]));
    code[4 * h + 3] =
        upper_code<V, 6, kShift>(V::choose_bits(0xf0, four, V::template shift_left<2>(v[2])));
  });
}

template <class V, int kShift>
PAWL_INLINE inline void read_five_bits(const std::byte* planes, typename V::Bytes* code) {
  typename V::Bytes v[5];
  unrolled<5>([&](auto k) PAWL_INLINE {
    v[k] = V::load(planes + 64 * k);
    code[k] = upper_code<V, 5, kShift>(v[k]);
  });
  const auto with_three = [&](typename V::Bytes high, typename V::Bytes low) PAWL_INLINE {
    return upper_code<V, 5, kShift>(V::choose_bits(0xe0, V::template shift_left<5>(high), low));
  };
  code[5] = with_three(v[0], V::template shift_left<2>(v[1]));
  code[6] = with_three(
      v[2], V::choose_bits(0x10, V::template shift_left<4>(v[1]), V::template shift_left<3>(v[4])));
  code[7] = with_three(v[3], V::template shift_left<2>(v[4]));
}

template <class V, int I, int kTokens>
PAWL_INLINE inline void read_codes(const std::byte* planes, GroupWeights<V>& w) {
  constexpr int kLowBits = kPlaneFormats[I].low_bits, kHighBits = kPlaneFormats[I].high_bits;
  constexpr int kShift = code_shift<V>(kPlaneFormats[I]);
  if constexpr (kLowBits == 8) {
    unrolled<8>([&](auto i) PAWL_INLINE {
      w.code[i] = V::load(planes + 64 * i);
      if constexpr (V::kSignedCodes) w.code[i] = V::exclusive_or(w.code[i], V::every_byte(0x80));
    });
  } else if constexpr (kLowBits == 6) {
    read_six_bits<V, kShift>(planes, w.code);
  } else if constexpr (kLowBits == 5) {
    read_five_bits<V, kShift>(planes, w.code);
  } else if constexpr (kLowBits == 4) {
    constexpr int kUpper = keeps_upper_nibbles<V, I, kTokens>() ? 4 : kShift;
    unrolled<4>([&](auto i) PAWL_INLINE {
      const typename V::Bytes two = V::load(planes + 64 * i);
      w.code[i] = V::both(move_bits<V, 0, kShift>(two), V::every_byte(0x0f << kShift));
      w.code[i + 4] = V::both(move_bits<V, 4, kUpper>(two), V::every_byte(0x0f << kUpper));
    });
  } else {
    unrolled<8>([&](auto i) PAWL_INLINE {
      const typename V::Bytes four = V::load(planes + 64 * (i / 4));
      w.code[i] = V::both(move_bits<V, 2 * (i % 4), kShift>(four), V::every_byte(3 << kShift));
    });
  }
  if constexpr (kHighBits == 1) {
    const typename V::Bytes eight = V::load(planes + 64 * kLowBits);
    unrolled<8>([&](auto i) PAWL_INLINE {
      w.code[i] = V::or_masked(w.code[i], move_bits<V, i, kLowBits + kShift>(eight),
                               V::every_byte(1 << (kLowBits + kShift)));
    });
  }
  if constexpr (kPlaneFormats[I].code_book != nullptr) {
    const typename V::Bytes book =
        V::code_book(kPlaneFormats[I].code_book, code_offset<V>(kPlaneFormats[I]));
    unrolled<8>([&](auto i) PAWL_INLINE { w.code[i] = V::look_up(book, w.code[i]); });
  }
}

// What all groups of a span share, where the format has it.
template <class V>
struct SpanScales {
  typename V::Floats d, minus_dmin;
};

// With what totals and shifted codes have too much taken off.
template <class V, int I>
PAWL_INLINE inline void read_head(const std::byte* span, int lane, SpanScales<V>& head) {
  constexpr PlaneFormat kFormat = kPlaneFormats[I];
  constexpr int kShift = code_shift<V>(kFormat);
  if constexpr (kFormat.by_256()) {
    head.d = V::halves(span + 2 * lane);
    if constexpr (kShift > 0) head.d = V::multiply(head.d, V::every_float(1.0F / (1 << kShift)));
    if constexpr (kFormat.has_min()) {
      head.minus_dmin = V::multiply(V::halves(span + 2 * lane + 32),
                                    V::every_float(V::kTopOfByte ? 1.0F / 128 : -1.0F));
    }
  }
}

// Group k of a span. `lane`: the first row of this vector in its block.
template <class V, int I>
PAWL_INLINE inline void read_scales(const std::byte* span, const SpanScales<V>& head, int64_t k,
                                    int lane, GroupWeights<V>& w) {
  constexpr PlaneFormat kFormat = kPlaneFormats[I];
  constexpr int kShift = code_shift<V>(kFormat);
  constexpr bool kHalves = kFormat.scales == Scales::kHalf || kFormat.scales == Scales::kHalfMin;
  const std::byte* entry = span + kFormat.entry(k) + (kHalves ? 2 : 1) * lane;
  if constexpr (kFormat.scales == Scales::kPowers) {
    w.scale[0] = V::powers(entry);
  } else if constexpr (kHalves) {
    w.scale[0] = V::halves(entry);
    if constexpr (kShift > 0) {
      w.scale[0] = V::multiply(w.scale[0], V::every_float(1.0F / (1 << kShift)));
    }
    if constexpr (kFormat.has_min()) {
      w.minimum[0] = V::halves(entry + 32);
      if constexpr (V::kTopOfByte) {
        w.minimum[0] = V::multiply(w.minimum[0], V::every_float(-1.0F / 128));
      }
    }
  } else if constexpr (kFormat.scales == Scales::kBytes) {
    w.scale[0] = V::multiply(head.d, V::unsigned_bytes(entry));
    w.minimum[0] = V::multiply(head.minus_dmin, V::unsigned_bytes(entry + 16));
  } else if constexpr (kFormat.scales == Scales::kSigned) {
    w.scale[0] = V::multiply(head.d, V::signed_bytes(entry));
  } else {
    unrolled<2>([&](auto h) PAWL_INLINE {
      if constexpr (kPlaneFormats[I].scales == Scales::kSigned16) {
        w.scale[h] = V::multiply(head.d, V::signed_bytes(entry + 16 * h));
      } else {
        w.scale[h] = V::multiply(head.d, V::low_nibbles(entry + 16 * h));
        w.minimum[h] = V::multiply(head.minus_dmin, V::high_nibbles(entry + 16 * h));
      }
    });
  }
}

// One token's part of a quantised matrix of activations, at a group.
struct TokenGroup {
  const std::byte* q;       // 32 codes
  const std::byte* scale;   // a float
  const std::byte* sums;    // two int16
  const std::byte* totals;  // three int32

  PAWL_INLINE TokenGroup at_group(int64_t g) const {
    return {q + 32 * g, scale + 4 * g, sums + 4 * g, totals + 12 * g};
  }
  PAWL_INLINE TokenGroup later(int64_t bytes) const {
    return {q + bytes, scale + bytes, sums + bytes, totals + bytes};
  }
};

// The sum of the codes of steps [begin, end), times 1 or, with kTopOfByte, times -128.
template <class V, int begin, int end>
PAWL_INLINE inline typename V::Ints activation_sum(const TokenGroup& x) {
  if constexpr (V::kTopOfByte) {
    return V::broadcast_int(x.totals + (begin > 0 ? 8 : (end < 8 ? 4 : 0)));
  } else {
    return V::template pair_sum < begin == 0 ? 1 : 0, end == 8 ? 1 : 0 > (x.sums);
  }
}

// Steps [begin, end) of a group: the sum of (code - offset) * q as a float.
template <class V, int I, int kTokens, int begin, int end>
PAWL_INLINE inline typename V::Floats code_sum(const GroupWeights<V>& w, const TokenGroup& x) {
  constexpr PlaneFormat kFormat = kPlaneFormats[I];
  constexpr int kOffset = code_offset<V>(kFormat);
  typename V::Ints sum = V::zero_ints();
  if constexpr (starts_from_total<V>(kFormat)) {
    sum = activation_sum<V, begin, end>(x);
  } else if constexpr (kOffset != 0) {
    sum = V::template pair_sum < begin == 0 ? -kOffset : 0, end == 8 ? -kOffset : 0 > (x.sums);
  }
  constexpr bool kIsWide = kFormat.code_book != nullptr ? kFormat.offset == 0 : kFormat.bits() == 8;
  constexpr int kLargest =
      kIsWide ? 128 : (kFormat.code_book != nullptr ? 2 * kFormat.offset : kFormat.max_code());
  if constexpr (keeps_upper_nibbles<V, I, kTokens>()) {
    const typename V::Ints upper = V::template dot<kLargest, 4, end>(w.code, x.q, V::zero_ints());
    sum = V::template dot<kLargest, begin, 4>(w.code, x.q, sum);
    return V::to_floats(V::add_ints(sum, V::template divide_by_power<4>(upper)));
  } else {
    return V::to_floats(V::template dot<kLargest, begin, end>(w.code, x.q, sum));
  }
}

// The definition's step: acc + this group of 32 columns.
template <class V, int I, int kTokens>
PAWL_INLINE inline typename V::Floats add_group(const GroupWeights<V>& w, const TokenGroup& x,
                                                typename V::Floats acc) {
  constexpr PlaneFormat kFormat = kPlaneFormats[I];
  typename V::Floats p;
  if constexpr (kFormat.by_halves()) {
    p = V::multiply(code_sum<V, I, kTokens, 0, 4>(w, x), w.scale[0]);
    p = V::fma(code_sum<V, I, kTokens, 4, 8>(w, x), w.scale[1], p);
    if constexpr (kFormat.has_min()) {
      p = V::fma(V::to_floats(activation_sum<V, 0, 4>(x)), w.minimum[0], p);
      p = V::fma(V::to_floats(activation_sum<V, 4, 8>(x)), w.minimum[1], p);
    }
  } else {
    p = V::multiply(code_sum<V, I, kTokens, 0, 8>(w, x), w.scale[0]);
    if constexpr (kFormat.has_min()) {
      p = V::fma(V::to_floats(activation_sum<V, 0, 8>(x)), w.minimum[0], p);
    }
  }
  return V::fma(p, V::broadcast(x.scale), acc);
}

// kLanes rows of a block times kTokens tokens.
struct LanesArguments {
  const std::byte* block;
  int64_t groups;
  int lane;  // of the block's 16
  int rows;  // of the lanes, that are written
  TokenGroup x;
  int64_t x_row_bytes;
  float* out;
  int64_t out_stride;
};

// The next eight groups. Long rows of activations do not stay in the first cache beside the
// weights; fetched line by line they would take the processor off the stream of weights.
PAWL_INLINE inline void ask_for_activations(const TokenGroup& x) {
  unrolled<4>([&](auto i) PAWL_INLINE { __builtin_prefetch(x.q + 64 * i); });
  unrolled<2>([&](auto i) PAWL_INLINE { __builtin_prefetch(x.totals + 64 * i); });
  __builtin_prefetch(x.scale);
  __builtin_prefetch(x.sums);
}

template <class V, int I, int kTokens>
void lanes_times_tokens(const LanesArguments& a) {
  constexpr PlaneFormat kFormat = kPlaneFormats[I];
  typename V::Floats acc[kTokens];
  unrolled<kTokens>([&](auto t) PAWL_INLINE { acc[t] = V::zero(); });
  constexpr int kSpanGroups = kFormat.span_groups();
  const std::byte* span = a.block;
  for (int64_t g = 0; g < a.groups; span += kFormat.span_bytes()) {
    SpanScales<V> head;
    read_head<V, I>(span, a.lane, head);
    if constexpr (kTokens <= kFewTokens) ask_for_page(span);
    if constexpr (kSpanGroups == 8 && kTokens == 1) ask_for_activations(a.x.at_group(g));
    for (int64_t k = 0; k < kSpanGroups && g < a.groups; ++k, ++g) {
      if constexpr (kTokens > kFewTokens) ask_for_lines<I>(span, k);
      GroupWeights<V> w;
      read_codes<V, I, kTokens>(span + kFormat.planes(k) + 4 * a.lane, w);
      read_scales<V, I>(span, head, k, a.lane, w);
      TokenGroup x = a.x.at_group(g);
      unrolled<kTokens>([&](auto t) PAWL_INLINE {
        acc[t] = add_group<V, I, kTokens>(w, x, acc[t]);
        x = x.later(a.x_row_bytes);
      });
    }
  }
  unrolled<kTokens>([&](auto t)
                        PAWL_INLINE { V::store(a.out + t * a.out_stride, acc[t], a.rows); });
}

// Runs as many tiles of kTokens as there are tokens for, the rest in smaller ones.
template <class V, int I, int kTokens>
PAWL_INLINE inline void token_tiles(LanesArguments& a, int64_t tokens) {
  for (; tokens >= kTokens; tokens -= kTokens) {
    lanes_times_tokens<V, I, kTokens>(a);
    a.x = a.x.later(kTokens * a.x_row_bytes);
    a.out += kTokens * a.out_stride;
  }
  if constexpr (kTokens > 1) token_tiles<V, I, kTokens / 2>(a, tokens);
}

template <class V, int I>
void matmul_planes(const MatmulTile& tile) {
  constexpr PlaneFormat kFormat = kPlaneFormats[I];
  const int64_t block_bytes = packed_block_bytes(kFormat.format, tile.cols);
  const TokenGroup x = {tile.x, tile.x + a8_scale_offset(tile.cols),
                        tile.x + a8_sum_offset(tile.cols), tile.x + a8_total_offset(tile.cols)};
  for (int64_t row = 0; row < tile.rows; row += V::kLanes) {
    const std::byte* block = tile.w + row / kRowsPerBlock * block_bytes;
    const int64_t rows_left = tile.rows - row;
    LanesArguments a = {
        .block = block,
        .groups = tile.cols / 32,
        .lane = static_cast<int>(row % kRowsPerBlock),
        .rows = static_cast<int>(rows_left < V::kLanes ? rows_left : V::kLanes),
        .x = x,
        .x_row_bytes = tile.x_row_bytes,
        .out = tile.out + row,
        .out_stride = tile.out_stride,
    };
    token_tiles<V, I, V::kTokens>(a, tile.tokens);
  }
}

template <class V>
void matmul_a8(const MatmulTile& tile) {
  unrolled<kPlaneFormatCount>([&](auto i) PAWL_INLINE {
    if (kPlaneFormats[i].format == tile.format) matmul_planes<V, i>(tile);
  });
}

template <class V>
void quantize_a8(const float* x, int64_t first, int64_t count, int64_t n, std::byte* out) {
  std::byte* scale = out + a8_scale_offset(n);
  std::byte* sums = out + a8_sum_offset(n);
  std::byte* totals = out + a8_total_offset(n);
  for (int64_t g = first / 32; g < (first + count) / 32; ++g, x += 32) {
    V::quantize_group(x, out + 32 * g, scale + 4 * g, sums + 4 * g);
    int16_t pair[2];
    __builtin_memcpy(pair, sums + 4 * g, sizeof(pair));
    const int32_t total[3] = {-128 * (pair[0] + pair[1]), -128 * pair[0], -128 * pair[1]};
    __builtin_memcpy(totals + 12 * g, total, sizeof(total));
  }
}

}  // namespace
}  // namespace pawl::kernels
