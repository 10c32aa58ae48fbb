// Azure AI Document Intelligence in JavaScript: the layout of a PDF as Markdown.
import assert from "node:assert";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import DocumentIntelligence, { getLongRunningPoller, isUnexpected } from "@azure-rest/ai-document-intelligence";

const client = DocumentIntelligence(
  process.env.INKGATE_URL,
  { key: process.env.INKGATE_KEY },
  { allowInsecureConnection: true }, // the URL of the test has no TLS
);
const base64Source = readFileSync(join(process.env.DOCUMENTS, "three.pdf")).toString("base64");
const begun = await client.path("/documentModels/{modelId}:analyze", "prebuilt-layout").post({
  contentType: "application/json",
  body: { base64Source },
  queryParameters: { outputContentFormat: "markdown", stringIndexType: "utf16CodeUnit" },
});
assert(!isUnexpected(begun), begun.body?.error?.message);
const { analyzeResult } = (await getLongRunningPoller(client, begun).pollUntilDone()).body;
assert.deepEqual(analyzeResult.pages.map((page) => page.pageNumber), [1, 2, 3]);
for (const { words } of analyzeResult.pages)
  for (const { content, span } of words)
    assert.equal(analyzeResult.content.slice(span.offset, span.offset + span.length), content);
assert.equal(analyzeResult.tables[0].cells.find((cell) => cell.rowIndex === 1).content, "Algeria");
const refused = await client.path("/documentModels/{modelId}:analyze", "prebuilt-invoice").post({
  contentType: "application/json",
  body: { base64Source },
});
assert(isUnexpected(refused));
assert.equal(refused.body.error.code, "NotFound");
console.log(JSON.stringify({ words: analyzeResult.pages.map((page) => page.words.length), refused: refused.status }));
