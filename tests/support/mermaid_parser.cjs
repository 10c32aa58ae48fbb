// Parses Mermaid with the parser that the web page has. Usage: node mermaid_parser.cjs mermaid.js.gz < sources.json
// Takes a JSON array of sources; prints an array with null for each that is valid, else the parser's message.
const fs = require("node:fs");
const vm = require("node:vm");
const zlib = require("node:zlib");

// As much of a browser as the parser touches; nothing is drawn.
const element = () => ({ style: {}, setAttribute() {}, appendChild() {} });
const page = { console, setTimeout, clearTimeout, URL, structuredClone, TextEncoder, TextDecoder, queueMicrotask, addEventListener() {} };
page.document = { nodeType: 9, implementation: {}, createElement: element, createTextNode: element, createDocumentFragment: element, addEventListener() {}, querySelector: () => null };
for (const name of ["Element", "Node", "HTMLTemplateElement", "NamedNodeMap"]) page[name] = class {};
page.window = page;
vm.createContext(page);
vm.runInContext(zlib.gunzipSync(fs.readFileSync(process.argv[2])).toString("utf8"), page);

(async () => {
  const told = [];
  for (const source of JSON.parse(fs.readFileSync(0, "utf8"))) {
    try { await page.mermaid.parse(source); told.push(null); } catch (error) { told.push(String(error.message).slice(0, 300)); }
  }
  process.stdout.write(JSON.stringify(told));
})();
