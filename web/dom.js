// SPDX-License-Identifier: Apache-2.0
// Elements are made here, and text goes into them as text. Nothing in the page parses markup.

// el('button', {class: 'quiet', type: 'button', onclick: f, 'aria-label': 'x'}, 'text', child, …)
export function el(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);
}

function filled(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (key === 'value' || key === 'checked') element[key] = value;
    else element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export const byId = (id) => document.getElementById(id);

export function button(text, onclick, attributes = {}) {
  return el('button', { type: 'button', class: 'quiet', onclick, ...attributes }, text);
}

const whole = new Intl.NumberFormat('en');
export const count = (n) => whole.format(Math.round(n));

export const plural = (n, word) => `${count(n)} ${word}${n === 1 ? '' : 's'}`;

// Milliseconds as a person says them; null is "no value".
export function duration(ms) {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return 'not known';
  if (ms < 10) return `${ms.toFixed(ms < 1 ? 2 : 1)} ms`;
  if (ms < 1000) return `${ms.toFixed(0)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

export function percent(p) {
  if (p >= 0.9995) return '100 %';
  if (p >= 0.1) return `${(p * 100).toFixed(0)} %`;
  return p >= 0.001 ? `${(p * 100).toFixed(1)} %` : '< 0.1 %';
}

// Blanks and control characters of a token, made visible.
export function shown(text) {
  return text.replace(/ /g, '\u00b7').replace(/\n/g, '\u21b5').replace(/\t/g, '\u21e5')
    .replace(/[\u0000-\u001f\u007f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g, '\u2423') || '(nothing)';
}

export async function copy(text, from) {
  const before = from.textContent;
  try {
    await navigator.clipboard.writeText(text);
    from.textContent = 'Copied';
  } catch {
    from.textContent = 'Not allowed';
  }
  setTimeout(() => { from.textContent = before; }, 1500);
}

export function save_file(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  el('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
