// The AI SDK with its provider for compatible services: generateText and streamText.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, streamText } from "ai";

const provider = createOpenAICompatible({
  name: "inkgate",
  apiKey: process.env.INKGATE_KEY,
  baseURL: `${process.env.INKGATE_URL}/v1`,
});
const model = provider(process.env.INKGATE_MODEL);
const image = readFileSync(`${process.env.DOCUMENTS}/line.png`);
const messages = [{ role: "user", content: [{ type: "file", mediaType: "image/png", data: image }, { type: "text", text: "OCR:" }] }];

const whole = await generateText({ model, messages, temperature: 0 });
const stream = streamText({ model, messages, temperature: 0 });
let streamed = "";
for await (const piece of stream.textStream) streamed += piece;

assert.equal(whole.text, "Invoice number 20417");
assert.equal(streamed, "Invoice number 20417");
console.log(JSON.stringify({ text: streamed, finishReason: await stream.finishReason }));
