// SPDX-License-Identifier: Apache-2.0
// Model output → elements, by an allow-list: paragraphs, headings, lists, quotes, rules, tables, code,
// emphasis. Everything else, HTML, links and pictures among it, stays the text it is.
//
// It grows with the stream: a block that is complete is made once and never looked at again, so the
// cost of a long answer is that of its text, and only its last block is made anew for each frame.
import { copy, el } from './dom.js';

const kLongBlock = 6000;    // characters; a longer block is shown as plain text
const kPieceLength = 2000;  // and laid out in pieces of this size

export class GrowingMarkdown {
  constructor(root) {
    this.root = root;
    this.tail = [];      // elements of the block that is not complete
    this.waiting = '';   // its text
    this.is_plain = false;  // inside a line that is too long to be anything but text
  }

  append(text) {
    this.waiting += text;
    this.take_complete();
    this.draw_tail();
  }

  // No more will come.
  finish() {
    this.draw_tail();
    this.tail = [];
    this.waiting = '';
  }

  take_complete() {
    for (;;) {
      const end = this.is_plain ? -1 : block_end(this.waiting);
      if (end > 0) this.settle(end, render_block);
      else if (this.waiting.length > kLongBlock && !this.waiting.startsWith('```')) this.settle_plain();
      else if (this.waiting.length > 8 * kLongBlock) this.settle_plain();
      else return;
    }
  }

  settle(length, render) {
    for (const old of this.tail) old.remove();
    this.tail = [];
    const made = render(this.waiting.slice(0, length));
    if (made) this.root.append(made);
    this.waiting = this.waiting.slice(length);
  }

  settle_plain() {
    let length = kPieceLength;
    const newline = this.waiting.lastIndexOf('\n', kPieceLength);
    this.is_plain = newline <= 0;
    if (newline > 0) length = newline + 1;
    // Not in the middle of a character.
    if (/[\ud800-\udbff]/.test(this.waiting[length - 1])) --length;
    this.settle(length, (text) => el('p', { class: 'piece', dir: 'auto' }, text));
  }

  draw_tail() {
    for (const old of this.tail) old.remove();
    this.tail = [];
    if (!this.waiting) return;
    const made = this.is_plain || this.waiting.length > kLongBlock
      ? el('p', { class: 'piece', dir: 'auto' }, this.waiting) : render_block(this.waiting);
    if (!made) return;
    this.tail.push(made);
    this.root.append(made);
  }
}

export function render(text) {
  const root = el('div', { class: 'prose' });
  const growing = new GrowingMarkdown(root);
  growing.append(text);
  growing.finish();
  return root;
}

// Characters of the first block, or -1 while its end is not in sight.
function block_end(text) {
  if (text.startsWith('```')) {
    const close = /\n```[ \t]*(\n|$)/.exec(text.slice(3));
    return close && close[1] ? 3 + close.index + close[0].length : -1;
  }
  const fence = text.startsWith('\n```') ? 1 : text.indexOf('\n```') + 1;
  const blank = /\n[ \t]*\n/.exec(text.slice(0, kLongBlock + 2));
  if (fence > 0 && (!blank || fence < blank.index)) return fence;
  return blank ? blank.index + blank[0].length : -1;
}

function render_block(text) {
  if (text.startsWith('```')) return code_block(text);
  const lines = text.replace(/\s+$/, '').replace(/^\n+/, '').split('\n');
  if (lines.length === 1 && !lines[0]) return null;
  const root = document.createDocumentFragment();
  for (let at = 0; at < lines.length;) at = render_lines(lines, at, root);
  return root.childNodes.length === 1 ? root.firstChild : el('div', { class: 'block' }, root);
}

const kItem = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const kRow = /^\s*\|.*\|\s*$/;

// Renders what begins at line `at`; the next line to look at.
function render_lines(lines, at, root) {
  const line = lines[at];
  const heading = /^(#{1,6})\s+(.*?)\s*#*$/.exec(line);
  if (heading) {
    // The page has headings of its own above these.
    root.append(el(`h${Math.min(heading[1].length + 2, 6)}`, { dir: 'auto' }, ...inline(heading[2])));
    return at + 1;
  }
  if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) {
    root.append(el('hr'));
    return at + 1;
  }
  if (line.startsWith('>')) return quote(lines, at, root);
  if (kItem.test(line)) return list(lines, at, root);
  if (kRow.test(line) && /^\s*\|[\s:|-]+\|\s*$/.test(lines[at + 1] ?? '')) return table(lines, at, root);
  let end = at + 1;
  while (end < lines.length && !/^(#{1,6}\s|>|\s*\|)/.test(lines[end]) && !kItem.test(lines[end])) ++end;
  const words = lines.slice(at, end).flatMap((one, i) => (i ? [el('br'), ...inline(one)] : inline(one)));
  root.append(el('p', { dir: 'auto' }, ...words));
  return end;
}

function quote(lines, at, root) {
  let end = at;
  while (end < lines.length && lines[end].startsWith('>')) ++end;
  const inner = lines.slice(at, end).flatMap((one, i) =>
    (i ? [el('br'), ...inline(one.replace(/^>\s?/, ''))] : inline(one.replace(/^>\s?/, ''))));
  root.append(el('blockquote', { dir: 'auto' }, ...inner));
  return end;
}

// Items that are further in stand in a list of their own under the item before.
function list(lines, at, root) {
  const kind = (mark) => (/\d/.test(mark) ? 'ol' : 'ul');
  const open = [];  // {indent, element}
  let end = at;
  for (; end < lines.length; ++end) {
    const item = kItem.exec(lines[end]);
    if (!item) {
      if (!/^\s+\S/.test(lines[end])) break;
      open[open.length - 1].element.lastChild.append(' ', ...inline(lines[end].trim()));
      continue;
    }
    const indent = item[1].length;
    while (open.length > 1 && indent < open[open.length - 1].indent) open.pop();
    const top = open[open.length - 1];
    if (!top || (indent > top.indent + 1 && open.length < 6)) {
      const start = parseInt(item[2], 10);
      const made = el(kind(item[2]), { start: start > 1 ? start : undefined });
      (top ? top.element.lastChild : root).append(made);
      open.push({ indent, element: made });
    }
    open[open.length - 1].element.append(el('li', { dir: 'auto' }, ...inline(item[3])));
  }
  return end;
}

function table(lines, at, root) {
  const cells = (line) => line.trim().slice(1, -1).split('|').slice(0, 20).map((one) => one.trim());
  let end = at + 2;
  while (end < lines.length && kRow.test(lines[end])) ++end;
  const row = (line, name) => el('tr', {}, ...cells(line).map((one) => el(name, { dir: 'auto' }, ...inline(one))));
  root.append(el('div', { class: 'wide', tabindex: '0', role: 'region', 'aria-label': 'Table' }, el('table', {},
    el('thead', {}, row(lines[at], 'th')),
    el('tbody', {}, ...lines.slice(at + 2, end).map((one) => row(one, 'td'))))));
  return end;
}

function code_block(text) {
  const first = text.indexOf('\n');
  const language = (first < 0 ? text.slice(3) : text.slice(3, first)).trim().slice(0, 20);
  const body = first < 0 ? '' : text.slice(first + 1).replace(/\n?```[ \t]*\n*$/, '');
  const button = el('button', { type: 'button', class: 'quiet', onclick: () => copy(body, button) }, 'Copy code');
  return el('figure', { class: 'code' },
    el('figcaption', {}, el('span', {}, language || 'code'), button),
    el('pre', { tabindex: '0', 'aria-label': `Code${language ? `, ${language}` : ''}` }, el('code', {}, body)));
}

const kInline = /(`+)([^`]+?)\1(?!`)|\*\*(?=\S)([^*]+?)\*\*|__(?=\S)([^_]+?)__|\*(?=\S)([^*\n]+?)\*|(?<![\w_])_(?=\S)([^_\n]+?)_(?!\w)/g;

function inline(text) {
  if (text.length > kLongBlock) return [text];
  const parts = [];
  let at = 0;
  for (const found of text.matchAll(kInline)) {
    if (found.index > at) parts.push(text.slice(at, found.index));
    const [whole, , code, bold, bold2, italic, italic2] = found;
    if (code !== undefined) parts.push(el('code', {}, code));
    else if (bold ?? bold2) parts.push(el('strong', {}, bold ?? bold2));
    else parts.push(el('em', {}, italic ?? italic2));
    at = found.index + whole.length;
  }
  if (at < text.length) parts.push(text.slice(at));
  return parts;
}
