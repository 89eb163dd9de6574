// SPDX-License-Identifier: Apache-2.0
// A group of packed weights → codes and scales in registers, for matmul_a8-inl.h, which says what V
// is. All of it has internal linkage.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/plane_format.h"
#include "kernels/unrolled-inl.h"

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

// `finish` makes a code of bytes whose upper five bits are its own.
template <class V, class Finish>
PAWL_INLINE inline void read_five_bits(const std::byte* planes, typename V::Bytes* code,
                                       const Finish& finish) {
  typename V::Bytes v[5];
  unrolled<5>([&](auto k) PAWL_INLINE {
    v[k] = V::load(planes + 64 * k);
    code[k] = finish(k, v[k]);
  });
  const auto with_three = [&](auto k, typename V::Bytes high, typename V::Bytes low) PAWL_INLINE {
    code[k] = finish(k, V::choose_bits(0xe0, V::template shift_left<5>(high), low));
  };
  with_three(Constant<5>(), v[0], V::template shift_left<2>(v[1]));
  with_three(
      Constant<6>(), v[2],
      V::choose_bits(0x10, V::template shift_left<4>(v[1]), V::template shift_left<3>(v[4])));
  with_three(Constant<7>(), v[3], V::template shift_left<2>(v[4]));
}

// The lower three bits of step k, with rubbish above.
template <class V, int k>
PAWL_INLINE inline typename V::Bytes three_bits(const typename V::Bytes* v) {
  if constexpr (k == 6) {
    return V::choose_bits(3, V::template shift_right<6>(v[0]), V::template shift_right<4>(v[2]));
  } else if constexpr (k == 7) {
    return V::choose_bits(3, V::template shift_right<6>(v[1]), V::template shift_right<5>(v[2]));
  } else {
    return V::template shift_right<k / 3 * 3>(v[k % 3]);
  }
}

template <class V, Fine kFine>
PAWL_INLINE inline void read_split_codes(const std::byte* planes, const std::byte* fine,
                                         typename V::Bytes* code) {
  typename V::Bytes lower[3];
  if constexpr (kFine == Fine::kRead) {
    unrolled<3>([&](auto k) PAWL_INLINE { lower[k] = V::load(fine + 64 * k); });
  }
  read_five_bits<V>(planes, code, [&](auto k, typename V::Bytes upper) PAWL_INLINE {
    if constexpr (kFine == Fine::kRead) return V::choose_bits(7, three_bits<V, k>(lower), upper);
    return V::choose_bits(7, V::every_byte(4), upper);
  });
  if constexpr (V::kSignedCodes) {
    unrolled<8>([&](auto i)
                    PAWL_INLINE { code[i] = V::exclusive_or(code[i], V::every_byte(0x80)); });
  }
}

template <class V, int I, int kTokens>
PAWL_INLINE inline void read_codes(const std::byte* planes, const std::byte* fine,
                                   GroupWeights<V>& w) {
  constexpr int kLowBits = kPlaneFormats[I].low_bits, kHighBits = kPlaneFormats[I].high_bits;
  constexpr int kShift = code_shift<V>(kPlaneFormats[I]);
  if constexpr (kPlaneFormats[I].fine != Fine::kNone) {
    read_split_codes<V, kPlaneFormats[I].fine>(planes, fine, w.code);
  } else if constexpr (kLowBits == 8) {
    unrolled<8>([&](auto i) PAWL_INLINE {
      w.code[i] = V::load(planes + 64 * i);
      if constexpr (V::kSignedCodes) w.code[i] = V::exclusive_or(w.code[i], V::every_byte(0x80));
    });
  } else if constexpr (kLowBits == 6) {
    read_six_bits<V, kShift>(planes, w.code);
  } else if constexpr (kLowBits == 5) {
    read_five_bits<V>(planes, w.code, [](auto, typename V::Bytes bytes) PAWL_INLINE {
      return upper_code<V, 5, kShift>(bytes);
    });
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

}  // namespace
}  // namespace pawl::kernels
