// SPDX-License-Identifier: Apache-2.0
// Runs one scenario: node run.mjs NAME URL. PAWL_TEST_WEB: a folder with the node_modules of package.json;
// PAWL_TEST_CHROMIUM: the browser.
import { launch } from './browser.mjs';
import * as chat from './chat_scenarios.mjs';
import * as hostile from './hostile_scenarios.mjs';
import * as schema from './schema_scenarios.mjs';
import * as view from './view_scenarios.mjs';

const [name, url] = process.argv.slice(2);
const scenario = { ...chat, ...hostile, ...schema, ...view }[name];
if (!scenario) throw new Error(`there is no scenario '${name}'`);
const browser = await launch();
try {
  await scenario({ browser, url });
  console.log('all held');
} finally {
  await browser.close();
}
process.exit(0);
