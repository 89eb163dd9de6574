// SPDX-License-Identifier: Apache-2.0
// What the sections of a page are made of: elements, tables, figures, plots, conditions.
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

function median(list) {
  const sorted = [...list].sort((a, b) => a - b), middle = Math.floor(sorted.length / 2);
  return sorted.length === 0 ? null : sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

function barPlot(parent, labels, values, unit, name) {
  plot(parent, () => ({
    type: 'bar',
    data: {labels, datasets: [{label: unit, data: values, backgroundColor: color(name), maxBarThickness: 26}]},
    options: {indexAxis: 'y', responsive: true, maintainAspectRatio: false, plugins: {legend: {display: false}},
      scales: {x: {title: {display: true, text: unit}, beginAtZero: true}, y: {grid: {display: false}}}},
  }), 'short');
}

// Rows of name, outcome and reason.
function outcomes(parent, rows) {
  const tag = {holds: 'good', fails: 'bad', unverified: 'warn', 'not checked': 'warn'};
  table(parent, [['', ''], ['', ''], ['', 'wide']], rows.map(([name, outcome, reason]) => [name, {tag: tag[outcome] || 'warn', text: outcome}, reason]));
}
