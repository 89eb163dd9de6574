// SPDX-License-Identifier: Apache-2.0
// The tokens of a record as a few arrays of numbers: a long answer has tens of thousands of candidates, and
// to store as many objects would hold the page up.

const decoder = new TextDecoder();
export const text_of_bytes = (bytes) => decoder.decode(new Uint8Array(bytes));

// Candidates in a row: ids, probabilities (NaN: not told), and their bytes one after the other.
function pack_candidates(all) {
  const bytes = new Uint8Array(all.reduce((sum, one) => sum + one.bytes.length, 0));
  const ends = new Uint32Array(all.length);
  let at = 0;
  all.forEach((one, i) => {
    bytes.set(one.bytes, at);
    at += one.bytes.length;
    ends[i] = at;
  });
  return { ids: Int32Array.from(all, (one) => one.id), p: Float64Array.from(all, (one) => one.p ?? NaN), bytes, ends };
}

function unpack_candidates({ ids, p, bytes, ends }) {
  return Array.from(ids, (id, i) => {
    const own = Array.from(bytes.subarray(i ? ends[i - 1] : 0, ends[i]));
    return { id, text: text_of_bytes(own), bytes: own, p: Number.isNaN(p[i]) ? null : p[i] };
  });
}

export function pack_tokens(tokens) {
  return { tokens: pack_candidates(tokens), ms: Float64Array.from(tokens, (one) => one.ms ?? NaN),
    is_end: Uint8Array.from(tokens, (one) => one.text === null), is_forced: Uint8Array.from(tokens, (one) => one.forced === true),
    tops: Uint8Array.from(tokens, (one) => one.top.length), top: pack_candidates(tokens.flatMap((one) => one.top)) };
}

export function unpack_tokens(packed) {
  const top = unpack_candidates(packed.top);
  let at = 0;
  return unpack_candidates(packed.tokens).map((one, i) => {
    const token = { ...one, top: top.slice(at, at + packed.tops[i]), ms: Number.isNaN(packed.ms[i]) ? null : packed.ms[i] };
    at += packed.tops[i];
    if (packed.is_end[i]) token.text = null;
    if (packed.is_forced[i]) token.forced = true;
    return token;
  });
}
