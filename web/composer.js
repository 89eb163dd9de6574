// SPDX-License-Identifier: Apache-2.0
// Where a message is written: it grows with its text, and says how many tokens it would be.
import { get_json } from './api.js';
import { byId, count, plural } from './dom.js';
import * as tree from './conversation.js';

const kCountAfter = 250;  // ms without a keystroke

export class Composer {
  constructor(chat, server) {
    this.chat = chat;
    this.server = server;
    this.draft = byId('draft');
    this.turn = 0;  // of counting; an older answer is not shown
    byId('composer').addEventListener('submit', (event) => {
      event.preventDefault();
      this.send();
    });
    this.draft.addEventListener('input', () => this.grew());
    this.draft.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        this.send();
      } else if (event.key === 'Escape' && chat.is_busy) chat.stop();
    });
    byId('stop').addEventListener('click', () => chat.stop());
  }

  send() {
    const text = this.chat.is_plain ? this.draft.value : this.draft.value.trim();
    const may_be_empty = this.chat.is_plain && this.chat.conversation.leaf;
    if (this.chat.is_busy || !this.server() || (!text && !may_be_empty)) return;
    this.draft.value = '';
    this.grew();
    this.chat.ask(text);
  }

  grew() {
    this.draft.style.height = 'auto';
    this.draft.style.height = `${Math.min(this.draft.scrollHeight + 2, window.innerHeight * 0.4)}px`;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.show_count(), kCountAfter);
  }

  // What the button and the fields say, after the state of the chat or the server changed.
  update() {
    const { is_busy, is_plain } = this.chat;
    const had_focus = document.activeElement === byId('stop');
    byId('send').hidden = is_busy;
    byId('stop').hidden = !is_busy;
    byId('send').textContent = is_plain ? 'Continue' : 'Send';
    byId('send').disabled = !this.server();
    this.draft.placeholder = is_plain ? 'Write a text to be continued' : 'Write a message';
    if (had_focus && !is_busy) this.draft.focus();
    this.grew();
  }

  async show_count() {
    const turn = ++this.turn;
    const text = this.draft.value;
    const server = this.server();
    const { conversation, is_plain } = this.chat;
    let said = '';
    if (server && (text.trim() || conversation.leaf)) {
      try {
        const whole = is_plain ? { prompt: tree.plain_text(conversation) + text }
          : { messages: [...tree.messages(conversation), ...(text.trim() ? [{ role: 'user', content: text.trim() }] : [])] };
        const count_of = async (body) => (await get_json('/tokenize', { body, quiet: true })).count;
        const [draft, all] = await Promise.all([text.trim() ? count_of({ prompt: text, add_special_tokens: false }) : 0, count_of(whole)]);
        said = `${draft ? `${plural(draft, 'token')} in this message \u00b7 ` : ''}${count(all)} of ${count(server.context)} in the context`;
      } catch { /* the count is a help, no more */ }
    }
    if (turn === this.turn) byId('count').textContent = said;
  }
}
