// SPDX-License-Identifier: Apache-2.0
// A plot with a title and its message in words, so that it says the same to those who do not see it.
// Chart.js is fetched from the server when the first one is drawn.
import { el } from './dom.js';

let library = null;

async function chart_library() {
  library ??= import('/web/chart.js').then(() => globalThis.Chart);
  return library;
}

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export class Plot {
  constructor(kind, title, note) {
    this.kind = kind;
    this.title = title;
    this.canvas = el('canvas', { role: 'img' });
    this.words = el('p', { class: 'small soft num' });
    this.root = el('figure', { class: 'plot' }, el('figcaption', {}, el('h3', {}, title), el('span', { class: 'small soft' }, note)),
      el('div', { class: 'canvas' }, this.canvas), this.words);
    addEventListener('themechange', () => this.restyle());
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.restyle());
  }

  restyle() {
    this.chart?.destroy();
    this.chart = null;
    if (this.last) this.draw(...this.last);
  }

  // series: [{label, color: a name of style.css, values}]. words: what it shows, said.
  async draw(labels, series, words) {
    this.last = [labels, series, words];
    this.words.textContent = words;
    this.canvas.setAttribute('aria-label', `${this.title}: ${words}`);
    const Chart = await chart_library();
    if (this.last[0] !== labels) return;  // something later was asked for meanwhile
    this.chart ??= new Chart(this.canvas, this.config(series));
    this.chart.data.labels = labels;
    series.forEach((one, i) => { this.chart.data.datasets[i].data = one.values; });
    this.chart.update('none');
  }

  config(series) {
    const soft = color('--ink-soft');
    const font = { family: getComputedStyle(document.body).fontFamily, size: 11 };
    const is_line = this.kind === 'line';
    return { type: this.kind,
      data: { labels: [], datasets: series.map((one) => ({ label: one.label, data: [], borderColor: color(one.color),
        backgroundColor: color(one.color), borderWidth: is_line ? 1.75 : 0, pointRadius: 0, tension: 0.25, borderRadius: 2,
        categoryPercentage: 0.96, barPercentage: 0.96 })) },
      options: { animation: false, responsive: true, maintainAspectRatio: false, interaction: { mode: 'index', intersect: false },
        plugins: { legend: { display: series.length > 1, position: 'top', align: 'end', labels: { color: soft, font, boxWidth: 10, boxHeight: 10 } } },
        scales: {
          x: { grid: { display: false }, border: { display: false }, ticks: { color: soft, font, maxTicksLimit: 6, maxRotation: 0 } },
          y: { beginAtZero: true, grid: { color: color('--line'), drawBorder: false }, ticks: { color: soft, font, maxTicksLimit: 5, precision: 0 } } } } };
  }
}
