// SPDX-License-Identifier: Apache-2.0
// The list of conversations: kept in this browser, to be exported, imported and deleted.
import { byId, button, el, save_file } from './dom.js';
import * as tree from './conversation.js';
import * as store from './store.js';

const kCurrent = 'pawl-current';

export class History {
  // on_open(): another conversation is shown. on_problem(text).
  constructor(on_open, on_problem) {
    this.on_open = on_open;
    this.on_problem = on_problem;
    this.all = new Map();
    this.removed = new WeakSet();  // an answer may still be under way in one
    this.on_remove = () => {};
    this.current = tree.new_conversation();
    byId('new-chat').addEventListener('click', () => this.open(tree.new_conversation()));
    byId('export-all').addEventListener('click', () => save_file('pawl-conversations.json', tree.export_text([...this.all.values()])));
    byId('import').addEventListener('click', () => byId('import-file').click());
    byId('import-file').addEventListener('change', (event) => this.import(event.target));
  }

  async load() {
    try {
      for (const one of await store.load_all()) {
        // What was under way when the page was left is as it was when it was last kept.
        for (const node of Object.values(one.nodes)) {
          if (node.record?.state === 'running') Object.assign(node.record, { state: 'cancelled', error: 'The page was left before this answer ended.' });
        }
        this.all.set(one.id, one);
      }
    } catch {
      this.on_problem('This browser keeps no data for this page: conversations are gone when it is closed.');
    }
    const last = this.all.get(sessionStorage.getItem(kCurrent) ?? '') ?? this.newest()[0];
    if (last) this.current = last;
    this.draw();
  }

  newest() {
    return [...this.all.values()].sort((a, b) => b.updated - a.updated);
  }

  open(conversation) {
    this.current = conversation;
    sessionStorage.setItem(kCurrent, conversation.id);
    this.draw();
    this.on_open();
  }

  // Stores it, once there is something to keep.
  async keep(conversation) {
    if (!Object.keys(conversation.nodes).length || this.removed.has(conversation)) return;
    const is_new = !this.all.has(conversation.id);
    this.all.set(conversation.id, conversation);
    if (conversation === this.current) sessionStorage.setItem(kCurrent, conversation.id);
    if (is_new || this.drawn_first !== conversation.id) this.draw();
    try {
      await store.save(conversation);
    } catch {
      this.on_problem('This conversation could not be stored: the browser has no room, or keeps no data for this page.');
    }
  }

  draw() {
    const all = this.newest();
    this.drawn_first = all[0]?.id;
    byId('conversations').replaceChildren(...all.map((one) => {
      const title = one.title || 'Untitled';
      const is_current = one === this.current;
      return el('li', { 'data-current': is_current },
        el('button', { type: 'button', dir: 'auto', title, 'aria-current': is_current ? 'true' : undefined, onclick: () => this.open(one) }, title),
        button('Delete', () => this.remove(one), { 'aria-label': `Delete ${title}` }));
    }));
    byId('export-all').disabled = !all.length;
  }

  async remove(conversation) {
    if (!confirm(`Delete \u201c${conversation.title || 'Untitled'}\u201d from this browser? This cannot be undone.`)) return;
    this.all.delete(conversation.id);
    this.removed.add(conversation);
    this.on_remove(conversation);
    await store.remove(conversation.id);
    if (conversation === this.current) this.open(this.newest()[0] ?? tree.new_conversation());
    else this.draw();
  }

  async import(input) {
    try {
      const given = tree.read_export(await input.files[0].text());
      for (const one of given) {
        this.all.set(one.id, one);
        await store.save(one);
      }
      if (given.length) this.open(given[0]);
    } catch (failure) {
      this.on_problem(failure.message);
    }
    input.value = '';
  }
}
