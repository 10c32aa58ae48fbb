// Vercel's AI SDK with its default model class, which uses the Responses API.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, streamText } from "ai";

const { INKGATE_URL, INKGATE_KEY, INKGATE_MODEL, DOCUMENTS } = process.env;
const openai = createOpenAI({ apiKey: INKGATE_KEY, baseURL: `${INKGATE_URL}/v1` });
const content = [
  { type: "image", image: readFileSync(`${DOCUMENTS}/line.png`) },
  { type: "text", text: "OCR:" },
];
const request = { model: openai(INKGATE_MODEL), messages: [{ role: "user", content }], temperature: 0 };
const whole = await generateText(request);
const stream = streamText(request);
let streamed = "";
for await (const piece of stream.textStream) streamed += piece;
assert.equal(whole.text, "Invoice number 20417");
assert.equal(streamed, "Invoice number 20417");
assert.equal(whole.finishReason, "stop");
assert.deepEqual(whole.warnings ?? [], []);
console.log(JSON.stringify({ text: streamed, usage: (await stream.usage).outputTokens }));
