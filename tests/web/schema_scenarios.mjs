// SPDX-License-Identifier: Apache-2.0
// The schema view on an answer whose tokens, times and forced tokens are known.
import assert from 'node:assert/strict';
import { open_page, until } from './browser.mjs';
import { id_chunk, scripted_server } from './scripted.mjs';

const kTokens = [['{"', true], ['word":', true], ['"', true], ['red', false], ['","', true], ['right', true], ['":', true], ['true', false], ['}', true]];

// Each token is put down to the field that most of its text belongs to: the comma and quote between two fields to the
// first. One millisecond each, and none for the first token, which has nothing before it.
export async function bills_the_fields({ browser, url }) {
  const front = await scripted_server(url, async (write) => {
    kTokens.forEach(([, forced], i) => write(id_chunk(i, forced)));
  }, (ids) => ids.map((id) => [...Buffer.from(kTokens[id][0])]));
  const { page, close } = await open_page(browser, front.url, { hash: '#schema' });
  await page.waitForSelector('#schema-text');
  await until(async () => (await page.textContent('#model-name')) === 'long', 'the server answered');
  await page.click('#view-schema .primary');
  await page.waitForSelector('.fields-bill tbody tr');
  const rows = await page.$$eval('.fields-bill tbody tr', (all) => all.map((row) => [...row.cells].map((cell) => cell.textContent.trim())));
  assert.deepEqual(rows, [['word', '5', '4', '4.0 ms', '50 %'], ['right', '3', '2', '3.0 ms', '38 %'], ['{ }', '1', '1', '1.0 ms', '13 %']]);
  assert.equal(await page.locator('.schema-out .tiles .tile.forced').count(), 7);
  await close();
  front.close();
}
