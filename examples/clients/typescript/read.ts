// Reads a document with a client whose types are generated from inkgate's OpenAPI document.
//   node read.js FILE [SERVER]
import { readFile } from "node:fs/promises";
import createClient from "openapi-fetch";
import type { paths } from "./inkgate.js";

const [file = "report.png", baseUrl = "http://127.0.0.1:7860"] = process.argv.slice(2);
const key = process.env.INKGATE_API_KEY;
const inkgate = createClient<paths>({ baseUrl, headers: key ? { Authorization: `Bearer ${key}` } : {} });

const image = (await readFile(file)).toString("base64");
const { data, error, response } = await inkgate.POST("/ocr", { body: { image } });
if (error) {
  // Errors are problem documents. 429 and 503 say in Retry-After when to return.
  const problem = error as { code?: string; remedy?: string };
  console.error(`${response.status} ${problem.code}: ${problem.remedy}`);
  process.exit(1);
}
// This path takes several protocols; the response has the one of the request.
if (typeof data === "object" && "pages" in data && Array.isArray(data.pages)) {
  for (const page of data.pages) {
    console.log(`page ${page.index + 1}, ${page.width} x ${page.height} pixels, confidence ${page.confidence}`);
  }
  console.log(data.text);
}
