// Prints the text of each page of the PDF on standard input, by pdf.js, as JSON. Argument: the folder of pdfjs-dist.
import { pathToFileURL } from "node:url";

const { getDocument, VerbosityLevel } = await import(pathToFileURL(`${process.argv[2]}/legacy/build/pdf.mjs`).href);
const parts = [];
for await (const part of process.stdin) parts.push(part);
const data = new Uint8Array(Buffer.concat(parts));
const pdf = await getDocument({ data, verbosity: VerbosityLevel.ERRORS, useSystemFonts: false }).promise;
const pages = [];
for (let number = 1; number <= pdf.numPages; number += 1) {
  const content = await (await pdf.getPage(number)).getTextContent();
  pages.push(content.items.map((item) => item.str + (item.hasEOL ? "\n" : "")).join(""));
}
process.stdout.write(JSON.stringify(pages));
process.exit(0);
