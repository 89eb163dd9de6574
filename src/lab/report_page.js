// SPDX-License-Identifier: Apache-2.0
// Draws each result of the page: a section with its verdict, figures, plots, tables and conditions.
'use strict';
const root = document.documentElement;
const inputs = JSON.parse(document.getElementById('data').textContent);
const charts = [];

function color(name) { return getComputedStyle(root).getPropertyValue('--' + name).trim(); }

// Elements: text is set as text, so that nothing in a result is markup.
function element(parent, tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

function shown(x, digits = 3) {
  if (x === null || x === undefined || !isFinite(x)) return '–';
  const size = Math.abs(x);
  if (size >= 10000) return Math.round(x).toLocaleString('en');
  return String(+x.toPrecision(digits));
}
function range(e, unit = '') {
  if (!e) return '–';
  if (e.low === null || e.high === null || e.low === undefined) return shown(e.value) + unit;
  return `${shown(e.value)}${unit} (${shown(e.low)} to ${shown(e.high)})`;
}
function percent(x, digits = 1) { return x === null || x === undefined ? '–' : (100 * x).toFixed(digits) + ' %'; }
function ms(x) { return x === null || x === undefined ? '–' : x >= 1000 ? shown(x / 1000) + ' s' : shown(x) + ' ms'; }

function table(parent, columns, rows) {
  const scroll = element(parent, 'div', 'scroll'), made = element(scroll, 'table');
  const head = element(element(made, 'thead'), 'tr');
  for (const [title, kind] of columns) element(head, 'th', kind, title);
  const body = element(made, 'tbody');
  for (const row of rows) {
    const line = element(body, 'tr');
    row.forEach((cell, i) => {
      const box = element(line, 'td', columns[i][1]);
      if (cell && cell.tag) element(box, 'span', 'tag ' + cell.tag, cell.text); else box.textContent = cell;
    });
  }
}

function card(parent, title, explanation) {
  const made = element(parent, 'div', 'card');
  element(made, 'h3', '', title);
  if (explanation) element(made, 'p', 'soft', explanation);
  return made;
}

function figures(parent, list) {
  const made = element(parent, 'div', 'figures');
  for (const [value, text] of list) {
    const box = element(made, 'div', 'figure');
    element(box, 'b', '', value);
    element(box, 'span', 'soft', text);
  }
}

// `make` gives the configuration anew, so that a change of theme draws in the new colours.
function plot(parent, make, size = '') {
  const box = element(parent, 'div', 'plot ' + size), canvas = element(box, 'canvas');
  charts.push({canvas, make, chart: null});
}
function draw() {
  Chart.defaults.color = color('soft');
  Chart.defaults.borderColor = color('grid');
  Chart.defaults.font.family = 'system-ui, sans-serif';
  Chart.defaults.animation = false;
  for (const entry of charts) {
    if (entry.chart) entry.chart.destroy();
    entry.chart = new Chart(entry.canvas, entry.make());
  }
}
function axes(x, y, more = {}) {
  return {
    responsive: true, maintainAspectRatio: false, interaction: {mode: 'nearest', intersect: true},
    plugins: {legend: {labels: {usePointStyle: true, boxWidth: 6, boxHeight: 6, filter: item => !item.text.startsWith('_')}}},
    scales: {x: {type: 'linear', title: {display: true, text: x}, ...more.x},
             y: {title: {display: true, text: y}, ...more.y}},
  };
}

// Points, the fitted curve, and its 95 % band.
function fitPlot(parent, points, band, x, y, main, fill) {
  plot(parent, () => {
    const datasets = [{type: 'scatter', label: 'requests', data: points, backgroundColor: color(main), pointRadius: 3.5}];
    if (band) {
      datasets.push(
        {type: 'line', label: 'fit', pointStyle: 'line', data: band.map(r => ({x: r[0], y: r[1]})), borderColor: color(main), borderWidth: 2, pointRadius: 0},
        {type: 'line', label: '95 % interval', data: band.map(r => ({x: r[0], y: r[3]})), borderWidth: 0, pointRadius: 0, backgroundColor: color(fill), fill: '+1', pointStyle: 'rect'},
        {type: 'line', label: '_low', data: band.map(r => ({x: r[0], y: r[2]})), borderWidth: 0, pointRadius: 0, backgroundColor: color(fill)});
    }
    return {data: {datasets}, options: axes(x, y, {y: {beginAtZero: true}})};
  });
}

function residualPlot(parent, list) {
  plot(parent, () => ({
    data: {datasets: list.map(([label, residuals, name]) => ({
      type: 'scatter', label, pointRadius: 3.5, backgroundColor: color(name),
      data: residuals.map(([x, y]) => ({x: Math.max(x, 1), y: 100 * y}))}))},
    options: axes('tokens of prompt or context', 'measured beside fit, %', {x: {type: 'logarithmic'}}),
  }));
}

// Time before and after the first text, one bar for each shape.
function stackedPlot(parent, rows) {
  plot(parent, () => ({
    type: 'bar',
    data: {labels: rows.map(r => r.name), datasets: [
      {label: 'before the first text', data: rows.map(r => r.before), backgroundColor: color('first'), maxBarThickness: 34},
      {label: 'after it', data: rows.map(r => r.after), backgroundColor: color('tail'), maxBarThickness: 34}]},
    options: {indexAxis: 'y', responsive: true, maintainAspectRatio: false,
      plugins: {legend: {labels: {usePointStyle: true, boxWidth: 6, boxHeight: 6}}},
      scales: {x: {stacked: true, title: {display: true, text: 'ms'}}, y: {stacked: true, grid: {display: false}}}},
  }), rows.length > 6 ? 'tall' : rows.length < 4 ? 'short' : '');
}

function gapPlot(parent, gaps) {
  const positive = gaps.map(g => Math.max(g, 0.01)), low = Math.log10(Math.min(...positive)), high = Math.log10(Math.max(...positive));
  const count = 40, width = (high - low) / count || 1, bins = new Array(count).fill(0);
  for (const g of positive) bins[Math.min(count - 1, Math.floor((Math.log10(g) - low) / width))]++;
  const labels = bins.map((_, i) => shown(10 ** (low + (i + .5) * width), 2));
  plot(parent, () => ({
    type: 'bar',
    data: {labels, datasets: [{label: 'gaps', data: bins, backgroundColor: color('tail'), categoryPercentage: 1, barPercentage: .92}]},
    options: {responsive: true, maintainAspectRatio: false, plugins: {legend: {display: false}},
      scales: {x: {title: {display: true, text: 'ms from token to token, logarithmic'}, ticks: {maxTicksLimit: 10}, grid: {display: false}},
               y: {title: {display: true, text: 'gaps, logarithmic'}, type: 'logarithmic', ticks: {maxTicksLimit: 6}}}},
  }));
}

function timelinePlot(parent, rows) {
  plot(parent, () => ({
    type: 'bar',
    data: {labels: rows.map((_, i) => i), datasets: [
      {label: 'waiting for the first text', data: rows.map(r => [r.sent_ms / 1e3, (r.sent_ms + r.first_ms) / 1e3]), backgroundColor: color('first'), grouped: false},
      {label: 'text coming', data: rows.map(r => [(r.sent_ms + r.first_ms) / 1e3, (r.sent_ms + r.last_ms) / 1e3]), backgroundColor: color('tail'), grouped: false}]},
    options: {indexAxis: 'y', responsive: true, maintainAspectRatio: false,
      plugins: {legend: {labels: {usePointStyle: true, boxWidth: 6, boxHeight: 6}},
                tooltip: {callbacks: {title: items => rows[items[0].dataIndex].name}}},
      scales: {x: {title: {display: true, text: 's since the first request'}}, y: {display: false}}},
  }), 'tall');
}

function conditions(parent, values) {
  if (!values) return;
  const box = card(parent, 'Conditions', 'A number holds under these and no others.');
  table(box, [['', ''], ['', 'wide']], Object.entries(values)
    .map(([key, value]) => [key.replaceAll('_', ' '), value === null || value === '' ? 'not known' : typeof value === 'object' ? JSON.stringify(value) : String(value)]));
}

function banner(parent, kind, text) { element(parent, 'div', 'banner ' + kind, text); }

function sweep(section, input) {
  const result = input.document, fit = result.fit || {}, parts = fit.coefficients;
  if (result.void_because.length === 0) banner(section, 'good', 'Holds: start-up and tail are two clocks here.');
  for (const reason of result.void_because) banner(section, 'bad', 'Void. ' + reason);
  if (parts) {
    const last = fit.exchange_rates[fit.exchange_rates.length - 1], first = fit.exchange_rates[0];
    figures(section, [
      [shown(parts.a_ms.value) + ' ms', `start-up (${shown(parts.a_ms.low)} to ${shown(parts.a_ms.high)})`],
      [shown(parts.b_ms.value) + ' ms', `per prompt token (${shown(parts.b_ms.low)} to ${shown(parts.b_ms.high)})`],
      [shown(parts.c0_ms.value) + ' ms', `per output token (${shown(parts.c0_ms.low)} to ${shown(parts.c0_ms.high)})`],
      [shown(first.rate.value) + ' → ' + shown(last.rate.value), `prompt tokens for one output token, at ${shown(first.prompt)} and ${shown(last.prompt)} tokens`]]);
  }
  const inArms = result.points.filter(p => p.arm === 'prompt' || p.arm === 'output');
  const two = element(section, 'div', 'pair');
  fitPlot(card(two, 'The prompt moves the start-up', 'Time to first token against prompt length.'),
    inArms.map(p => ({x: p.prompt_tokens, y: p.ttft_ms})), fit.first_token_band, 'prompt tokens', 'ms to the first token', 'first', 'band');
  fitPlot(card(two, 'The output moves the tail', 'Time per output token against the context it saw.'),
    inArms.filter(p => p.tpot_ms !== null && p.output_tokens >= 8).map(p => ({x: p.prompt_tokens + p.output_tokens / 2, y: p.tpot_ms})),
    fit.output_token_band, 'context, tokens', 'ms per output token', 'tail', 'band-tail');
  const more = element(section, 'div', 'pair');
  stackedPlot(card(more, 'Before and after the first text', 'Means of each shape, prompt × output tokens.'),
    result.shapes.map(s => ({name: `${Math.round(s.prompt_asked)} × ${Math.round(s.output_asked)}`, before: s.ttft_ms.mean, after: s.e2e_ms.mean - s.ttft_ms.mean})));
  if (fit.first_token && fit.output_token) {
    residualPlot(card(more, 'Residuals', 'What the fits leave over: a pattern here is a wrong curve.'),
      [['first token', fit.first_token.residuals, 'first'], ['per output token', fit.output_token.residuals, 'tail']]);
  }
  if (input.gaps.length || input.timeline.length) {
    const raw = element(section, 'div', 'pair');
    if (input.gaps.length) gapPlot(card(raw, 'Gaps between tokens', `${input.gaps.length} gaps of all measured streams.`), input.gaps);
    if (input.timeline.length) timelinePlot(card(raw, 'Timeline', 'Requests in the order they were sent.'), input.timeline);
  }
  const found = v => v.finding === 'clear' ? {tag: 'good', text: 'clear'} : v.finding === 'found' ? {tag: v.voids_split ? 'bad' : 'warn', text: 'found'} : {tag: 'warn', text: 'cannot tell'};
  const verdicts = card(section, 'Verdicts', 'What could blur the two clocks, looked for in the raw records.');
  table(verdicts, [['', ''], ['', ''], ['', 'wide']], result.verdicts.map(v => [v.name, found(v), v.text])
    .concat(result.symptoms.map(s => [s.name, {tag: s.refuses ? 'bad' : 'warn', text: 'sign'}, s.text])));
  if (result.streaming) {
    const s = result.streaming;
    element(verdicts, 'p', 'soft', `Streaming moves the first text, not the last: first after ${ms(s.streamed_first_ms)}, the end after ${ms(s.streamed_end_ms)} streamed and ${ms(s.whole_end_ms)} not; ratio ${range(s.ratio)}.`);
  }
  if (result.cache_probe) element(verdicts, 'p', 'soft', 'The server\'s cache: ' + result.cache_probe.text + '.');
  if (result.additivity.length) {
    const box = card(section, 'Both together', 'Long prompt and long answer in one request, which no fit has seen, beside the sum of the two clocks.');
    table(box, [['prompt', 'number'], ['output', 'number'], ['n', 'number'], ['measured', 'number'], ['sum', 'number'], ['gap', 'number']],
      result.additivity.map(r => [r.prompt, r.output, r.n, ms(r.measured_ms), ms(r.predicted_ms.value),
        `${percent(r.gap.value)} (${percent(r.gap.low)} to ${percent(r.gap.high)})`]));
    if (result.held_out) element(box, 'p', 'soft', `${result.held_out.covered} of ${result.held_out.n} single requests inside their 95 % interval; ${percent(result.held_out.median_error)} off in the median.`);
  }
  const p99 = p => p ? shown(p.value) + (p.is_few ? ' (few)' : '') : '–';
  table(card(section, 'All shapes', 'Medians with 95 % intervals; a p99 of fewer than 100 is marked.'),
    [['arm', ''], ['asked', 'number'], ['got', 'number'], ['n', 'number'], ['TTFT ms', 'number'], ['p99', 'number'], ['per token ms', 'number'], ['end ms', 'number'], ['cached', 'number']],
    result.shapes.map(s => [s.arm, `${shown(s.prompt_asked)} × ${shown(s.output_asked)}`, `${shown(s.prompt_got, 4)} × ${shown(s.output_got, 4)}`, s.ttft_ms.n,
      range(s.ttft_ms.p50), p99(s.ttft_ms.p99), s.tpot_ms ? range(s.tpot_ms.p50) : '–', shown(s.e2e_ms.p50.value), percent(s.cached_share)]));
}

function compare(section, input) {
  const r = input.document, name = half => `${shown(half.prompt_tokens)} in, ${shown(half.output_tokens)} out`;
  const longer = r.slower === 'a' ? r.a : r.b, ratio = r.slower === 'b' ? 1 / r.ratio.value : r.ratio.value;
  banner(section, r.slower === 'cannot tell' ? 'warn' : 'good', r.slower === 'cannot tell'
    ? 'Cannot tell: the interval of the ratio holds 1.' : `${name(longer)} takes ${shown(ratio)} times as long.`);
  stackedPlot(card(section, 'Before and after the first text', 'Means.'), [r.a, r.b].map(h => ({name: name(h), before: h.before_first_ms, after: h.after_first_ms})));
  const right = rule => rule.right === null ? '–' : rule.right ? {tag: 'good', text: 'right'} : {tag: 'bad', text: 'wrong'};
  table(card(section, 'What each rule would have said'), [['rule', ''], ['slower', ''], ['', '']], [
    ['output length', r.by_output_length.says, right(r.by_output_length)],
    ['total tokens', r.by_total_tokens.says, right(r.by_total_tokens)]]);
  table(card(section, 'Exchange rate', 'Prompt tokens that take as long as one output token.'), [['', ''], ['', 'number']], [
    ['as these two show it', range(r.exchange_rate)], ['the order turns at', shown(r.order_turns_at_exchange_rate)],
    [`told of data-centre accelerators`, shown(r.claim.exchange_rate)], ['a over b at that rate', shown(r.claim.ratio)], ['a over b here', range(r.ratio)]]);
}

function predict(section, input) {
  const r = input.document;
  const said = rule => rule.state === 'refuses' ? {tag: 'warn', text: 'refuses'} : rule.state === 'lacks' ? {tag: 'warn', text: 'lacks'} : rule.slower === 'cannot tell' ? {tag: 'warn', text: 'cannot tell'} : {tag: 'good', text: rule.slower + ' takes longer'};
  element(section, 'p', '', `a: ${shown(r.a.prompt)} in, ${shown(r.a.output)} out ${r.a.place || ''} · b: ${shown(r.b.prompt)} in, ${shown(r.b.output)} out ${r.b.place || ''}`);
  table(card(section, 'Three rules'), [['rule', ''], ['', ''], ['a ms', 'number'], ['b ms', 'number'], ['', 'wide']],
    r.rules.map(x => [x.name, said(x), range(x.a_ms), range(x.b_ms), x.reasons.join(' · ')]));
  for (const note of r.notes) element(section, 'p', 'soft', note);
  if (r.order_turns_at_exchange_rate) element(section, 'p', 'soft', `The order turns at an exchange rate of ${shown(r.order_turns_at_exchange_rate)}; here it is ${range(r.exchange_rate)}.`);
  conditions(section, {...r.a.conditions});
  if (r.b.conditions && JSON.stringify(r.b.conditions) !== JSON.stringify(r.a.conditions)) conditions(section, {...r.b.conditions});
}

function score(section, input) {
  const r = input.document;
  banner(section, r.holds ? 'good' : 'bad', r.holds ? 'Holds: the full fit is right in at least 95 % of the pairs it decides.' : 'Fails: the full fit is right in less than 95 % of the pairs it decides.');
  figures(section, [
    [`${r.intervals.covered} of ${r.intervals.n}`, 'single requests inside their 95 % interval'],
    [percent(r.median_error), 'off in the median'],
    [shown(r.r2_output_length.inside_fence.value), `share of the variance that output length explains inside the fence (${shown(r.r2_output_length.inside_fence.low)} to ${shown(r.r2_output_length.inside_fence.high)})`],
    [shown(r.r2_output_length.overall.value), 'the same with prompts of all lengths']]);
  table(card(section, 'Rules', `${r.pairs} pairs.`), [['rule', ''], ['decided', 'number'], ['right', 'number'], ['', 'number'], ['cannot tell', 'number'], ['refused', 'number']],
    r.rules.map(x => [x.name, x.decided, x.right, percent(x.share_right), x.cannot_tell, x.refused]));
  plot(card(section, 'Predicted and measured', 'One point for each request; on the line they agree.'), () => {
    const all = r.measured.flatMap(m => [m[2], m[3]]), low = Math.min(...all), high = Math.max(...all);
    return {data: {datasets: [
      {type: 'scatter', label: 'inside the interval', data: r.measured.filter(m => m[2] >= m[4] && m[2] <= m[5]).map(m => ({x: m[3], y: m[2]})), backgroundColor: color('first'), pointRadius: 3.5},
      {type: 'scatter', label: 'outside', data: r.measured.filter(m => m[2] < m[4] || m[2] > m[5]).map(m => ({x: m[3], y: m[2]})), backgroundColor: color('bad'), pointStyle: 'triangle', pointRadius: 5},
      {type: 'line', label: '_equal', data: [{x: low, y: low}, {x: high, y: high}], borderColor: color('soft'), borderWidth: 1, pointRadius: 0}]},
      options: axes('predicted ms', 'measured ms', {x: {type: 'logarithmic'}, y: {type: 'logarithmic'}})};
  }, 'tall');
}

const kinds = {sweep: ['Sweep', sweep], compare: ['Comparison', compare], predict: ['Prediction', predict], score: ['Score of the predictions', score]};
for (const input of inputs) {
  const section = element(document.getElementById('page'), 'section', 'result');
  const [title, render] = kinds[input.document.kind] || ['Result', null];
  element(section, 'h2', '', title);
  element(section, 'p', 'soft', input.name);
  if (render) render(section, input); else element(card(section, 'As it stands in the file'), 'pre', '', JSON.stringify(input.document, null, 1).slice(0, 100000));
  if (input.document.kind !== 'predict') conditions(section, input.document.conditions);
}
const wantsDark = matchMedia('(prefers-color-scheme: dark)');
function setTheme(dark) { root.dataset.theme = dark ? 'dark' : 'light'; draw(); }
setTheme(wantsDark.matches);
wantsDark.addEventListener('change', event => setTheme(event.matches));
document.getElementById('theme').addEventListener('click', () => setTheme(root.dataset.theme !== 'dark'));
