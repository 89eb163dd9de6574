// SPDX-License-Identifier: Apache-2.0
// Where the time of an answer went: one line to scale, and the two clocks apart.
import { count, duration, el, plural, svg } from './dom.js';

const kWidth = 1000;
const kHeight = 30;
const kFewPromptTokens = 16;

const sum = (values) => values.reduce((a, b) => a + b, 0);

function percentile(sorted, share) {
  return sorted.length ? sorted[Math.round((sorted.length - 1) * share)] : null;
}

// The numbers behind the picture, from what the server said; null where it said nothing.
export function clocks(record) {
  const { timings, usage, tokens, kept = 0 } = record;
  const times = tokens.slice(kept).map((token) => token.ms).filter((ms) => ms !== null);
  const gaps = times.slice(1).map((ms, i) => ms - times[i]);
  const sorted = [...gaps].sort((a, b) => a - b);
  const prompt = usage?.prompt_tokens ?? null;
  const cached = timings?.cached_tokens ?? usage?.prompt_tokens_details?.cached_tokens ?? 0;
  const queue = timings?.queue_ms ?? null;
  const prefill = timings?.prefill_ms ?? null;
  const first = times.length ? times[0] : queue !== null && prefill !== null ? queue + prefill : null;
  const decode = timings?.decode_ms ?? (gaps.length ? sum(gaps) : null);
  const output = usage?.completion_tokens ?? tokens.length - kept;
  const per_token = gaps.length ? sum(gaps) / gaps.length : output > 1 && decode ? decode / (output - 1) : null;
  const computed = prompt === null ? null : prompt - cached;
  const per_prompt_token = prefill !== null && computed > 0 ? prefill / computed : null;
  return { times, gaps, queue, prefill, first, decode, output, prompt, cached, computed, per_token, per_prompt_token,
    median: percentile(sorted, 0.5), p99: percentile(sorted, 0.99), slowest: sorted.at(-1) ?? null,
    passes: timings?.forward_passes ?? null,
    total: timings?.total_ms ?? (times.length ? times.at(-1) : null),
    // Of a few tokens only, a pass for them costs what a pass costs, and the ratio would say nothing.
    worth: per_token !== null && per_prompt_token && computed >= kFewPromptTokens ? per_token / per_prompt_token : null,
    is_mostly_cached: computed !== null && computed < kFewPromptTokens && cached > 0 };
}

function number(value, digits = 1) {
  return value >= 100 ? count(value) : value.toFixed(digits);
}

// One line of truth.
export function truth(c) {
  const parts = [];
  if (c.prompt !== null) parts.push(`${plural(c.prompt, 'prompt token')}${c.cached ? `, ${count(c.cached)} of them cached` : ''}`);
  parts.push(plural(c.output, 'output token'));
  if (c.passes !== null) parts.push(`${count(c.passes)} ${c.passes === 1 ? 'pass' : 'passes'}`);
  if (c.first !== null) parts.push(`${duration(c.first)} to the first token`);
  if (c.decode !== null) parts.push(`${duration(c.decode)} after it`);
  if (c.worth !== null) parts.push(`one output token was worth ${number(c.worth)} prompt tokens here`);
  if (c.worth === null && c.is_mostly_cached) parts.push('too little of the prompt was computed to say what a token is worth');
  return parts.join(' \u00b7 ');
}

const box = (from, to) => `M${from.toFixed(2)} 0H${to.toFixed(2)}V${kHeight}H${from.toFixed(2)}Z`;

export class Timeline {
  constructor() {
    this.marker = svg('path', { class: 'step-mark' });
    this.picture = svg('svg', { viewBox: `0 0 ${kWidth} ${kHeight}`, preserveAspectRatio: 'none', role: 'img' });
    this.axis = el('div', { class: 'axis small soft num', 'aria-hidden': 'true' });
    this.root = el('figure', { class: 'timeline' }, this.picture, this.axis,
      el('figcaption', { class: 'keys small soft' },
        el('span', { class: 'key queue' }, 'queue'), el('span', { class: 'key prefill' }, 'prompt'),
        el('span', { class: 'key decode' }, 'one token each')));
  }

  draw(c) {
    this.clocks = c;
    const total = Math.max(c.total ?? 0, c.times.at(-1) ?? 0);
    if (!total || c.first === null) {
      this.root.hidden = true;
      return;
    }
    this.root.hidden = false;
    this.scale = kWidth / total;
    const x = (ms) => ms * this.scale;
    const queue = Math.min(c.queue ?? 0, c.first);
    const steps = ['', ''];
    c.times.slice(1).forEach((ms, i) => { steps[i % 2] += box(x(c.times[i]), x(ms)); });
    this.picture.replaceChildren(
      svg('path', { class: 'queue', d: box(0, x(queue)) }),
      svg('path', { class: 'prefill', d: box(x(queue), x(c.first)) }),
      svg('path', { class: 'decode even', d: steps[0] }),
      svg('path', { class: 'decode odd', d: steps[1] }),
      this.marker);
    this.picture.setAttribute('aria-label', `Time line to scale: ${duration(queue)} in the queue, ${duration(c.first - queue)} `
      + `for the prompt, then ${plural(c.gaps.length, 'step')} in ${duration(c.decode)}`);
    this.axis.replaceChildren(el('span', {}, '0'), el('span', {}, duration(total)));
  }

  // Shows where in time a token was decoded. `i` counts from the first decoded one.
  mark(i) {
    const { times, queue } = this.clocks ?? { times: [] };
    if (!this.scale || i < 0 || i >= times.length) {
      this.marker.removeAttribute('d');
      return;
    }
    const from = i === 0 ? queue ?? 0 : times[i - 1];
    this.marker.setAttribute('d', box(from * this.scale, Math.max(times[i] * this.scale, from * this.scale + 2)));
  }
}

function clock(kind, title, value, unit, ...lines) {
  return el('div', { class: `clock ${kind}` }, el('h4', {}, title),
    el('p', { class: 'reading num' }, value, el('span', { class: 'unit' }, unit)),
    ...lines.filter(Boolean).map((line) => el('p', { class: 'small soft num' }, line)));
}

export function two_clocks(c) {
  const startup = c.first === null ? null : duration(c.first);
  const step = c.per_token === null ? null : duration(c.per_token);
  return el('div', { class: 'clocks' },
    clock('startup', 'Startup clock', startup ?? 'not known', startup ? ' before the first token' : '',
      c.queue !== null && `${duration(c.queue)} in the queue, ${duration(c.prefill)} for the prompt`,
      c.per_prompt_token !== null && (c.is_mostly_cached ? `${plural(c.computed, 'prompt token')} computed, the others were cached`
        : `${plural(c.computed, 'prompt token')} computed together, ${duration(c.per_prompt_token)} each`)),
    clock('steady', 'Per-token clock', step ?? 'not known', step ? ' for each token' : ' before a second token',
      c.gaps.length > 0 && `${plural(c.gaps.length, 'step')}, one after the other: ${duration(c.decode)}`,
      c.median !== null && `median ${duration(c.median)}, p99 ${duration(c.p99)}, slowest ${duration(c.slowest)}`));
}
