// SPDX-License-Identifier: Apache-2.0
// What each field of a JSON answer cost: every token is put down to the field whose text it wrote.
import { face } from './tiles.js';

const kDepth = 3;  // names of a path; what is deeper counts for its parent

// For each character of a JSON text, which may end early, the path of the field it belongs to: name,
// colon, value and the comma after it; '' for the braces around all.
export function field_of_each(text) {
  const owner = [];
  const stack = [];  // {is_object, name, wants_name}
  const where = () => stack.filter((one) => one.name !== null).slice(0, kDepth).map((one) => one.name).join('.');
  for (let i = 0; i < text.length; ++i) {
    const c = text[i];
    const top = stack.at(-1);
    if (c === '"') {
      let end = i + 1;
      while (end < text.length && text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
      end = Math.min(end + 1, text.length);
      if (top?.wants_name) {
        top.name = text.slice(i + 1, end - (text[end - 1] === '"' && end - 1 > i ? 1 : 0));
        top.wants_name = false;
      }
      while (i < end) owner[i++] = where();
      --i;
    } else if (c === '{' || c === '[') {
      owner[i] = where();
      stack.push({ is_object: c === '{', name: null, wants_name: c === '{' });
    } else if (c === '}' || c === ']') {
      stack.pop();
      owner[i] = where();
    } else {
      owner[i] = where();
      if (c === ',' && top?.is_object) Object.assign(top, { wants_name: true });
    }
  }
  return owner;
}

// The field that most of these characters belong to; of equals the first.
function owner_of(characters) {
  const counts = new Map();
  for (const one of characters) if (one) counts.set(one, (counts.get(one) ?? 0) + 1);
  return [...counts].reduce((best, one) => (one[1] > best[1] ? one : best), ['', 0])[0];
}

// [{path, tokens, forced, ms}] in the order in which the fields began. ms null: not told.
export function field_bill(tokens) {
  const owner = field_of_each(tokens.map(face).join(''));
  const rows = new Map();
  let at = 0;
  tokens.forEach((token, i) => {
    const length = face(token).length;
    if (token.text === null) return;
    const path = owner_of(owner.slice(at, at + length));
    at += length;
    if (!rows.has(path)) rows.set(path, { path, tokens: 0, forced: 0, ms: null });
    const row = rows.get(path);
    row.tokens += 1;
    row.forced += token.forced ? 1 : 0;
    const before = tokens[i - 1]?.ms ?? null;
    if (before !== null && token.ms !== null) row.ms = (row.ms ?? 0) + token.ms - before;
  });
  return [...rows.values()];
}
