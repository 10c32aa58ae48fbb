// Azure Form Recognizer 3 in JavaScript: the layout of a PDF.
import assert from "node:assert";
import { createReadStream } from "node:fs";
import { join } from "node:path";
import { AzureKeyCredential, DocumentAnalysisClient } from "@azure/ai-form-recognizer";

const client = new DocumentAnalysisClient(process.env.INKGATE_URL, new AzureKeyCredential(process.env.INKGATE_KEY), {
  allowInsecureConnection: true, // the URL of the test has no TLS
});
const file = createReadStream(join(process.env.DOCUMENTS, "three.pdf"));
const result = await (await client.beginAnalyzeDocument("prebuilt-layout", file)).pollUntilDone();
assert.deepEqual(result.pages.map((page) => page.pageNumber), [1, 2, 3]);
for (const { words } of result.pages)
  for (const { content, span } of words)
    assert.equal(result.content.slice(span.offset, span.offset + span.length), content);
assert.equal(result.tables[0].cells.find((cell) => cell.rowIndex === 1).content, "Algeria");
console.log(JSON.stringify({ words: result.pages.map((page) => page.words.length) }));
