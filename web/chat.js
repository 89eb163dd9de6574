// SPDX-License-Identifier: Apache-2.0
// The chat view: the thread of the conversation that is shown, and asking for answers.
import { byId, el, plural } from './dom.js';
import { Answer, user_message } from './answer.js';
import * as tree from './conversation.js';
import { Generation, new_record, text_of } from './generate.js';
import { candidates, policy_fields } from './settings.js';

const kSaveEvery = 2000;  // ms, while an answer comes
const kStarters = ['Why is the sky blue? Two sentences.', 'Write a haiku about a ratchet.',
  'A Python function that finds the longest word.'];

export class Chat {
  // history keeps the conversations. server(): what is known of it: {has_template, end_tokens, context}.
  constructor(history, server) {
    this.history = history;
    this.server = server;
    this.running = null;  // {generation, answer}
    this.answers = new Map();
    this.scroll = byId('scroll');
    this.thread = byId('thread');
    this.is_at_end = true;
    this.scroll.addEventListener('scroll', () => {
      this.is_at_end = this.scroll.scrollHeight - this.scroll.scrollTop - this.scroll.clientHeight < 60;
    }, { passive: true });
    this.on_state = () => {};
  }

  get conversation() { return this.history.current; }
  get is_plain() { return this.server() !== null && !this.server().has_template; }
  get is_busy() { return this.running !== null; }

  actions() {
    const { conversation } = this;
    return { is_plain: this.is_plain, is_busy: () => this.is_busy,
      siblings: (node) => tree.branches(conversation, node),
      show: (node) => this.show(node),
      edit: (node, text) => this.edit(node, text),
      regenerate: (node) => this.regenerate(node),
      turn: (node, i, candidate) => this.turn(node, i, candidate),
      origin: (node) => conversation.nodes[node.record.turned?.from]?.record ?? null,
      drawn: () => this.follow() };
  }

  // Draws the whole thread.
  draw() {
    const nodes = tree.path(this.conversation);
    this.answers.clear();
    const actions = this.actions();
    const drawn = nodes.map((node) => this.message(node, actions));
    this.thread.classList.toggle('plain-model', this.is_plain);
    this.thread.replaceChildren(...(nodes.length ? drawn : [this.welcome()]));
    this.is_at_end = true;
    this.follow();
  }

  message(node, actions = this.actions()) {
    if (node.role === 'user') return user_message(node, actions);
    const answer = this.running?.node === node ? this.running.answer : new Answer(node, actions);
    this.answers.set(node.id, answer);
    return answer.root;
  }

  welcome() {
    if (this.is_plain) {
      return el('div', { class: 'welcome' }, el('h1', {}, 'Write the beginning'),
        el('p', { class: 'soft' }, 'This model has no chat template: it was trained to go on with a text, not to take turns. '
          + 'So there are no questions and answers here. What you write is continued, as it stands.'));
    }
    return el('div', { class: 'welcome' }, el('h1', {}, 'One token at a time'),
      el('p', { class: 'soft' }, 'Ask something. Under each answer, Clockwork shows what every token cost, what else it could have been, '
        + 'and lets you turn one and watch the rest change.'),
      el('div', { class: 'starters' }, ...kStarters.map((text) => el('button', { type: 'button', onclick: () => this.suggest(text) }, text))));
  }

  suggest(text) {
    byId('draft').value = text;
    byId('draft').dispatchEvent(new Event('input'));
    byId('draft').focus();
  }

  follow() {
    if (this.is_at_end) this.scroll.scrollTop = this.scroll.scrollHeight;
  }

  changed() {
    this.conversation.updated = Date.now();
    this.history.keep(this.conversation);
  }

  show(node) {
    if (!node || this.is_busy) return;
    tree.show_branch(this.conversation, node);
    this.changed();
    this.draw();
  }

  // A message, or with a plain model more text; empty text: the plain model just goes on.
  ask(text) {
    if (this.is_busy) return;
    const { conversation } = this;
    if (text) tree.add(conversation, conversation.leaf, 'user', text);
    this.answer_to(conversation.leaf);
  }

  edit(node, text) {
    const made = tree.add(this.conversation, node.parent, 'user', text);
    this.answer_to(made.id);
  }

  regenerate(node) {
    if (this.is_busy) return;
    this.answer_to(node.parent);
  }

  answer_to(parent) {
    const { conversation } = this;
    const body = this.is_plain ? { prompt: tree.plain_text(conversation, parent) } : { messages: tree.messages(conversation, parent) };
    const record = new_record(policy_fields());
    const node = tree.add(conversation, parent, 'assistant', '', { record });
    this.generate(this.is_plain ? '/v1/completions' : '/v1/chat/completions', body, node);
  }

  // Token i of an answer becomes another, and the answer goes on from there: as a branch beside the
  // old one. The ids before it are the prompt, so nothing of them can move.
  turn(node, i, candidate) {
    if (this.is_busy) return;
    const old = node.record;
    const taken = { id: candidate.id, text: candidate.text, bytes: candidate.bytes, p: candidate.p, top: old.tokens[i].top, ms: null };
    const kept = [...old.tokens.slice(0, i).map((token) => ({ ...token, ms: null })), taken];
    const ids = kept.map((token) => token.id);
    const most = Math.max((old.fields.max_tokens ?? 1024) - kept.length, 1);
    const fields = { ...old.fields, max_tokens: most };
    // The draws depend on seed and position alone: what differs is the token, not the luck.
    if (old.seed !== null && Number.isSafeInteger(old.seed)) fields.seed = old.seed;
    const record = new_record(fields, { tokens: kept, kept: kept.length, prompt_ids: old.prompt_ids, turned: { from: node.id, at: i } });
    const made = tree.add(this.conversation, node.parent, 'assistant', text_of(kept), { record });
    if (this.server().end_tokens.includes(candidate.id)) {
      kept[i].text = null;
      Object.assign(record, { state: 'stop', timings: null, fields: old.fields });
      made.text = text_of(kept.slice(0, i));
      this.changed();
      this.draw();
      this.answers.get(made.id).toggle(true);
      return;
    }
    this.generate('/v1/completions', { prompt: [...old.prompt_ids, ...ids] }, made, true);
  }

  async generate(path, body, node, shows_works = false) {
    const { conversation } = this;
    const generation = new Generation(path, body, node.record, candidates(), (text) => {
      node.text += text;
      this.running.answer.append(text);
      if (performance.now() - saved > kSaveEvery) {
        saved = performance.now();
        this.history.keep(conversation);
      }
    });
    let saved = performance.now();
    this.running = { generation, node, conversation, answer: new Answer(node, this.actions()) };
    this.on_state();
    this.draw();
    if (shows_works) {
      this.running.answer.toggle(true);
      this.running.answer.works.scrollIntoView({ block: 'nearest' });
      this.is_at_end = false;
    }
    this.history.keep(conversation);
    await generation.run();
    const { answer } = this.running;
    this.running = null;
    conversation.updated = Date.now();
    await this.history.keep(conversation);
    answer.finish();
    byId('said').textContent = `The answer is over: ${plural(node.record.tokens.length, 'token')}.`;
    this.follow();
    this.on_state();
  }

  stop() {
    this.running?.generation.stop();
  }
}
