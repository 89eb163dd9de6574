// SPDX-License-Identifier: Apache-2.0
// A server in front of pawl that answers chats by a script, byte for byte, and passes all else on: for
// output that no small model can be made to give.
import http from 'node:http';

const head = { id: 'chatcmpl-scripted', object: 'chat.completion.chunk', created: 1, model: 'scripted' };

export const chunk = (text, i) => ({ ...head, choices: [{ index: 0, delta: { content: text }, logprobs: { content: [{ id: i, token: text,
  bytes: [...Buffer.from(text)], logprob: -0.1 - (i % 7) / 3, top_logprobs: Array.from({ length: 6 }, (_, k) => ({ id: i + k, token: k ? 'else' : text, bytes: [...Buffer.from(k ? 'else' : text)], logprob: -0.1 - k })) }] }, token_ids: [i], token_times_ms: [20 + i], finish_reason: null }] });

// A token of which only the id is told, as where no log-probabilities are asked for.
export const id_chunk = (i, forced) => ({ ...head, choices: [{ index: 0, delta: {}, token_ids: [i], token_times_ms: [20 + i], token_forced: [forced], finish_reason: null }] });

const frame = (object) => `data: ${JSON.stringify(object)}\n\n`;

// script(write): async, writes the events between the first and the last. bytes_of(ids): what /detokenize says.
export async function scripted_server(upstream, script, bytes_of = null) {
  const server = http.createServer((request, response) => {
    if (bytes_of && request.url === '/detokenize') {
      request.toArray().then((parts) => response.end(JSON.stringify({ bytes: bytes_of(JSON.parse(Buffer.concat(parts)).tokens) })));
      return;
    }
    if (request.url !== '/v1/chat/completions') {
      const onward = http.request(upstream + request.url, { method: request.method, headers: request.headers }, (reply) => {
        response.writeHead(reply.statusCode, reply.headers);
        reply.pipe(response);
      });
      request.pipe(onward);
      return;
    }
    request.resume().on('end', async () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(frame({ ...head, choices: [{ index: 0, delta: { role: 'assistant', content: '' }, token_ids: [], prompt_token_ids: [1, 2], finish_reason: null }] }));
      await script((data) => response.write(typeof data === 'string' || Buffer.isBuffer(data) ? data : frame(data)));
      response.write(frame({ ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }));
      response.end('data: [DONE]\n\n');
    });
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}
