// SPDX-License-Identifier: Apache-2.0
// The drawer: what is sent with a message, and what each knob does.
import { button, byId, el } from './dom.js';

const kStored = 'pawl-settings';

// name of the API, label, range, step, what it does. `off`: the value that changes nothing.
const kKnobs = [
  { name: 'temperature', label: 'Temperature', min: 0, max: 2, step: 0.05, off: 1,
    does: 'Flattens or sharpens the choice. 0 always takes the likeliest token, 1 draws by the network\u2019s own odds, above 1 gives long shots more.' },
  { name: 'top_p', label: 'Top-p', min: 0.05, max: 1, step: 0.01, off: 1,
    does: 'Draws only among the likeliest tokens that together hold this share of the probability.' },
  { name: 'top_k', label: 'Top-k', min: 0, max: 200, step: 1, off: 0,
    does: 'Draws only among so many of the likeliest tokens. 0 means all.' },
  { name: 'min_p', label: 'Min-p', min: 0, max: 0.5, step: 0.01, off: 0,
    does: 'Drops tokens less likely than this share of the likeliest one.' },
  { name: 'repetition_penalty', label: 'Repetition penalty', min: 1, max: 2, step: 0.01, off: 1,
    does: 'Makes tokens that were used lately less likely.' },
];

const kDefaults = { temperature: 0.7, top_p: 0.95, top_k: 0, min_p: 0, repetition_penalty: 1,
  max_tokens: 1024, seed: '', candidates: 6 };

let values = read();
let on_change = () => {};

function read() {
  try {
    const stored = JSON.parse(localStorage.getItem(kStored) ?? '{}');
    return { ...kDefaults, ...Object.fromEntries(Object.entries(stored).filter(([name]) => name in kDefaults)) };
  } catch {
    return { ...kDefaults };
  }
}

function set(name, value) {
  values = { ...values, [name]: value };
  localStorage.setItem(kStored, JSON.stringify(values));
}

// The policy as fields of a request; a knob that changes nothing is left out.
export function policy_fields() {
  const fields = { max_tokens: values.max_tokens };
  for (const { name, off } of kKnobs) {
    if (values[name] !== off) fields[name] = values[name];
  }
  if (/^-?\d+$/.test(String(values.seed).trim())) fields.seed = Number(values.seed);
  return fields;
}

// How many candidates are recorded beside each token; 0: no probabilities at all.
export const candidates = () => values.candidates;

function knob_row({ name, label, min, max, step, does }) {
  const id = `knob-${name}`;
  const out = el('output', { for: id, class: 'num' }, String(values[name]));
  const input = el('input', { id, type: 'range', min, max, step, value: values[name], 'aria-describedby': `${id}-does`,
    oninput: () => {
      set(name, Number(input.value));
      out.textContent = input.value;
    } });
  return el('div', { class: 'knob' },
    el('div', { class: 'knob-head' }, el('label', { for: id }, label), out),
    input,
    el('p', { class: 'small soft', id: `${id}-does` }, does));
}

function number_row(name, label, does, { min, max, placeholder }) {
  const id = `knob-${name}`;
  const input = el('input', { id, type: 'text', inputmode: 'numeric', value: String(values[name]), placeholder,
    class: 'num', 'aria-describedby': `${id}-does`,
    onchange: () => {
      const text = input.value.trim();
      const number = Number(text);
      const is_right = text === '' ? name === 'seed' : Number.isInteger(number) && number >= min && number <= max;
      input.setAttribute('aria-invalid', String(!is_right));
      if (is_right) set(name, text === '' ? '' : number);
      else input.value = String(values[name]);
    } });
  return el('div', { class: 'knob' }, el('label', { for: id }, label), input,
    el('p', { class: 'small soft', id: `${id}-does` }, does));
}

export function fill_drawer(conversation, close, changed) {
  on_change = changed;
  const system = el('textarea', { id: 'system', rows: 4, value: conversation.system,
    placeholder: 'For example: You answer in one sentence.',
    oninput: () => {
      conversation.system = system.value;
      on_change();
    } });
  const drawer = byId('settings');
  drawer.replaceChildren(
    el('div', { class: 'drawer-head' }, el('h2', {}, 'Settings'), button('Close', close)),
    el('div', { class: 'knob' }, el('label', { for: 'system' }, 'System prompt of this conversation'), system),
    el('h3', {}, 'Sampling'),
    el('p', { class: 'aside' },
      'The network gives every token of its vocabulary a number. That row of numbers is the same at every setting below: '
      + 'the knobs only decide which token is taken from it. So the probabilities in the clockwork view are the '
      + 'network\u2019s own, before any knob.'),
    ...kKnobs.map(knob_row),
    number_row('seed', 'Seed', 'The same seed draws the same answer. Empty: a new one each time; the answer tells which.',
      { min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER, placeholder: 'drawn anew' }),
    number_row('max_tokens', 'Longest answer, in tokens', 'The answer stops here even in mid-sentence.',
      { min: 1, max: 1_000_000 }),
    number_row('candidates', 'Candidates to record', 'How many alternatives to keep for each token, 0 to 20. The clockwork '
      + 'view needs them; 0 spares the server the full row.', { min: 0, max: 20 }),
    button('Back to the defaults', () => {
      values = { ...kDefaults };
      localStorage.removeItem(kStored);
      fill_drawer(conversation, close, changed);
    }, { class: 'plain' }));
}
