// OpenAI's JavaScript client: a chat with an image, in one piece and streamed.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import OpenAI from "openai";

const client = new OpenAI({ apiKey: process.env.INKGATE_KEY, baseURL: `${process.env.INKGATE_URL}/v1` });
const model = process.env.INKGATE_MODEL;
const url = `data:image/png;base64,${readFileSync(`${process.env.DOCUMENTS}/line.png`, "base64")}`;
const messages = [{ role: "user", content: [{ type: "image_url", image_url: { url } }, { type: "text", text: "OCR:" }] }];

const whole = await client.chat.completions.create({ model, messages, temperature: 0 });
let streamed = "";
for await (const chunk of await client.chat.completions.create({ model, messages, temperature: 0, stream: true })) {
  streamed += chunk.choices[0]?.delta?.content ?? "";
}
const listed = await client.models.list();

assert.equal(whole.choices[0].message.content, "Invoice number 20417");
assert.equal(streamed, "Invoice number 20417");
assert(listed.data.some((entry) => entry.id === model));
await assert.rejects(
  new OpenAI({ apiKey: "wrong", baseURL: `${process.env.INKGATE_URL}/v1` }).models.list(),
  OpenAI.AuthenticationError,
);
console.log(JSON.stringify({ text: streamed, finish_reason: whole.choices[0].finish_reason }));
