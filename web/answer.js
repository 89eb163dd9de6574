// SPDX-License-Identifier: Apache-2.0
// One message on the page: its text, what can be done with it, and for an answer its line of truth, its
// bill when it was stopped, and its clockwork.
import { button, copy, count, duration, el, plural } from './dom.js';
import { GrowingMarkdown, render } from './markdown.js';
import { Clockwork } from './clockwork.js';
import { clocks, truth } from './timeline.js';

function branch_switch(siblings, node, on_switch) {
  if (siblings.length < 2) return null;
  const at = siblings.indexOf(node);
  const step = (by, label, text) => button(text, () => on_switch(siblings[at + by]),
    { 'aria-label': label, disabled: !siblings[at + by] });
  return el('span', { class: 'branches small num', role: 'group', 'aria-label': 'Branches' },
    step(-1, 'Earlier branch', '\u2039'), `${at + 1} / ${siblings.length}`, step(1, 'Later branch', '\u203a'));
}

// actions: {edit(node, text), show(node), siblings(node), is_busy()}
export function user_message(node, actions) {
  const text = el('p', { class: 'said', dir: 'auto' }, node.text);
  const root = el('article', { class: 'message user', 'aria-label': 'You', 'data-node': node.id }, text);
  const foot = el('div', { class: 'message-foot' },
    branch_switch(actions.siblings(node), node, actions.show),
    button('Edit', () => edit(), { class: 'quiet edit' }),
    button('Copy', (event) => copy(node.text, event.currentTarget)));
  root.append(foot);

  function edit() {
    if (actions.is_busy()) return;
    const area = el('textarea', { 'aria-label': 'Edit your message', rows: Math.min(12, node.text.split('\n').length + 1), value: node.text });
    const form = el('form', { class: 'edit-form', onsubmit: (event) => {
      event.preventDefault();
      if (area.value.trim()) actions.edit(node, area.value);
    } }, area, el('div', { class: 'row' }, el('button', { type: 'submit', class: 'primary' }, 'Ask again'),
      button('Leave it', close)));
    area.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        form.requestSubmit();
      } else if (event.key === 'Escape') close();
    });
    function close() {
      form.replaceWith(text);
      foot.hidden = false;
      foot.querySelector('.edit').focus();
    }
    text.replaceWith(form);
    foot.hidden = true;
    area.focus();
  }
  return root;
}

// Stopping, as a receipt.
export function bill_card(bill) {
  if (bill.error) return el('p', { class: 'bill soft small' }, bill.error);
  const row = (name, value, note) => [el('dt', {}, name), el('dd', { class: 'num' }, value, note ? el('span', { class: 'soft' }, ` ${note}`) : null)];
  const unread = Math.max(bill.decoded - bill.landed, 0);
  const is_over = bill.state !== 'cancelled';
  return el('section', { class: 'bill', 'aria-label': 'Bill of the stopped answer' },
    el('h4', {}, is_over ? 'It was over before the stop' : 'Stopped'),
    el('dl', {},
      ...row('Landed', plural(bill.landed, 'token'), 'reached this page'),
      ...row('Decoded', plural(bill.decoded, 'token'), 'by the server, says its ledger'),
      ...row('For nobody', plural(unread, 'token'), 'decoded and not read'),
      ...row('Not spent', is_over ? plural(0, 'token') : `up to ${plural(bill.unspent, 'token')}`,
        bill.unspent_ms === null || is_over ? '' : `or ${duration(bill.unspent_ms)}, to the limit of ${count(bill.limit)}`)),
    el('p', { class: 'small soft' }, is_over
      ? `The server had ended it by itself (${bill.state}).`
      : `The prompt of ${plural(bill.prompt, 'token')} was paid in full. What is not spent is a bound: nobody knows where the answer would have ended.`));
}

const kReasons = { length: 'It ended at the limit of tokens.', error: '', cancelled: 'It was cancelled on the server.' };

// actions: {regenerate(node), turn(node, i, candidate), show, siblings, origin(node), is_busy(), is_plain}
export class Answer {
  constructor(node, actions) {
    this.node = node;
    this.actions = actions;
    this.pending = '';
    this.clockwork = null;
    this.body = el('div', { class: actions.is_plain ? 'prose said' : 'prose' });
    this.foot = el('div', { class: 'message-foot' });
    this.after = el('div', { class: 'after' });
    this.works = el('div', { class: 'works-place' });
    this.root = el('article', { class: 'message assistant', 'aria-label': 'Answer', 'data-node': node.id },
      this.body, this.after, this.foot, this.works);
    if (node.record?.state === 'running') this.begin();
    else this.finish(true);
  }

  begin() {
    this.growing = this.actions.is_plain ? null : new GrowingMarkdown(this.body);
    this.root.setAttribute('aria-busy', 'true');
    this.body.append(el('span', { class: 'waiting soft', role: 'status' }, 'Computing the prompt\u2026'));
    this.append(this.node.text);
  }

  // Text is put on the page once a frame, however often it comes.
  append(text) {
    if (!text && !this.node.record.tokens.length) return;
    this.pending += text;
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.frame = 0;
    if (this.pending) this.body.querySelector('.waiting')?.remove();
    if (this.growing) this.growing.append(this.pending);
    else this.body.append(this.pending);
    this.pending = '';
    this.clockwork?.update();
    this.actions.drawn?.();
  }

  finish(is_old = false) {
    if (this.frame) cancelAnimationFrame(this.frame);
    const { node } = this;
    if (is_old) this.body.append(...(this.actions.is_plain ? [node.text] : render(node.text).childNodes));
    else {
      this.draw();
      this.growing?.finish();
      this.body.querySelector('.waiting')?.remove();
    }
    this.root.removeAttribute('aria-busy');
    const { record } = node;
    const why = record?.error ?? (record?.bill ? '' : kReasons[record?.state] ?? '');
    this.after.replaceChildren(...[
      !node.text && !record?.error && !record?.bill ? el('p', { class: 'small soft' }, 'The answer is empty: its first token was the end.') : null,
      why ? el('p', { class: record.state === 'error' ? 'failure' : 'small soft', role: record.state === 'error' ? 'alert' : undefined }, why) : null,
      record?.bill ? bill_card(record.bill) : null].filter(Boolean));
    this.draw_foot();
    this.clockwork?.update();
  }

  draw_foot() {
    const { node, actions } = this;
    const { record } = node;
    const toggle = record?.tokens.length
      ? button('Clockwork', () => this.toggle(), { class: 'quiet open-works', 'aria-expanded': String(Boolean(this.clockwork)) }) : null;
    this.foot.replaceChildren(...[
      branch_switch(actions.siblings(node), node, actions.show),
      toggle,
      button('Ask again', () => actions.regenerate(node), { class: 'quiet again' }),
      button('Copy', (event) => copy(node.text, event.currentTarget)),
      record?.tokens.length ? el('p', { class: 'brief small soft num' }, brief(record)) : null].filter(Boolean));
  }

  toggle(open = !this.clockwork) {
    const { node, actions } = this;
    if (open && !this.clockwork) {
      this.clockwork = new Clockwork(node.record, actions.origin(node), () => !actions.is_busy(),
        (i, candidate) => actions.turn(node, i, candidate));
      this.works.append(this.clockwork.root);
    } else if (!open && this.clockwork) {
      this.clockwork.root.remove();
      this.clockwork = null;
    }
    this.foot.querySelector('.open-works')?.setAttribute('aria-expanded', String(Boolean(this.clockwork)));
  }
}

function brief(record) {
  const c = clocks(record);
  if (c.first === null) return truth(c);
  return [duration(c.first), plural(c.output, 'token'), c.per_token === null ? null : `${duration(c.per_token)} each`]
    .filter(Boolean).join(' \u00b7 ');
}
