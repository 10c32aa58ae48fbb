// OpenAI's Responses API with an image, in one piece and streamed; an unknown key is OpenAI's error with a sentence.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import OpenAI from "openai";

const { INKGATE_URL, INKGATE_KEY, INKGATE_MODEL, DOCUMENTS } = process.env;
const baseURL = `${INKGATE_URL}/v1`;
const client = new OpenAI({ apiKey: INKGATE_KEY, baseURL });
const data = readFileSync(`${DOCUMENTS}/line.png`).toString("base64");
const content = [
  { type: "input_image", image_url: `data:image/png;base64,${data}`, detail: "auto" },
  { type: "input_text", text: "OCR:" },
];
const request = { model: INKGATE_MODEL, input: [{ role: "user", content }], temperature: 0 };
const whole = await client.responses.create(request);
let streamed = "";
for await (const event of await client.responses.create({ ...request, stream: true })) {
  if (event.type === "response.output_text.delta") streamed += event.delta;
}
assert.equal(whole.output_text, "Invoice number 20417");
assert.equal(streamed, "Invoice number 20417");
const stranger = new OpenAI({ apiKey: "unknown", baseURL });
for (const call of [() => stranger.models.list(), () => stranger.responses.create(request)]) {
  await assert.rejects(call, (error) => error.code === "invalid_api_key" && /Authorization: Bearer/.test(error.message));
}
console.log(JSON.stringify({ text: streamed }));
