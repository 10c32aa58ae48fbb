// Mistral's own JavaScript client against the service at argv[2]: prints what each call answered, as JSON. argv[3]: the
// package's folder; standard input: a PDF.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { Mistral } = await import(pathToFileURL(`${process.argv[3]}/esm/index.js`).href);
const client = new Mistral({ apiKey: "any", serverURL: process.argv[2] });
const content = readFileSync(0);
const model = "mistral-ocr-latest";

const uploaded = await client.files.upload({ file: { fileName: "scan.pdf", content }, purpose: "ocr" });
const kept = await client.files.retrieve({ fileId: uploaded.id });
const listed = await client.files.list();
const signed = await client.files.getSignedUrl({ fileId: uploaded.id, expiry: 1 });
const byId = await client.ocr.process({ model, document: { type: "file", fileId: uploaded.id } });
const byUrl = await client.ocr.process({ model, document: { type: "document_url", documentUrl: signed.url } });
const deleted = await client.files.delete({ fileId: uploaded.id });

console.log(JSON.stringify({ uploaded, kept, listed, byId: byId.pages, byUrl: byUrl.pages, deleted }));
