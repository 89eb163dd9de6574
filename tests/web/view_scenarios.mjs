// SPDX-License-Identifier: Apache-2.0
// The other views, the keyboard, accessibility and the page's weight.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { api, ask, idle, modules, nodes, open_page, until } from './browser.mjs';

// What runs is listed and can be cancelled; what the metrics say is shown.
export async function watches_the_server({ browser, url }) {
  const { page, close } = await open_page(browser, url, { hash: '#server' });
  const running = api(url, '/v1/completions', { prompt: [5, 6, 7], max_tokens: 30_000, ignore_eos: true });
  await page.waitForSelector('.ledger .running');
  await page.click('.ledger .running button');
  const { error } = await running;
  assert.match(error.message, /cancel/);
  await page.waitForFunction(() => document.querySelector('.ledger tbody td')?.textContent === 'cancelled, deleted');
  const { data } = await api(url, '/v1/requests?limit=1');
  await page.waitForFunction((id) => document.querySelector('.ledger .mono').title === id, data[0].id);
  assert.equal(await page.textContent('.ledger tbody tr >> nth=0 >> td >> nth=4'), data[0].completion_tokens.toLocaleString('en'));
  await page.waitForFunction(() => document.querySelectorAll('.plot canvas').length === 3 && globalThis.Chart);
  assert.match(await page.getAttribute('.plot >> nth=2 >> canvas', 'aria-label'), /Between two tokens: [\d,]+ in all/);
  await close();
}

// An answer inside a schema, with the tokens that it forced.
export async function fills_a_schema({ browser, url }) {
  const { page, close } = await open_page(browser, url, { hash: '#schema', settings: { max_tokens: 400 } });
  await until(async () => (await page.textContent('#model-name')) === 'long', 'the server answered');
  await page.waitForSelector('#schema-text');
  await page.fill('#schema-text', '{"type": ');
  await page.click('#view-schema .primary');
  assert.match(await page.textContent('#schema-problem'), /no JSON/);
  const schema = { type: 'object', properties: { word: { enum: ['red', 'blue'] }, right: { type: 'boolean' } }, required: ['word', 'right'], additionalProperties: false };
  await page.fill('#schema-text', JSON.stringify(schema));
  await page.click('#view-schema .primary');
  await until(() => page.isVisible('.fields-bill'), 'a bill');
  const answer = JSON.parse(await page.$$eval('.schema-out .tiles .tile:not(.end)', (all) => all.map((one) => one.textContent).join('')));
  assert.ok(['red', 'blue'].includes(answer.word) && typeof answer.right === 'boolean', JSON.stringify(answer));
  const rows = await page.$$eval('.fields-bill tbody tr', (all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
  const row = (name) => rows.find((cells) => cells[0] === name) ?? assert.fail(`${name}: ${rows}`);
  assert.ok(Number(row('word')[2]) > 0 && Number(row('right')[2]) > 0, `forced: ${rows}`);
  const forced = rows.reduce((sum, cells) => sum + Number(cells[2]), 0);
  assert.equal(await page.locator('.schema-out .tiles .tile.forced').count(), forced);
  await close();
}

// From the draft to another token without a pointer.
export async function works_by_keyboard({ browser, url }) {
  const { page, close } = await open_page(browser, url);
  await idle(page);
  const focused = () => page.evaluate(() => document.activeElement.textContent.trim() || document.activeElement.id);
  const tab_to = async (text, most = 40) => {
    for (let i = 0; i < most; ++i) {
      await page.keyboard.press('Tab');
      if ((await focused()) === text) return;
    }
    assert.fail(`no way to '${text}' by Tab`);
  };
  await page.focus('#draft');
  await page.keyboard.type('hello');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.open-works');
  await idle(page);
  await page.focus('#scroll');
  await tab_to('Clockwork');
  await page.keyboard.press('Enter');
  for (let i = 0; i < 10 && !(await page.evaluate(() => document.activeElement.classList.contains('tile'))); ++i) await page.keyboard.press('Tab');
  for (let i = 0; i < 4; ++i) await page.keyboard.press('ArrowRight');
  assert.equal(await page.evaluate(() => document.activeElement.dataset.i), '4');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Escape');
  assert.equal(await page.evaluate(() => document.activeElement.dataset.i), '4');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  assert.match(await page.evaluate(() => document.activeElement.textContent), /^Go on from token 5 with/);
  await page.keyboard.press('Enter');
  await page.waitForSelector('.turn-line strong');
  await idle(page);
  assert.equal((await nodes(page)).length, 3);
  await close();
}

// axe-core finds nothing serious in any view, light, dark or narrow.
export async function is_accessible({ browser, url }) {
  const axe = fs.readFileSync(modules.resolve('axe-core/axe.min.js'), 'utf8');
  for (const look of [{}, { dark: true }, { phone: true }]) {
    const { page, close } = await open_page(browser, url, { ...look, fails: ['400'] });
    const check = async (where) => {
      await page.evaluate(axe);
      const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
      const bad = found.violations.filter((one) => ['serious', 'critical'].includes(one.impact))
        .map((one) => `${one.id}: ${one.nodes.map((node) => `${node.target} ${node.any[0]?.message ?? ''}`).slice(0, 3).join(' | ')}`);
      assert.deepEqual(bad, [], `${where} ${JSON.stringify(look)}`);
    };
    await idle(page);
    await check('an empty chat');
    await ask(page, 'hello');
    await page.click('.open-works');
    await page.click('.tile[data-i] >> nth=3');
    await check('the clockwork');
    await page.click('.candidates button >> nth=0');
    await page.waitForSelector('.turn-line strong');
    await idle(page);
    await check('a turned answer');
    await page.click('#settings-button');
    await check('the settings');
    await page.keyboard.press('Escape');
    await page.evaluate(() => { location.hash = '#server'; });
    await page.waitForFunction(() => globalThis.Chart && document.querySelector('.ledger tbody tr'));
    await check('the server');
    await page.evaluate(() => { location.hash = '#schema'; });
    await page.waitForSelector('#schema-text');
    await check('the schema');
    await page.evaluate(() => document.querySelector('#key-dialog').showModal());
    await check('the key');
    await close();
  }
}

// What the page weighs with all its views, and how soon a first visit is painted. A machine that others use as well may be slow at any one
// visit; that one of many was quick shows what the page itself needs.
export async function is_light({ browser, url }) {
  let best = Infinity;
  let bytes = 0;
  let visits = 0;
  for (const end = performance.now() + 120_000; visits < 3 || (best >= 300 && performance.now() < end); ++visits) {
    const { page, close } = await open_page(browser, url);
    await idle(page);
    await page.evaluate(() => { location.hash = '#server'; });  // which loads Chart.js
    await page.waitForFunction(() => globalThis.Chart);
    const seen = await page.evaluate(() => ({
      paint: performance.getEntriesByName('first-contentful-paint')[0].startTime,
      bytes: [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].filter((one) => !/\/(props|ready|tokenize)$/.test(one.name))
        .reduce((sum, one) => sum + one.transferSize, 0) }));
    best = Math.min(best, seen.paint);
    bytes = Math.max(bytes, seen.bytes);
    await close();
  }
  console.log(`the page: ${bytes} bytes, first paint ${best.toFixed(0)} ms (best of ${visits})`);
  assert.ok(bytes > 50_000 && bytes < 300_000, `${bytes} bytes`);
  assert.ok(best < 300, `${best} ms`);
}
