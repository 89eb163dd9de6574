// SPDX-License-Identifier: Apache-2.0
// Chatting: what is sent, what comes, what is kept. Expectations come from the server's API, asked beside the page.
import assert from 'node:assert/strict';
import { api, ask, idle, nodes, open_page, say, stored, until, without_end } from './browser.mjs';

// An answer comes piece by piece, and is the one that the API gives for the same question and seed.
export async function streams({ browser, url }) {
  const { page, close } = await open_page(browser, url, { settings: { max_tokens: 6000 } });
  await without_end(page);
  await say(page, 'hello');
  const seen = new Set();
  await until(async () => {
    seen.add(await page.evaluate(() => document.querySelector('.assistant .prose')?.textContent.length ?? 0));
    return seen.size > 5;
  }, 'the text grew five times');
  await idle(page);
  const [question, answer] = await nodes(page);
  const { record } = answer;
  const whole = await api(url, '/v1/chat/completions', { messages: [{ role: 'user', content: 'hello' }], seed: 7, temperature: 0.9, top_p: 0.95,
    max_tokens: 6000, ignore_eos: true, return_token_ids: true });
  assert.equal(question.text, 'hello');
  assert.equal(answer.text, whole.choices[0].message.content);
  assert.deepEqual(record.tokens.map((token) => token.id), whole.choices[0].token_ids);
  assert.deepEqual(record.prompt_ids, whole.prompt_token_ids);
  assert.equal(record.usage.completion_tokens, record.tokens.length);
  for (const token of record.tokens.slice(0, -1)) {
    assert.ok(token.p > 0 && token.p <= 1 && token.top.length === 5, JSON.stringify(token));
  }
  await close();
}

// To edit makes a branch: the old words and their answer stay, and can be gone back to.
export async function edits_and_branches({ browser, url }) {
  const { page, close } = await open_page(browser, url);
  await ask(page, 'one');
  await ask(page, 'two');
  const before = await nodes(page);
  await page.click('.user >> nth=0 >> .edit');
  await page.fill('.edit-form textarea', 'another one');
  await page.press('.edit-form textarea', 'Enter');
  await page.waitForFunction(() => document.querySelectorAll('.message').length === 2);
  await idle(page);
  const after = await nodes(page);
  assert.deepEqual(after.slice(0, 4), before);
  assert.deepEqual(after.slice(4).map(({ role, parent }) => [role, parent]), [['user', null], ['assistant', after[4].id]]);
  assert.equal(await page.textContent('.user .said'), 'another one');
  assert.match(await page.textContent('.user .branches'), /2 \/ 2/);
  await page.click('[aria-label="Earlier branch"]');
  assert.deepEqual(await page.$$eval('.user .said', (all) => all.map((one) => one.textContent)), ['one', 'two']);
  await page.click('.assistant >> nth=0 >> .again');
  await idle(page);
  assert.match(await page.textContent('.assistant .branches'), /2 \/ 2/);
  assert.equal((await nodes(page)).length, 7);
  await close();
}

// One token is exchanged: all before it stays, what follows is what the API gives for those ids.
export async function turns_a_token({ browser, url }) {
  const { page, close } = await open_page(browser, url);
  await ask(page, 'hello world');
  await page.click('.open-works');
  const at = 6;
  await page.click(`.tile[data-i] >> nth=${at}`);
  assert.equal(await page.textContent('.lens h4'), `Token ${at + 1}`);
  await page.click('.candidates button >> nth=1');
  await page.waitForFunction(() => document.querySelector('.turn-line strong')?.textContent.startsWith('Diverged'));
  await idle(page);
  const [, old, turned] = await nodes(page);
  const ids = (node) => node.record.tokens.map((token) => token.id);
  assert.deepEqual(ids(turned).slice(0, at), ids(old).slice(0, at));
  assert.notEqual(ids(turned)[at], ids(old)[at]);
  assert.ok(old.record.tokens[at].top.some((one) => one.id === ids(turned)[at]));
  const given = await api(url, '/v1/completions', { prompt: [...old.record.prompt_ids, ...ids(turned).slice(0, at + 1)], seed: 7,
    temperature: 0.9, top_p: 0.95, max_tokens: 60 - at - 1, return_token_ids: true });
  assert.deepEqual(ids(turned).slice(at + 1), given.choices[0].token_ids);
  assert.equal(await page.textContent('.turn-line strong'), `Diverged after ${at} tokens. `);
  assert.equal((await page.textContent('.old mark')).length > 0, true);
  assert.equal(await page.$$eval('.tile.turned', (all) => all.map((one) => Number(one.dataset.i)).join()), String(at));
  // The old answer is a branch of its own, as it was.
  await page.click('[aria-label="Earlier branch"]');
  assert.equal((await nodes(page)).find((node) => node.id === old.id).text, old.text);
  await close();
}

// The last candidate of all: the answer ends there, and no request is made.
export async function turns_to_the_end({ browser, url }) {
  const { page, close } = await open_page(browser, url, { settings: { candidates: 20, max_tokens: 250 } });
  const { end_tokens } = await api(url, '/props');
  await ask(page, 'hello');
  const [, { record }] = await nodes(page);
  const at = record.tokens.findIndex((token) => token.top.some((one) => end_tokens.includes(one.id) && one.id !== token.id));
  assert.ok(at >= 0, 'no end token among the candidates');
  const asked = [];
  page.on('request', (request) => { if (request.method() === 'POST' && request.url().includes('/v1/')) asked.push(request.url()); });
  await page.click('.open-works');
  await page.click(`.tile[data-i] >> nth=${at}`);
  const end = record.tokens[at].top.filter((one) => one.id !== record.tokens[at].id).findIndex((one) => end_tokens.includes(one.id));
  await page.click(`.candidates button >> nth=${end}`);
  const turned = await until(async () => (await nodes(page))[2], 'the branch was kept');
  assert.equal(turned.record.state, 'stop');
  assert.equal(turned.record.tokens.length, at + 1);
  assert.deepEqual(asked, []);
  await close();
}

// The bill of a stopped answer says what the ledger says.
export async function bills_a_stop({ browser, url }) {
  const { page, close } = await open_page(browser, url, { settings: { max_tokens: 30_000, candidates: 1 } });
  await without_end(page);
  await say(page, 'hello');
  await page.waitForFunction(() => document.querySelector('.assistant .prose')?.textContent.length > 200);
  await page.click('#stop');
  await page.waitForSelector('.bill dl');
  const [, { record }] = await nodes(page);
  const row = await api(url, `/v1/requests/${record.bill.id}`);
  assert.deepEqual([row.state, row.cause], ['cancelled', 'client_closed']);
  const shown = (await page.$$eval('.bill dd', (all) => all.map((one) => one.textContent))).map((text) => Number(/[\d,]+/.exec(text)[0].replaceAll(',', '')));
  assert.equal(shown[0], record.tokens.length);
  assert.equal(shown[1], row.completion_tokens);
  assert.equal(shown[2], row.completion_tokens - record.tokens.length);
  assert.equal(shown[3], 30_000 - row.completion_tokens);
  assert.ok(record.tokens.length > 20 && row.completion_tokens < 30_000);
  await close();
}

// What was written is there after a reload; it can be taken out, deleted and brought back.
export async function keeps_conversations({ browser, url }) {
  const { page, close } = await open_page(browser, url);
  await ask(page, 'remember me');
  const [before] = await stored(page);
  await page.reload();
  await idle(page);
  assert.equal(await page.textContent('.user .said'), 'remember me');
  assert.deepEqual(await stored(page), [before]);
  await page.click('.open-works');
  assert.equal(await page.locator('.clockwork .tile[data-i]').count(), Object.values(before.nodes)[1].record.tokens.length);
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('#export-all')]);
  const file = await download.path();
  page.on('dialog', (dialog) => dialog.accept());
  await page.click('#conversations [aria-label^="Delete"]');
  await until(async () => (await stored(page)).length === 0, 'it was deleted');
  assert.equal(await page.locator('.message').count(), 0);
  await page.setInputFiles('#import-file', file);
  await page.waitForSelector('.user .said');
  assert.deepEqual(await stored(page), [before]);
  await page.setInputFiles('#import-file', { name: 'x.json', mimeType: 'application/json', buffer: Buffer.from('{"conversations": [1]}') });
  await page.waitForFunction(() => document.querySelector('#notice').textContent.includes('no export'));
  await close();
}

// A server with keys: the page asks, a wrong key is told, the right one is nowhere but in memory.
export async function asks_for_the_key({ browser, url }) {
  const key = 'the-key-of-the-test';
  const { page, close } = await open_page(browser, url, { fails: ['401'] });
  await page.waitForSelector('#key-dialog[open]');
  await page.fill('#key', 'a-wrong-key');
  await page.press('#key', 'Enter');
  await page.waitForFunction(() => document.querySelector('#key-dialog').open && document.querySelector('#key-why').textContent.includes('does not know'));
  await page.fill('#key', key);
  await page.press('#key', 'Enter');
  await ask(page, 'hello');
  assert.equal((await nodes(page)).length, 2);
  const kept = JSON.stringify([await stored(page), await page.evaluate(() => [{ ...localStorage }, { ...sessionStorage }, document.cookie])]);
  assert.ok(!kept.includes(key));
  await page.reload();
  await page.waitForSelector('#key-dialog[open]');
  await close();
}

// A model without a template: a text that is gone on with, and the page says why.
export async function completes_a_plain_text({ browser, url }) {
  const { page, close } = await open_page(browser, url);
  await idle(page);
  assert.match(await page.textContent('.welcome'), /no chat template/);
  assert.equal(await page.textContent('#send'), 'Continue');
  await ask(page, 'The sea is');
  await page.click('#send');
  await page.waitForFunction(() => document.querySelectorAll('.assistant').length === 2);
  await idle(page);
  const all = await nodes(page);
  const given = await api(url, '/v1/completions', { prompt: all[0].text + all[1].text, seed: 7, temperature: 0.9, top_p: 0.95, max_tokens: 60 });
  assert.equal(all[2].text, given.choices[0].text);
  await close();
}

// The count under the draft is the tokenizer's.
export async function counts_the_draft({ browser, url }) {
  const { page, close } = await open_page(browser, url);
  await idle(page);
  const text = 'A sentence that is counted before it is sent.';
  await page.fill('#draft', text);
  const [draft, whole] = await Promise.all([api(url, '/tokenize', { prompt: text, add_special_tokens: false }),
    api(url, '/tokenize', { messages: [{ role: 'user', content: text }] })]);
  await page.waitForFunction((n) => document.querySelector('#count').textContent.startsWith(`${n} tokens in this message`), draft.count);
  assert.match(await page.textContent('#count'), new RegExp(`${whole.count} of [\\d,]+ in the context`));
  await close();
}
