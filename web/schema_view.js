// SPDX-License-Identifier: Apache-2.0
// A JSON Schema, an answer that grows inside it, and what each of its fields cost.
import { sentence } from './api.js';
import { count, duration, el, plural } from './dom.js';
import { Generation, name_tokens, new_record } from './generate.js';
import { field_bill } from './schema_bill.js';
import { policy_fields } from './settings.js';
import { Tiles } from './tiles.js';
import { Timeline, clocks, truth } from './timeline.js';

const kSample = {
  type: 'object',
  properties: {
    reasoning: { type: 'string', maxLength: 160 },
    mood: { enum: ['good', 'mixed', 'bad'] },
    score: { type: 'integer', minimum: 1, maximum: 5 },
  },
  required: ['reasoning', 'mood', 'score'],
  additionalProperties: false,
};
const kQuestion = 'Say in one sentence what this review finds good and bad, then rate it: The room was bright and quiet, but breakfast ended at nine and the lift was broken.';
const kStored = 'pawl-schema';

class SchemaView {
  constructor(root, server) {
    this.server = server;
    const stored = JSON.parse(sessionStorage.getItem(kStored) ?? 'null');
    this.schema = el('textarea', { id: 'schema-text', rows: 21, spellcheck: 'false', value: stored?.schema ?? JSON.stringify(kSample, null, 2),
      'aria-describedby': 'schema-problem' });
    this.question = el('textarea', { id: 'schema-question', rows: 3, value: stored?.question ?? kQuestion });
    this.problem = el('p', { class: 'failure', id: 'schema-problem', role: 'alert', hidden: true });
    this.run_button = el('button', { type: 'submit', class: 'primary' }, 'Answer in this form');
    this.stop_button = el('button', { type: 'button', class: 'primary stop', hidden: true, onclick: () => this.generation?.stop() }, 'Stop');
    this.timeline = new Timeline();
    this.timeline.root.hidden = true;
    this.place = el('div', {}, el('p', { class: 'soft small' }, 'The answer grows here, token by token.'));
    this.truth = el('p', { class: 'small soft num' });
    this.notes = el('ul', { class: 'notes small' });
    this.body = el('tbody');
    this.bill = el('div', { class: 'wide', hidden: true, tabindex: '0', role: 'region', 'aria-label': 'Bill of the fields' },
      el('table', { class: 'fields-bill num' }, el('thead', {}, el('tr', {},
        ...['Field', 'Tokens', 'Forced', 'Time', 'Share of time'].map((name) => el('th', { scope: 'col' }, name)))), this.body));
    root.append(el('div', { class: 'page-in' },
      el('h1', {}, 'Schema'),
      el('p', { class: 'soft' }, 'The answer can only become what the schema allows. Each field costs its tokens, and each token a pass, but for those that the schema forces: they are computed together. The bill says which field took how long.'),
      el('div', { class: 'schema-in' },
        el('form', { onsubmit: (event) => {
          event.preventDefault();
          this.run();
        } },
        el('div', { class: 'field' }, el('label', { for: 'schema-question' }, 'Question'), this.question),
        el('div', { class: 'field' }, el('label', { for: 'schema-text' }, 'JSON Schema'), this.schema),
        this.problem, el('div', { class: 'row' }, this.run_button, this.stop_button)),
        el('div', { class: 'schema-out' }, this.timeline.root, this.place, this.truth, this.notes, this.bill))));
  }

  set_shown() {}

  fail(text) {
    this.problem.textContent = text;
    this.problem.hidden = !text;
  }

  async run() {
    this.fail('');
    let schema;
    try {
      schema = JSON.parse(this.schema.value);
    } catch (failure) {
      this.fail(`This is no JSON: ${failure.message}.`);
      return;
    }
    if (!this.server()) {
      this.fail('The server is not ready.');
      return;
    }
    if (!this.server().has_template) {
      this.fail('This model has no chat template, and the form of an answer is a field of chats.');
      return;
    }
    sessionStorage.setItem(kStored, JSON.stringify({ schema: this.schema.value, question: this.question.value }));
    const record = new_record(policy_fields());
    const tiles = new Tiles('Tokens of the answer', () => {}, () => {});
    this.place.replaceChildren(tiles.root, el('p', { class: 'legend small soft' },
      el('span', {}, el('span', { class: 'tile forced', 'aria-hidden': 'true' }, ' ab '), ' forced: the schema left no other way, so nothing was chosen')));
    this.truth.textContent = '';
    this.notes.replaceChildren();
    this.bill.hidden = true;
    const more = (token) => (token.forced ? 'forced' : '');
    const draw = () => tiles.append(record.tokens.slice(0, described), more);
    let described = 0;
    let describing = null;
    // Log-probabilities would tell the text of each token, and cost each forced one a pass of its own.
    const describe = async () => {
      while (described < record.tokens.length) {
        const next = record.tokens.slice(described);
        await name_tokens(next, this.server().end_tokens);
        described += next.length;
        draw();
      }
      describing = null;
    };
    this.generation = new Generation('/v1/chat/completions', {
      messages: [{ role: 'user', content: this.question.value }],
      response_format: { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } },
    }, record, 0, () => { describing ??= describe(); });
    this.run_button.hidden = true;
    this.stop_button.hidden = false;
    await this.generation.run();
    this.run_button.hidden = false;
    this.stop_button.hidden = true;
    try {
      await describing;
      await describe();
    } catch (failure) {
      record.error ??= failure.message;
    }
    this.show_end(record);
  }

  show_end(record) {
    if (record.error) {
      this.fail(record.error.includes('response_format') ? `This server refuses schemas: ${record.error}` : record.error);
      this.place.replaceChildren();
    }
    if (!record.tokens.length) return;
    const c = clocks(record);
    this.timeline.draw(c);
    this.truth.textContent = truth(c);
    this.notes.replaceChildren(...(record.notes ?? []).map((note) => el('li', {}, sentence(note))));
    this.show_bill(field_bill(record.tokens));
  }

  show_bill(rows) {
    const all = rows.reduce((sum, row) => sum + (row.ms ?? 0), 0);
    const line = (name, row, cls) => {
      const bar = el('span', { class: 'share', 'aria-hidden': 'true' });
      bar.style.width = `${all ? (3.5 * (row.ms ?? 0)) / all : 0}rem`;
      return el('tr', { class: cls }, el('td', { class: 'mono' }, name), el('td', {}, count(row.tokens)), el('td', {}, count(row.forced)),
        el('td', {}, row.ms === null ? 'not known' : duration(row.ms)),
        el('td', {}, bar, ` ${all ? Math.round(((row.ms ?? 0) / all) * 100) : 0} %`));
    };
    this.body.replaceChildren(...rows.map((row) => line(row.path || '{ }', row)));
    this.bill.hidden = false;
    this.bill.setAttribute('aria-label', `Bill of ${plural(rows.length, 'field')}`);
  }
}

export const make = (root, server) => new SchemaView(root, server);
