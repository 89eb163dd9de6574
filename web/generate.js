// SPDX-License-Identifier: Apache-2.0
// Asks the server for an answer and keeps a record of it: every token with its id, bytes, probability,
// candidates and moment. The record is plain data and is stored with the conversation.
//
// record: {id, model, state, error?, fields, prompt_ids, tokens, landed, timings, usage, seed, notes?,
//          kept?, turned?: {from, at}, bill?}; kept: so many of the tokens were given, not decoded
// token: {id, text, bytes, p, top: [{id, text, bytes, p}], ms, forced?}; p null: not told, as of an end token
import { ApiError, call, ended_row, events, cancel, new_id } from './api.js';
import { text_of_bytes } from './pack.js';

const probability = (logprob) => (logprob === null ? null : Math.exp(Math.max(logprob, -100)));

function candidate({ id, bytes, logprob }) {
  return { id, text: text_of_bytes(bytes), bytes, p: probability(logprob) };
}

export function new_record(fields, more = {}) {
  return { request_id: new_id(), id: null, model: null, state: 'running', fields, prompt_ids: [], tokens: [],
    landed: 0, timings: null, usage: null, seed: null, ...more };
}

// Ids come with every chunk; entries of probabilities come with the text that they became, which may
// be later, and not at all for an end token.
function take_choice(record, choice) {
  const ids = choice.token_ids ?? [];
  const times = choice.token_times_ms ?? [];
  if (choice.prompt_token_ids) record.prompt_ids = choice.prompt_token_ids;
  const forced = choice.token_forced ?? [];
  ids.forEach((id, i) => record.tokens.push({ id, text: null, bytes: [], p: null, top: [], ms: times[i] ?? null,
    ...(forced[i] ? { forced: true } : {}) }));
  record.landed += ids.length;
  for (const entry of choice.logprobs?.content ?? []) {
    const token = record.tokens[record.described];
    if (!token || token.id !== entry.id) continue;
    record.described += 1;
    Object.assign(token, candidate(entry), { top: (entry.top_logprobs ?? []).map(candidate) });
  }
  if (choice.note) record.notes = [...(record.notes ?? []), choice.note];
  if (choice.finish_reason) record.state = choice.finish_reason;
}

function take_chunk(record, chunk) {
  record.id = chunk.id ?? record.id;
  record.model = chunk.model ?? record.model;
  let text = '';
  for (const choice of chunk.choices ?? []) {
    take_choice(record, choice);
    text += choice.delta?.content ?? choice.text ?? '';
  }
  if (chunk.usage) record.usage = chunk.usage;
  if (chunk.timings) record.timings = chunk.timings;
  if (chunk.notes) record.notes = [...(record.notes ?? []), ...chunk.notes];
  if (chunk.seed !== undefined) record.seed = chunk.seed;
  return text;
}

// A request under way: `run` resolves when it is over, however it ended; `stop` leaves it.
export class Generation {
  // body: messages or prompt, and the policy. on_text(text) after every batch of chunks.
  constructor(path, body, record, candidates, on_text) {
    this.path = path;
    this.record = record;
    this.on_text = on_text;
    this.abort = new AbortController();
    this.first_ms = null;  // on this page's clock
    record.described = record.tokens.length;
    this.body = { ...body, ...record.fields, stream: true, stream_options: { include_usage: true },
      return_token_ids: true, return_token_times: true };
    if (candidates > 0) {
      if (path.includes('chat')) Object.assign(this.body, { logprobs: true, top_logprobs: candidates });
      else this.body.logprobs = candidates;
    }
  }

  async run() {
    const { record } = this;
    this.sent_ms = performance.now();
    try {
      const reply = await call(this.path, { body: this.body, signal: this.abort.signal,
        headers: { 'x-request-id': record.request_id } });
      for await (const batch of events(reply)) {
        let text = '';
        for (const chunk of batch) text += take_chunk(record, chunk);
        this.first_ms ??= performance.now();
        this.on_text(text);
      }
      if (record.state === 'running') throw new ApiError('The answer ended early: no reason was given.');
    } catch (failure) {
      if (this.abort.signal.aborted) await this.settle_stop();
      else this.fail(failure);
    }
    delete record.described;
    return record;
  }

  fail(failure) {
    this.record.state = failure.code === 'cancelled' ? 'cancelled' : 'error';
    this.record.error = failure instanceof ApiError ? failure.message : `The page failed: ${failure.message}`;
  }

  // Leaving is all a client can do, and all that is done: the connection closes. Should the server not
  // notice, because something in between holds it open, the request is cancelled by name.
  stop() {
    this.stopped_ms = performance.now();
    this.abort.abort();
  }

  async settle_stop() {
    const { record } = this;
    record.state = 'cancelled';
    try {
      let row = await ended_row(record.id ?? record.request_id, 2000);
      if (row.state === 'running') {
        await cancel(row.id);
        row = await ended_row(row.id);
      }
      record.id = row.id;
      record.bill = bill_of(record, row, this.stopped_ms - this.sent_ms);
    } catch (failure) {
      record.bill = { error: failure.status === 404
        ? 'The server has no such request: it was left before it was accepted, and cost nothing.'
        : `The server could not be asked what it cost: ${failure.message}` };
    }
  }
}

// What a stop cost and what it saved. Not spent is an upper bound: nobody knows where the answer
// would have ended by itself.
function bill_of(record, row, after_ms) {
  const decoded = row.completion_tokens;
  const per_token_ms = decoded > 1 && row.decode_ms ? row.decode_ms / (decoded - 1) : null;
  const is_over = row.state !== 'cancelled';
  const unspent = is_over ? 0 : Math.max(record.fields.max_tokens - decoded, 0);
  record.timings ??= { queue_ms: row.queue_ms, prefill_ms: row.prefill_ms, decode_ms: row.decode_ms,
    total_ms: row.total_ms, cached_tokens: row.cached_tokens, computed_tokens: row.computed_tokens,
    forward_passes: row.forward_passes };
  record.usage ??= { prompt_tokens: row.prompt_tokens, completion_tokens: decoded,
    prompt_tokens_details: { cached_tokens: row.cached_tokens } };
  return { id: row.id, state: row.state, cause: row.cause, landed: record.landed, decoded, prompt: row.prompt_tokens,
    computed: row.computed_tokens, limit: record.fields.max_tokens, unspent, per_token_ms,
    unspent_ms: per_token_ms === null ? null : unspent * per_token_ms, after_ms, total_ms: row.total_ms };
}

// The text of tokens of which only the ids are known. An end token has none.
export async function name_tokens(tokens, end_tokens) {
  const named = tokens.filter((token) => !end_tokens.includes(token.id));
  if (!named.length) return;
  const reply = await call('/detokenize', { body: { tokens: named.map((token) => token.id), with_bytes: true } });
  const { bytes } = await reply.json();
  named.forEach((token, i) => Object.assign(token, { bytes: bytes[i], text: text_of_bytes(bytes[i]) }));
}

// Bytes of tokens → text; what is no UTF-8 becomes U+FFFD.
export const text_of = (tokens) => text_of_bytes(tokens.flatMap((token) => token.bytes));
