// SPDX-License-Identifier: Apache-2.0
// How the server stands: from /metrics and the list of requests, once a second while it is looked at.
import { call, cancel, get_json } from './api.js';
import { button, count, duration, el, plural } from './dom.js';
import { histogram, parse_metrics, quantile, total } from './metrics.js';
import { Plot } from './plot.js';

const kEvery = 1000;    // ms
const kKept = 120;      // points of the rates
const kRequests = 25;

const ms = (seconds) => (seconds === null ? null : seconds * 1000);
const of = (part, whole) => (whole ? `${Math.round((part / whole) * 100)} %` : 'none');

function card(title) {
  const value = el('p', { class: 'reading num' }, '\u2013');
  const note = el('p', { class: 'small soft num' });
  return { root: el('div', { class: 'card' }, el('h3', {}, title), value, note),
    set(text, more) {
      value.textContent = text;
      note.textContent = more;
    } };
}

class ServerView {
  constructor(root, server) {
    this.server = server;
    this.points = [];
    this.cards = { requests: card('Requests'), blocks: card('KV blocks'), rate: card('Decoding'), prompt: card('Prompts') };
    this.problem = el('p', { class: 'failure', role: 'alert', hidden: true });
    this.meter = el('div', { class: 'blocks', role: 'img' }, el('span', { class: 'used' }), el('span', { class: 'cached' }));
    this.cards.blocks.root.append(this.meter);
    this.rates = new Plot('line', 'Tokens a second', 'the last two minutes');
    this.first = new Plot('bar', 'Time to first token', 'requests, since the server began');
    this.gaps = new Plot('bar', 'Between two tokens', 'gaps, since the server began');
    this.body = el('tbody');
    this.empty = el('p', { class: 'soft small' }, 'No requests yet.');
    root.append(el('div', { class: 'page-in' },
      el('h1', {}, 'Server'), this.about = el('p', { class: 'soft' }), this.problem,
      el('div', { class: 'cards' }, ...Object.values(this.cards).map((one) => one.root)),
      el('div', { class: 'plots' }, this.rates.root, this.first.root, this.gaps.root),
      el('h2', { id: 'requests-title' }, 'Recent requests'),
      el('div', { class: 'wide', tabindex: '0', role: 'region', 'aria-labelledby': 'requests-title' },
        el('table', { class: 'ledger num' }, el('thead', {}, el('tr', {},
          ...['State', 'Request', 'Prompt', 'Cached', 'Decoded', 'Landed', 'Queue', 'Prompt time', 'Decode time', '']
            .map((name) => el('th', { scope: 'col' }, name || el('span', { class: 'hidden' }, 'Cancel'))))), this.body)),
      this.empty));
  }

  set_shown(is_shown) {
    clearTimeout(this.timer);
    this.is_shown = is_shown;
    if (is_shown) this.look();
  }

  async look() {
    try {
      const [text, list] = await Promise.all([call('/metrics').then((reply) => reply.text()), get_json(`/v1/requests?limit=${kRequests}`)]);
      this.problem.hidden = true;
      this.draw_metrics(parse_metrics(text));
      this.draw_requests(list.data);
    } catch (failure) {
      this.problem.textContent = failure.message;
      this.problem.hidden = false;
      if (failure.status === 401) return;
    }
    if (this.is_shown) this.timer = setTimeout(() => this.look(), kEvery);
  }

  draw_metrics(metrics) {
    const now = performance.now();
    const get = (name) => total(metrics, `pawl_${name}`) ?? 0;
    const server = this.server();
    const [info] = metrics.get('pawl_build_info') ?? [];
    this.about.textContent = `${server?.name ?? 'No model yet'}, context ${count(server?.context ?? 0)}, pawl ${info?.labels.version ?? ''} with ${info?.labels.isa ?? 'unknown'} kernels`;
    const point = { at: now, decoded: get('generation_tokens_total'), computed: get('computed_tokens_total') };
    const last = this.points.at(-1);
    if (last) {
      const seconds = (now - last.at) / 1000;
      point.decode_rate = Math.max(point.decoded - last.decoded, 0) / seconds;
      point.prompt_rate = Math.max(point.computed - last.computed - (point.decoded - last.decoded), 0) / seconds;
    }
    this.points.push(point);
    this.points = this.points.slice(-kKept);

    const running = get('num_requests_running');
    const waiting = get('num_requests_waiting');
    this.cards.requests.set(count(running), `running, ${count(waiting)} waiting, ${plural(get('requests_finished_total'), 'request')} over`);
    const [all, used, cached] = ['kv_blocks', 'kv_blocks_used', 'kv_blocks_cached'].map(get);
    this.cards.blocks.set(of(used, all), `${count(used)} used, ${count(cached)} cached, ${count(all)} in all`);
    this.meter.setAttribute('aria-label', `${of(used, all)} of the KV blocks used, ${of(cached, all)} cached`);
    this.meter.children[0].style.width = `${all ? (used / all) * 100 : 0}%`;
    this.meter.children[1].style.width = `${all ? (cached / all) * 100 : 0}%`;
    this.cards.rate.set(`${count(point.decode_rate ?? 0)} tok/s`, `${count(point.decoded)} tokens since the start, ${count(get('generation_tokens_cancelled_total'))} of them cancelled`);
    this.cards.prompt.set(`${count(point.prompt_rate ?? 0)} tok/s`,
      `${count(get('prompt_tokens_total'))} tokens since the start, ${of(get('prefix_cache_hits_total'), get('prefix_cache_queries_total'))} found in the cache`);
    this.draw_plots(metrics);
  }

  draw_plots(metrics) {
    const drawn = this.points.filter((one) => one.decode_rate !== undefined);
    const end = this.points.at(-1).at;
    this.rates.draw(drawn.map((one) => `${Math.round((one.at - end) / 1000)} s`),
      [{ label: 'decoded', color: '--brass', values: drawn.map((one) => one.decode_rate) },
        { label: 'prompt', color: '--slate', values: drawn.map((one) => one.prompt_rate) }],
      `${count(drawn.at(-1)?.decode_rate ?? 0)} decoded and ${count(drawn.at(-1)?.prompt_rate ?? 0)} prompt tokens in the last second`);
    for (const [plot, name, color] of [[this.first, 'time_to_first_token_seconds', '--slate'], [this.gaps, 'inter_token_latency_seconds', '--brass']]) {
      const { buckets, n } = histogram(metrics, `pawl_${name}`);
      const [middle, high] = [0.5, 0.99].map((share) => duration(ms(quantile({ buckets, n }, share))));
      const full = buckets.map((one, i) => (one.n ? i : -1)).filter((i) => i >= 0);
      const shown = full.length ? buckets.slice(Math.max(full[0] - 1, 0), full.at(-1) + 2) : [];
      plot.draw(shown.map((one) => (one.to === Infinity ? `> ${duration(ms(one.from))}` : `\u2264 ${duration(ms(one.to))}`)),
        [{ label: name.includes('first') ? 'requests' : 'gaps', color, values: shown.map((one) => one.n) }],
        n ? `${count(n)} in all, half below about ${middle}, 99 % below about ${high}` : 'none yet');
    }
  }

  draw_requests(rows) {
    this.empty.hidden = rows.length > 0;
    const had_focus = document.activeElement?.dataset?.cancel;
    this.body.replaceChildren(...rows.map((row) => {
      const name = row.state + (row.cause ? `, ${row.cause.replaceAll('_', ' ')}` : '');
      const is_running = row.state === 'running';
      const short = row.id.slice(-8);
      return el('tr', { class: is_running ? 'running' : undefined },
        el('td', {}, name), el('td', { class: 'mono', title: row.id }, short),
        ...[row.prompt_tokens, is_running ? null : row.cached_tokens, row.completion_tokens, row.delivered_tokens]
          .map((n) => el('td', {}, n === null ? '\u2013' : count(n))),
        ...[row.queue_ms, row.prefill_ms, row.decode_ms].map((one) => el('td', {}, one === null ? '\u2013' : duration(one))),
        el('td', {}, is_running ? button('Cancel', () => this.cancel(row.id), { class: 'plain', 'aria-label': `Cancel request ${short}`, 'data-cancel': row.id }) : ''));
    }));
    if (had_focus) this.body.querySelector(`[data-cancel="${CSS.escape(had_focus)}"]`)?.focus();
  }

  async cancel(id) {
    try {
      await cancel(id);
    } catch (failure) {
      this.problem.textContent = failure.message;
      this.problem.hidden = false;
    }
  }
}

export const make = (root, server) => new ServerView(root, server);
