// SPDX-License-Identifier: Apache-2.0
// Prometheus' text format → numbers, as far as the server view needs it.

const kLine = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/;

// name → [{labels, value}]
export function parse_metrics(text) {
  const all = new Map();
  for (const line of text.split('\n')) {
    const found = line.startsWith('#') ? null : kLine.exec(line);
    if (!found) continue;
    const labels = {};
    for (const [, name, value] of (found[2] ?? '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) labels[name] = value;
    if (!all.has(found[1])) all.set(found[1], []);
    all.get(found[1]).push({ labels, value: Number(found[3]) });
  }
  return all;
}

// The sum over all labels; null when the server has no such metric.
export function total(metrics, name) {
  const samples = metrics.get(name);
  return samples ? samples.reduce((sum, one) => sum + one.value, 0) : null;
}

// {buckets: [{from, to, n}], n}: seconds, and how many fell into each.
export function histogram(metrics, name) {
  const buckets = [];
  let before = 0;
  let from = 0;
  for (const { labels, value } of metrics.get(`${name}_bucket`) ?? []) {
    const to = labels.le === '+Inf' ? Infinity : Number(labels.le);
    buckets.push({ from, to, n: value - before });
    before = value;
    from = to;
  }
  return { buckets, n: before };
}

// The value below which a share lies, as far as buckets tell: within one, evenly spread.
export function quantile({ buckets, n }, share) {
  if (!n) return null;
  let left = n * share;
  for (const bucket of buckets) {
    if (left <= bucket.n) return bucket.to === Infinity ? bucket.from : bucket.from + (bucket.to - bucket.from) * (left / bucket.n);
    left -= bucket.n;
  }
  return null;
}
