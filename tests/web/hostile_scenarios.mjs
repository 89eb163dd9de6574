// SPDX-License-Identifier: Apache-2.0
// Output that wants to be more than text, and output that is very long.
import assert from 'node:assert/strict';
import { ask, idle, nodes, open_page, say } from './browser.mjs';
import { chunk, scripted_server } from './scripted.mjs';

const kHostile = [
  '<img src=x onerror="window.pwned=1">',
  '<script>window.pwned=1</script>',
  '![picture](http://evil.example/x.png) [link](javascript:window.pwned=1)',
  '<a href="javascript:window.pwned=1">a</a><svg onload="window.pwned=1"></svg>',
  '<iframe srcdoc="<script>parent.pwned=1</script>"></iframe><style>*{display:none}</style>',
  '`<b>` **<i onclick=alert(1)>bold</i>** | a | b |',
  '# <img src=x onerror=window.pwned=1>',
  '- <details open ontoggle=window.pwned=1>',
  '\u202eevil \u2066 right to left \u05e9\u05dc\u05d5\u05dd \u0627\u0644\u0633\u0644\u0627\u0645',
  '&lt;img src=x onerror=window.pwned=1&gt; &#60;script&#62;',
  '${window.pwned=1} {{constructor.constructor("window.pwned=1")()}}',
];

// Whatever a model writes, it stays text.
export async function hostile_output_stays_text({ browser, url }) {
  const front = await scripted_server(url, async (write) => {
    for (const [i, text] of kHostile.entries()) write(chunk(`${text}\n\n`, i));
    write(chunk('```html\n<script>window.pwned=1</script>\n', 50));
    write(chunk('```\n\n', 51));
    // A chunk whose text is no UTF-8: the first bytes of a character, a stray one, an overlong slash.
    const only_text = { ...chunk('', 60), choices: [{ index: 0, delta: { content: 'broken >@@@@< here' }, finish_reason: null }] };
    const [before, after] = `data: ${JSON.stringify(only_text)}\n\n`.split('@@@@');
    write(Buffer.concat([Buffer.from(before), Buffer.from([0xe2, 0x96, 0xff, 0xc0, 0xaf]), Buffer.from(after)]));
  });
  const { page, close } = await open_page(browser, front.url);
  await ask(page, 'be hostile');
  await page.click('.open-works');
  await page.hover('.tile[data-i] >> nth=2');
  await page.click('.tile[data-i] >> nth=1');
  assert.equal(await page.evaluate(() => window.pwned), undefined);
  const alive = await page.$$eval('.message :is(img, script, iframe, style, object, embed, link, form:not(.edit-form), a, details, i), .message svg:not(.timeline svg)',
    (all) => all.map((one) => one.outerHTML));
  assert.deepEqual(alive, []);
  const shown = await page.textContent('.assistant .prose');
  for (const text of ['<img src=x onerror="window.pwned=1">', '<script>window.pwned=1</script>', 'http://evil.example/x.png', '&lt;img', '\u05e9\u05dc\u05d5\u05dd', 'broken >\ufffd']) {
    assert.ok(shown.includes(text), `${text} is not shown in ${shown}`);
  }
  // Hostile words in a title, and after a reload.
  await page.reload();
  await idle(page);
  await say(page, kHostile[0]);
  await idle(page);
  assert.equal(await page.evaluate(() => window.pwned), undefined);
  await close();
  front.close();
}

// A line of a megabyte: it is shown as text, and the page goes on working.
export async function survives_a_line_of_a_megabyte({ browser, url }) {
  const piece = 'x'.repeat(8192);
  const front = await scripted_server(url, async (write) => {
    for (let i = 0; i < 128; ++i) {
      write({ ...chunk('', i), choices: [{ index: 0, delta: { content: piece }, finish_reason: null }] });
      if (i % 8 === 0) await new Promise(setImmediate);
    }
  });
  const { page, close } = await open_page(browser, front.url);
  await ask(page, 'one line');
  assert.equal(await page.evaluate(() => document.querySelector('.assistant .prose').textContent.length), 1 << 20);
  assert.equal((await nodes(page))[1].text.length, 1 << 20);
  assert.ok(await page.evaluate(() => document.querySelector('#scroll').scrollWidth <= document.querySelector('#scroll').clientWidth));
  await page.fill('#draft', 'still here');
  assert.equal(await page.inputValue('#draft'), 'still here');
  await close();
  front.close();
}

const words = ['The ', 'ratchet ', 'turns ', 'one ', 'way, ', 'tooth ', 'by ', 'tooth. ', '\n\n', '- and ', '**never** ', 'back.\n'];

// 5,000 tokens stream in while somebody scrolls: no task holds the page for more than 100 ms. What counts
// is the time that the page's thread computed; on a machine that others use too, it also waits.
export async function a_long_answer_is_smooth({ browser, url }) {
  const front = await scripted_server(url, async (write) => {
    for (let i = 0; i < 5000; ++i) {
      write(chunk(words[i % words.length], i));
      if (i % 10 === 9) await new Promise((resolve) => { setTimeout(resolve, 12); });
    }
  });
  const { page, context, close } = await open_page(browser, front.url, { settings: { max_tokens: 6000 } });
  const session = await context.newCDPSession(page);
  const events = [];
  session.on('Tracing.dataCollected', ({ value }) => events.push(...value));
  await idle(page);
  await session.send('Tracing.start', { transferMode: 'ReportEvents', traceConfig: { includedCategories: ['toplevel', 'devtools.timeline', 'disabled-by-default-devtools.timeline'] } });
  await say(page, 'a long one');
  await page.waitForSelector('.assistant');
  await page.mouse.move(600, 400);
  for (let i = 0; i < 60; ++i) {
    await page.mouse.wheel(0, i % 2 ? 700 : -500);
    await page.waitForTimeout(50);
  }
  await idle(page);
  await page.click('.open-works');
  await page.waitForFunction(() => document.querySelectorAll('.tile[data-i]').length === 5000);
  for (let i = 0; i < 20; ++i) {
    await page.mouse.wheel(0, i % 2 ? 900 : -900);
    await page.waitForTimeout(30);
  }
  const over = new Promise((resolve) => { session.once('Tracing.tracingComplete', resolve); });
  await session.send('Tracing.end');
  await over;
  const main = events.find((one) => one.name === 'thread_name' && one.args.name === 'CrRendererMain' && events.some((task) =>
    task.tid === one.tid && task.pid === one.pid && task.name === 'FunctionCall'));
  const tasks = events.filter((one) => one.pid === main?.pid && one.tid === main?.tid && one.ph === 'X' && /RunTask/.test(one.name));
  assert.ok(tasks.length > 500, `${tasks.length} tasks were traced`);
  const longest = (key) => Math.max(...tasks.map((one) => one[key] ?? 0)) / 1000;
  console.log(`${tasks.length} tasks, the longest ${longest('tdur').toFixed(0)} ms of computing, ${longest('dur').toFixed(0)} ms with waiting`);
  assert.ok(longest('tdur') > 0 && longest('tdur') < 100, `a task of ${longest('tdur')} ms`);
  assert.equal((await nodes(page))[1].record.tokens.length, 5000);
  await close();
  front.close();
}
