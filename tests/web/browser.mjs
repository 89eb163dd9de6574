// SPDX-License-Identifier: Apache-2.0
// What the page's tests share: a browser whose every complaint is kept, and words for what a person does.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import path from 'node:path';

export const modules = createRequire(path.resolve(process.env.PAWL_TEST_WEB) + path.sep);
const { chromium } = modules('playwright-core');

export async function launch() {
  return chromium.launch({ executablePath: process.env.PAWL_TEST_CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
}

// A page at `url`. `close()` fails when the page complained, broke its policy or asked anybody else.
export async function open_page(browser, url, { width = 1280, height = 860, dark = false, phone = false, hash = '', settings = {}, fails = [] } = {}) {
  const context = await browser.newContext({ viewport: phone ? { width: 390, height: 844 } : { width, height },
    colorScheme: dark ? 'dark' : 'light', isMobile: phone, hasTouch: phone, acceptDownloads: true });
  const page = await context.newPage();
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('console', (message) => {
    const text = message.text();
    if (message.type() === 'error' && !fails.some((one) => text.includes(one))) complaints.push(`console: ${text}`);
  });
  page.on('request', (request) => {
    const to = new URL(request.url());
    if (to.protocol.startsWith('http') && to.origin !== new URL(url).origin) complaints.push(`asked ${request.url()}`);
  });
  await context.addInitScript((stored) => {
    localStorage.setItem('pawl-settings', JSON.stringify(stored));
    window.violations = [];
    document.addEventListener('securitypolicyviolation', (event) => window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
  }, { seed: 7, temperature: 0.9, max_tokens: 60, candidates: 5, ...settings });
  await page.goto(url + hash);
  return { page, context, async close() {
    assert.deepEqual(await page.evaluate(() => window.violations), []);
    await context.close();
    assert.deepEqual(complaints, []);
  } };
}

// The answer goes on to the limit of tokens, whatever the model would have done.
export const without_end = (page) => page.route('**/v1/chat/completions', (route) => route.continue({
  postData: JSON.stringify({ ...route.request().postDataJSON(), ignore_eos: true }) }));

export const idle = (page) => page.waitForFunction(() => {
  const send = document.querySelector('#send');
  return send && !send.hidden && !send.disabled;
}, null, { timeout: 120_000 });

export async function say(page, text) {
  await idle(page);
  await page.fill('#draft', text);
  await page.press('#draft', 'Enter');
}

export async function ask(page, text) {
  await say(page, text);
  await page.waitForFunction(() => document.querySelector('.message.assistant'));
  await idle(page);
}

// What the browser keeps: all conversations, the one written last first.
export const stored = (page) => page.evaluate(async () => {
  const { load_all } = await import('/web/store.js');
  return (await load_all()).sort((a, b) => b.updated - a.updated);
});

export async function nodes(page) {
  const [conversation] = await stored(page);
  return Object.values(conversation.nodes).sort((a, b) => a.born - b.born);
}

export async function api(url, path, body, headers = {}) {
  const reply = await fetch(url + path, body ? { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } } : { headers });
  return reply.json();
}

// Until the function gives something that is true.
export async function until(look, what, ms = 30_000) {
  const end = performance.now() + ms;
  for (;;) {
    const value = await look();
    if (value) return value;
    assert.ok(performance.now() < end, `it did not happen: ${what}`);
    await new Promise((resolve) => { setTimeout(resolve, 30); });
  }
}
