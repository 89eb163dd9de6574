// SPDX-License-Identifier: Apache-2.0
// Tokens as tiles, coloured by the probability that the network gave them. One of them is in the tab
// order; arrow keys go to the others.
import { el, percent, shown } from './dom.js';

const kGroupFrom = 60;   // tiles; a group ends at the next line end after so many
const kGroupMost = 400;
const kSlice = 600;      // tiles made at a time

export const kBands = [
  { from: 0.9, name: 'p0', label: '90 % and more' },
  { from: 0.6, name: 'p1', label: '60 to 90 %' },
  { from: 0.3, name: 'p2', label: '30 to 60 %' },
  { from: 0.1, name: 'p3', label: '10 to 30 %' },
  { from: 0, name: 'p4', label: 'below 10 %' },
];

const band = (p) => (p === null ? 'p-none' : kBands.find((one) => p >= one.from).name);

// What is written on the tile of a token.
export function face(token) {
  if (token.text === null) return '';
  const is_broken = token.text.includes('\ufffd') && token.bytes.length > 0;
  return is_broken ? token.bytes.map((b) => `\u2039${b.toString(16).padStart(2, '0')}\u203a`).join('') : token.text;
}

function spoken(token, i) {
  if (token.text === null) return `Token ${i + 1}, end of the answer`;
  const how = token.p === null ? 'probability not recorded' : percent(token.p);
  return `Token ${i + 1}, ${shown(face(token))}, ${how}${token.forced ? ', forced' : ''}`;
}

export class Tiles {
  // on_look(i): a tile is hovered or has the focus. on_pick(i): it was clicked or entered.
  constructor(label, on_look, on_pick) {
    this.on_look = on_look;
    this.on_pick = on_pick;
    this.tiles = [];
    this.root = el('div', { class: 'tiles', role: 'listbox', 'aria-label': label, dir: 'auto',
      onpointerover: (event) => this.look(event.target),
      onfocusin: (event) => this.look(event.target),
      onclick: (event) => this.pick(event.target),
      onkeydown: (event) => this.key(event) });
    this.group = null;
  }

  // Adds tiles for tokens that have none yet, the rest of many in the next frames. `more(token, i)`: classes of a tile.
  append(tokens, more = () => '') {
    const end = Math.min(tokens.length, this.tiles.length + kSlice);
    if (end < tokens.length) requestAnimationFrame(() => this.append(tokens, more));
    while (this.tiles.length < end) {
      const i = this.tiles.length;
      const token = tokens[i];
      if (!this.group || this.group.childElementCount >= kGroupMost) this.new_group();
      const tile = el('span', { class: `tile ${band(token.p)} ${more(token, i)}`, role: 'option', 'aria-selected': 'false',
        'aria-label': spoken(token, i), tabindex: i === 0 ? '0' : '-1', 'data-i': i }, face(token));
      if (token.text === null) tile.classList.add('end');
      this.group.append(tile);
      this.tiles.push(tile);
      if (token.text?.endsWith('\n') && this.group.childElementCount >= kGroupFrom) this.group = null;
    }
  }

  new_group() {
    this.group = el('div', { class: 'tile-group', role: 'presentation' });
    this.root.append(this.group);
  }

  // Tokens whose probability came after their tile.
  refresh(tokens, i, more = () => '') {
    const tile = this.tiles[i];
    if (!tile) return;
    tile.className = `tile ${band(tokens[i].p)} ${more(tokens[i], i)}`;
    tile.textContent = face(tokens[i]);
    tile.setAttribute('aria-label', spoken(tokens[i], i));
  }

  index_of(target) {
    const tile = target.closest?.('.tile');
    return tile ? Number(tile.dataset.i) : -1;
  }

  look(target) {
    const i = this.index_of(target);
    if (i >= 0) this.on_look(i);
  }

  pick(target) {
    const i = this.index_of(target);
    if (i < 0) return;
    this.enter(i);
    this.on_pick(i);
  }

  // Makes a tile the one in the tab order.
  enter(i) {
    const now = this.root.querySelector('[tabindex="0"]');
    now?.setAttribute('tabindex', '-1');
    this.tiles[i].setAttribute('tabindex', '0');
  }

  mark(i) {
    this.root.querySelector('[aria-selected="true"]')?.setAttribute('aria-selected', 'false');
    this.tiles[i]?.setAttribute('aria-selected', 'true');
  }

  key(event) {
    const i = this.index_of(event.target);
    if (i < 0) return;
    const last = this.tiles.length - 1;
    const to = { ArrowRight: i + 1, ArrowLeft: i - 1, ArrowDown: i + 10, ArrowUp: i - 10, Home: 0, End: last }[event.key];
    if (to !== undefined) {
      const at = Math.min(Math.max(to, 0), last);
      this.enter(at);
      this.tiles[at].focus();
      event.preventDefault();
    } else if (event.key === 'Enter' || event.key === ' ') {
      this.on_pick(i);
      event.preventDefault();
    }
  }
}

export function legend() {
  return el('p', { class: 'legend small soft' }, 'How sure the network was: ',
    ...kBands.map(({ name, label }) => el('span', {}, el('span', { class: `tile ${name}`, 'aria-hidden': 'true' }, ' ab '), ` ${label}`)));
}
