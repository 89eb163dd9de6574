// SPDX-License-Identifier: Apache-2.0
// The pictures of docs/web.md, from a server that runs: node pictures.mjs URL FOLDER, with PAWL_TEST_WEB and
// PAWL_TEST_CHROMIUM as for the tests. Light, dark and phone of each view, or the looks that are named after the folder.
import { api, ask, idle, launch, nodes, open_page, say } from './browser.mjs';

const [url, folder, ...looks] = process.argv.slice(2);
const kCode = 'Show a Python function that returns the longest word of a sentence, then explain it in a list of three points.';
const kStory = 'Tell a story about a clockmaker in three sentences.';
const kLong = 'Explain in many paragraphs how a mechanical clock keeps time.';

async function shoot(page, name) {
  await page.mouse.move(2, 2);
  await page.waitForTimeout(250);
  await page.screenshot({ path: `${folder}/${name}.png`, animations: 'disabled' });
}

// Scrolls the thread until an element stands at its top.
const to_top = (page, selector) => page.evaluate((one) => {
  const scroll = document.querySelector('#scroll');
  scroll.scrollTop += document.querySelector(one).getBoundingClientRect().top - scroll.getBoundingClientRect().top - 12;
}, selector);

// The token whose choice was closest, not among the first.
async function closest(page) {
  const { record } = (await nodes(page)).at(-1);
  const second = (token) => token.top.map((one) => one.p).sort((a, b) => b - a)[1] ?? 0;
  const all = record.tokens.map((token, i) => ({ i, p: i < 5 || token.text === null ? 0 : second(token) }));
  return all.sort((a, b) => b.p - a.p)[0].i;
}

async function chat_pictures(page, tag) {
  await ask(page, kCode);
  await to_top(page, '.message');
  await shoot(page, `chat-${tag}`);
  await page.click('#settings-button');
  await shoot(page, `settings-${tag}`);
  await page.keyboard.press('Escape');
  if (tag === 'phone') await page.click('#menu');
  await page.click('#new-chat');
  await ask(page, kStory);
  await page.click('.open-works');
  const i = await closest(page);
  await page.click(`.tile[data-i] >> nth=${i}`);
  await to_top(page, tag === 'phone' ? '.truth' : '.works-place');
  await shoot(page, `clockwork-${tag}`);
  await page.click('.candidates button >> nth=0');
  await page.waitForSelector('.turn-line strong');
  await idle(page);
  await to_top(page, tag === 'phone' ? '.turn-line' : '.clocks');
  await shoot(page, `turn-${tag}`);
  await say(page, kLong);
  await page.waitForFunction(() => document.querySelectorAll('.assistant')[1]?.querySelector('.prose').textContent.length > 220);
  await page.click('#stop');
  await page.waitForSelector('.bill');
  await idle(page);
  await page.evaluate(() => { document.querySelector('#scroll').scrollTop = 1e6; });
  await shoot(page, `bill-${tag}`);
}

async function view_pictures(page, tag) {
  await page.evaluate(() => { location.hash = '#server'; });
  await page.waitForTimeout(1500);
  const load = Array.from({ length: 4 }, (_, i) => api(url, '/v1/chat/completions', { messages: [{ role: 'user', content: `Tell story number ${i}.` }], max_tokens: 90 + 30 * i, seed: i }));
  await page.waitForTimeout(4500);
  await shoot(page, `server-${tag}`);
  await Promise.all(load);
  await page.evaluate(() => { location.hash = '#schema'; });
  await page.waitForSelector('#schema-text');
  await page.click('#view-schema .primary');
  await page.waitForFunction(() => !document.querySelector('#schema-problem').hidden || !document.querySelector('.schema-out .wide').hidden, null, { timeout: 60_000 });
  if (tag === 'phone') await page.evaluate(() => document.querySelector('.schema-out').scrollIntoView());
  await shoot(page, `schema-${tag}`);
}

const browser = await launch();
for (const [tag, look] of Object.entries({ light: {}, dark: { dark: true }, phone: { phone: true } })) {
  if (looks.length && !looks.includes(tag)) continue;
  const { page, close } = await open_page(browser, url, { width: 1180, height: 800, ...look, fails: ['400'],
    settings: { seed: 3, temperature: 0.7, max_tokens: 260, candidates: 6 } });
  await chat_pictures(page, tag);
  await view_pictures(page, tag);
  await close();
}
await browser.close();
