// SPDX-License-Identifier: Apache-2.0
// The clockwork view of one answer: the time line, the two clocks, the tokens as tiles, what else each
// could have been, and, for an answer that was turned, what it was turned from.
import { button, count, duration, el, percent, plural, shown } from './dom.js';
import { Tiles, face, legend } from './tiles.js';
import { Timeline, clocks, truth, two_clocks } from './timeline.js';

const kMostOfOld = 4000;  // tokens of the old answer that are shown beside the new one

// How many tokens two answers share from their first on.
export function shared(a, b) {
  const most = Math.min(a.length, b.length);
  let n = 0;
  while (n < most && a[n].id === b[n].id) ++n;
  return n;
}

export class Clockwork {
  // origin: the record that `record` was turned from, or null. can_turn(): whether a request may
  // be made. on_turn(i, candidate): go on from token i with this candidate in its place.
  constructor(record, origin, can_turn, on_turn) {
    this.record = record;
    this.origin = origin;
    this.can_turn = can_turn;
    this.on_turn = on_turn;
    this.pinned = null;
    this.described = 0;
    this.timeline = new Timeline();
    this.clocks = el('div');
    this.truth = el('p', { class: 'truth num' });
    this.lens = el('div', { class: 'lens', role: 'region', 'aria-label': 'What else this token could have been' });
    this.tiles = new Tiles('Tokens of the answer. Arrow keys move, Enter shows the candidates.',
      (i) => this.look(i), (i) => this.pin(i));
    this.turn_line = el('p', { class: 'turn-line', role: 'status', hidden: true });
    this.old = el('div', { class: 'old', dir: 'auto' });
    this.old_side = el('div', { class: 'side', hidden: true }, el('h4', {}, 'Before'), this.old);
    this.new_title = el('h4', { hidden: true }, 'After');
    this.body = el('div', { class: 'works' },
      el('div', { class: 'sides' }, this.old_side, el('div', { class: 'side' }, this.new_title, this.tiles.root)), this.lens);
    this.root = el('section', { class: 'clockwork', 'aria-label': 'Clockwork of this answer',
      onpointerleave: () => this.rest(), onkeydown: (event) => this.key(event) },
      this.timeline.root, this.clocks, this.truth, this.turn_line, legend(), this.body);
    this.rest();
    this.update();
  }

  get kept() { return this.record.kept ?? 0; }

  // New tokens, or new numbers, since the last call.
  update() {
    const { record } = this;
    const c = clocks(record);
    this.timeline.draw(c);
    this.clocks.replaceChildren(two_clocks(c));
    this.truth.textContent = truth(c);
    const more = (token, i) => this.tile_class(i);
    for (; this.described < this.tiles.tiles.length; ++this.described) {
      if (record.tokens[this.described].text === null && record.state === 'running') break;
      this.tiles.refresh(record.tokens, this.described, more);
    }
    this.tiles.append(record.tokens, more);
    if (this.origin) this.draw_origin();
  }

  tile_class(i) {
    if (i < this.kept - 1) return 'kept';
    return i === this.kept - 1 ? 'turned' : '';
  }

  draw_origin() {
    const old = this.origin.tokens;
    const n = shared(old, this.record.tokens);
    const is_known = n < this.record.tokens.length && n < old.length;
    this.turn_line.hidden = false;
    this.turn_line.replaceChildren(el('strong', {}, is_known ? `Diverged after ${plural(n, 'token')}. ` : `The first ${plural(n, 'token')} are the same. `),
      n > 0 ? 'Nothing before that moved: the same ids were the prompt of the new answer.' : 'The first token was turned.');
    if (this.drawn_shared === n) return;
    this.drawn_shared = n;
    this.old_side.hidden = this.new_title.hidden = false;
    this.body.classList.add('pair');
    const text = (tokens) => tokens.map(face).join('');
    this.old.replaceChildren(el('span', { class: 'kept' }, text(old.slice(0, n))),
      el('mark', {}, old[n] ? shown(face(old[n])) : ''), text(old.slice(n + 1, kMostOfOld)));
  }

  look(i) {
    this.timeline.mark(i - this.kept);
    if (this.pinned === null) this.show(i);
  }

  pin(i) {
    this.pinned = i;
    this.show(i);
    this.tiles.mark(i);
    this.lens.querySelector('button')?.focus({ preventScroll: true });
  }

  key(event) {
    if (event.key !== 'Escape' || this.pinned === null) return;
    const i = this.pinned;
    this.rest();
    this.unpin();
    this.tiles.tiles[i]?.focus({ preventScroll: true });
    event.stopPropagation();
  }

  unpin() {
    this.pinned = null;
    this.tiles.mark(-1);
    this.rest();
  }

  rest() {
    if (this.pinned !== null) return;
    this.timeline.mark(-1);
    this.lens.replaceChildren(el('p', { class: 'soft small' },
      'Point at a token to see what else it could have been. Choose it, then another candidate, and the answer goes on from there.'));
  }

  show(i) {
    const token = this.record.tokens[i];
    if (!token) return;
    const top = [...token.top];
    if (token.p !== null && !top.some((one) => one.id === token.id)) top.push(token);
    const step = i - this.kept;
    const times = this.record.tokens.slice(this.kept).map((one) => one.ms);
    const took = step > 0 && times[step] !== null && times[step - 1] !== null ? times[step] - times[step - 1] : null;
    this.lens.replaceChildren(...[
      el('div', { class: 'lens-head' }, el('h4', {}, `Token ${count(i + 1)}`),
        this.pinned === null ? null : button('Close', () => this.unpin())),
      el('p', { class: 'lens-token mono' }, token.text === null ? 'end of the answer' : shown(face(token))),
      el('p', { class: 'small soft num' }, [token.p === null ? 'not recorded' : percent(token.p), gap_text(top),
        i < this.kept ? 'given, not decoded here' : took !== null ? `step of ${duration(took)}` : null].filter(Boolean).join(' \u00b7 ')),
      top.length ? el('ul', { class: 'candidates' }, ...top.map((one) => this.candidate(i, token, one))) : null,
      top.length ? null : el('p', { class: 'small soft' }, token.text === null
        ? 'The server gives no probabilities for the token that ends an answer.'
        : 'No candidates were recorded. Settings say how many are kept.'),
    ].filter(Boolean));
  }

  candidate(i, token, one) {
    const is_taken = one.id === token.id;
    const bar = el('meter', { min: 0, max: 1, value: one.p, 'aria-hidden': 'true' });
    const words = [el('span', { class: 'mono name' }, shown(face(one))), bar, el('span', { class: 'num share' }, percent(one.p))];
    if (is_taken) return el('li', { class: 'taken' }, ...words, el('span', { class: 'hidden' }, ' taken'));
    return el('li', {}, el('button', { type: 'button', disabled: !this.can_turn(), onclick: () => this.on_turn(i, one) },
      el('span', { class: 'hidden' }, `Go on from token ${i + 1} with `), ...words));
  }
}

function gap_text(top) {
  if (top.length < 2) return null;
  const [first, second] = top.map((one) => one.p).sort((a, b) => b - a);
  return `gap of the first two ${((first - second) * 100).toFixed(0)} points`;
}
