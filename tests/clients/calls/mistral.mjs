// Mistral's JavaScript client: files are uploaded, listed, read by ID and by signed URL, and deleted.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Mistral } from "@mistralai/mistralai";

const client = new Mistral({ apiKey: process.env.INKGATE_KEY, serverURL: process.env.INKGATE_URL });
const content = readFileSync(`${process.env.DOCUMENTS}/three.pdf`);
const model = "mistral-ocr-latest";

const uploaded = await client.files.upload({ file: { fileName: "scan.pdf", content }, purpose: "ocr" });
const kept = await client.files.retrieve({ fileId: uploaded.id });
const listed = await client.files.list();
const signed = await client.files.getSignedUrl({ fileId: uploaded.id, expiry: 1 });
const byId = await client.ocr.process({ model, document: { type: "file", fileId: uploaded.id } });
const byUrl = await client.ocr.process({
  model,
  document: { type: "document_url", documentUrl: signed.url },
  includeImageBase64: true,
});
const deleted = await client.files.delete({ fileId: uploaded.id });

assert.deepEqual([uploaded.sizeBytes, kept.sizeBytes], [content.length, content.length]);
assert(listed.data.some((file) => file.id === uploaded.id));
assert.deepEqual(byId.pages.map((page) => page.markdown), byUrl.pages.map((page) => page.markdown));
assert(byId.pages[1].markdown.includes("Rainfall by station"));
const images = byUrl.pages.flatMap((page) => page.images);
assert.equal(new Set(images.map((image) => image.id)).size, 3);
assert(images.every((image) => image.imageBase64.startsWith("data:image/")));
assert(deleted.deleted);
console.log(JSON.stringify({ pages: byId.pages.length, images: images.map((image) => image.id) }));
