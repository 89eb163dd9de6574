// SPDX-License-Identifier: Apache-2.0
// The same for the Node package: node openai_client.mjs URL MODEL FOLDER-WITH-node_modules
import { createRequire } from "node:module";

const [url, model, folder] = process.argv.slice(2);
const required = createRequire(folder + "/package.json")("openai");
const OpenAI = required.OpenAI ?? required.default ?? required;
const client = new OpenAI({ baseURL: url + "/v1", apiKey: "a-key-of-the-test", maxRetries: 0 });
const chat = { model, messages: [{ role: "user", content: "hello" }], max_tokens: 8, temperature: 0, ignore_eos: true };

function check(condition, what) {
  if (!condition) throw new Error("it did not hold: " + what);
}

const whole = await client.chat.completions.create(chat);
check(whole.choices[0].finish_reason === "length", JSON.stringify(whole));
let text = "";
let usage = null;
for await (const chunk of await client.chat.completions.create({ ...chat, stream: true, stream_options: { include_usage: true } })) {
  text += chunk.choices[0]?.delta?.content ?? "";
  usage = chunk.usage ?? usage;
}
check(text === whole.choices[0].message.content, text);
check(usage.completion_tokens === 8, JSON.stringify(usage));
for (const [change, status] of [[{ temperature: 999 }, 400], [{ model: "other" }, 404]]) {
  let seen = null;
  try {
    await client.chat.completions.create({ ...chat, ...change });
  } catch (error) {
    seen = error.status;
  }
  check(seen === status, "status " + seen + " in place of " + status);
}
console.log("all held");
