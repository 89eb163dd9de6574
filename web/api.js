// SPDX-License-Identifier: Apache-2.0
// The server's public API: requests, event streams, errors in words. The API key lives in this
// module's memory and nowhere else.

let key = '';
let ask_key = null;  // async (was_wrong) → key or ''
let asking = null;

export function on_key_wanted(ask) { ask_key = ask; }

// An error whose message is for people.
export class ApiError extends Error {
  constructor(message, status = 0, code = '') {
    super(message);
    this.status = status;
    this.code = code;
  }
}

// Not crypto.randomUUID: pages of plain http from another machine do not have it.
export function new_id(prefix = 'page') {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return `${prefix}-${Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('')}`;
}

function headers_of(more) {
  return { ...more, ...(key ? { authorization: `Bearer ${key}` } : {}) };
}

async function send(path, options) {
  try {
    return await fetch(path, { ...options, headers: headers_of(options.headers) });
  } catch (failure) {
    if (failure.name === 'AbortError') throw failure;
    throw new ApiError('The server cannot be reached. Is pawl serve still running?');
  }
}

// One dialog for however many requests found the door closed.
async function want_key(used) {
  if (key !== used) return true;
  asking ??= ask_key(used !== '').finally(() => { asking = null; });
  const given = await asking;
  if (given) key = given;
  return Boolean(given);
}

async function error_of(reply) {
  let message = `The server answered ${reply.status}.`;
  let code = '';
  try {
    const { error } = await reply.json();
    message = sentence(error.message);
    code = error.code ?? '';
  } catch { /* no JSON: the status must do */ }
  if (reply.status === 429) {
    const seconds = reply.headers.get('retry-after');
    message = `The server is busy. ${seconds ? `Try again in ${seconds} s.` : 'Try again in a moment.'}`;
  }
  if (reply.status === 401) message = 'The server wants an API key that it knows.';
  return new ApiError(message, reply.status, code);
}

export function sentence(text) {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}

// The reply, once it is one of success. `quiet`: no dialog for a key.
export async function call(path, { body, quiet = false, ...options } = {}) {
  if (body !== undefined) {
    options.method ??= 'POST';
    options.body = JSON.stringify(body);
    options.headers = { 'content-type': 'application/json', ...options.headers };
  }
  for (;;) {
    const used = key;
    const reply = await send(path, options);
    if (reply.ok) return reply;
    if (reply.status === 401 && ask_key && !quiet && await want_key(used)) continue;
    throw await error_of(reply);
  }
}

export const get_json = async (path, options) => (await call(path, options)).json();

// The objects of an event stream, in batches as they arrived together. Broken UTF-8 becomes U+FFFD.
export async function* events(reply) {
  const reader = reply.body.getReader();
  const decoder = new TextDecoder();
  let waiting = '';
  for (;;) {
    const { done, value } = await reader.read();
    waiting += done ? decoder.decode() : decoder.decode(value, { stream: true });
    const parts = waiting.split('\n\n');
    waiting = parts.pop();
    const batch = [];
    for (const part of parts) {
      const data = part.split('\n').filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(5).replace(/^ /, '')).join('\n');
      if (data === '[DONE]') {
        yield batch;
        return;
      }
      if (!data) continue;
      const object = JSON.parse(data);
      if (object.error) {
        if (batch.length) yield batch;
        throw new ApiError(sentence(object.error.message), 200, object.error.code ?? '');
      }
      batch.push(object);
    }
    if (batch.length) yield batch;
    if (done) throw new ApiError('The answer ended early: the connection was closed.');
  }
}

// What the ledger says of a request, waiting until it is over, at most `ms`.
export async function ended_row(id, ms = 3000) {
  const end = performance.now() + ms;
  for (;;) {
    const row = await get_json(`/v1/requests/${encodeURIComponent(id)}`);
    if (row.state !== 'running' || performance.now() > end) return row;
    await new Promise((resolve) => { setTimeout(resolve, 60); });
  }
}

export const cancel = (id) => call(`/v1/requests/${encodeURIComponent(id)}`, { method: 'DELETE' });
