// Markdown as elements. Text stays text: raw HTML is shown as it is written, except for tables, which models write as
// HTML, and a few marks. Images become their descriptions. Every step takes time linear in the text.
import { make } from "./dom.js";
import { alignNumbers, tableOf } from "./tables.js";

const DEEPEST = 6;
const LONGEST_INLINE = 50_000;
const PAIRS = [["**", "strong"], ["__", "strong"], ["~~", "s"], ["*", "em"], ["_", "em"]];
const TAGS = { sub: "sub", sup: "sup", mark: "mark", u: "u", b: "strong", i: "em", strong: "strong", em: "em" };
const ESCAPED = /[!-/:-@[-`{-~]/;
const ALNUM = /[\p{L}\p{N}]/u;

export function renderMarkdown(text, into) {
  blocks(text.replaceAll("\r\n", "\n").split("\n"), into, 0);
  return into;
}

// A link only to http(s): never to scripts, files or data.
function safeUrl(text) {
  try {
    const url = new URL(text);
    return url.protocol === "http:" || url.protocol === "https:" ? url.href : null;
  } catch { return null; }
}

const isBlank = (line) => line.trim() === "";
const headingOf = (line) => /^ {0,3}(#{1,6})(?:[ \t]|$)/.exec(line);
const itemOf = (line) => /^( {0,9})([-*+]|\d{1,9}[.)])(?:[ \t]|$)/.exec(line);
const isRule = (line) => { const bare = line.replaceAll(" ", ""); return bare.length > 2 && ["-", "*", "_"].some((mark) => bare === mark.repeat(bare.length)); };
const isFence = (line) => /^ {0,3}(`{3,}|~{3,})/.exec(line);
const isDelimiterRow = (line) => line !== undefined && line.includes("-") && line.includes("|") && /^[\s|:-]+$/.test(line);
const isHtmlTable = (line) => /^\s{0,9}<(?:table|html|div)\b/i.test(line);

function blocks(lines, into, depth) {
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    if (isBlank(line)) { at += 1; continue; }
    const heading = headingOf(line), fence = isFence(line);
    if (fence) at = code(lines, at, fence[1], into);
    else if (line.trim().startsWith("$$")) at = formula(lines, at, into);
    else if (heading) {
      const level = Math.min(heading[1].length + 1, 6); // the page itself has the only h1
      into.append(inline(line.slice(heading[0].length).replace(/[ \t]#+[ \t]*$/, ""), make("h" + level), 0));
      at += 1;
    } else if (isRule(line)) { into.append(make("hr")); at += 1; }
    else if (line.trim().startsWith("<!--")) at = comment(lines, at, into);
    else if (isHtmlTable(line)) at = htmlTable(lines, at, into);
    else if (line.includes("|") && isDelimiterRow(lines[at + 1])) at = pipeTable(lines, at, into);
    else if (/^ {0,3}>/.test(line) && depth < DEEPEST) at = quote(lines, at, into, depth);
    else if (itemOf(line) && depth < DEEPEST) at = list(lines, at, into, depth);
    else at = paragraph(lines, at, into);
  }
}

function code(lines, at, mark, into) {
  const begin = at + 1;
  at = begin;
  while (at < lines.length && !lines[at].trim().startsWith(mark)) at += 1;
  const text = lines.slice(begin, at).join("\n");
  into.append(lines[begin - 1].trim().slice(mark.length).trim() === "mermaid" ? diagramNode(text) : make("pre", {}, make("code", {}, text)));
  return at + 1;
}

// A diagram in Mermaid: its source until it is drawn. `known`: what the service says of it, if it says something.
export function diagramNode(source, known = null) {
  const node = make("div", { class: "diagram" }, make("pre", {}, make("code", {}, source)));
  import("./diagrams.js").then(({ draw }) => draw(node, source, known)).catch(() => {}); // without it, the source stays
  return node;
}

function formula(lines, at, into) {
  const found = [];
  for (const begin = at; at < lines.length; at += 1) {
    found.push(lines[at]);
    const line = lines[at].trim();
    if (line.endsWith("$$") && (at > begin || line.length > 3)) { at += 1; break; }
  }
  into.append(make("div", { class: "formula" }, found.join("\n").trim().replace(/^\$\$/, "").replace(/\$\$$/, "").trim()));
  return at;
}

function comment(lines, at, into) {
  const begin = at;
  while (at < lines.length && !lines[at].includes("-->")) at += 1;
  into.append(make("p", { class: "small faint" }, lines.slice(begin, at + 1).join("\n").trim().replace(/^<!--/, "").replace(/-->$/, "").trim()));
  return at + 1;
}

function htmlTable(lines, at, into) {
  const begin = at;
  while (at < lines.length && !lines[at].toLowerCase().includes("</table>")) at += 1;
  const text = lines.slice(begin, at + 1).join("\n");
  const table = tableOf(text);
  into.append(table ? make("div", { class: "scroll" }, table) : make("p", {}, text));
  return at + 1;
}

function cellsOf(line) {
  let text = line.trim();
  if (text.startsWith("|")) text = text.slice(1);
  if (text.endsWith("|") && !text.endsWith("\\|")) text = text.slice(0, -1);
  const cells = [];
  let begin = 0;
  for (let i = 0; i <= text.length; i += 1) {
    if (text[i] === "\\") { i += 1; continue; }
    if (i >= text.length || text[i] === "|") { cells.push(text.slice(begin, i).trim()); begin = i + 1; }
  }
  return cells;
}

function pipeTable(lines, at, into) {
  const row = (line, tag) => make("tr", {}, cellsOf(line).map((cell) => inline(cell, make(tag), 0)));
  const body = make("tbody");
  const head = make("thead", {}, row(lines[at], "th"));
  for (at += 2; at < lines.length && lines[at].includes("|") && !isBlank(lines[at]); at += 1) body.append(row(lines[at], "td"));
  into.append(make("div", { class: "scroll" }, alignNumbers(make("table", {}, head, body))));
  return at;
}

function quote(lines, at, into, depth) {
  const found = [];
  for (; at < lines.length && /^ {0,3}>/.test(lines[at]); at += 1) found.push(lines[at].replace(/^ {0,3}> ?/, ""));
  const node = make("blockquote");
  blocks(found, node, depth + 1);
  into.append(node);
  return at;
}

function list(lines, at, into, depth) {
  const first = itemOf(lines[at]);
  const ordered = /\d/.test(first[2]);
  const node = make(ordered ? "ol" : "ul", ordered && parseInt(first[2], 10) !== 1 ? { start: parseInt(first[2], 10) } : {});
  while (at < lines.length) {
    const item = itemOf(lines[at]);
    if (!item || item[1].length > first[1].length + 1 || /\d/.test(item[2]) !== ordered) break;
    const content = [lines[at].slice(item[0].length)];
    for (at += 1; at < lines.length && (/^ {2,}\S/.test(lines[at]) || (isBlank(lines[at]) && /^ {2,}\S/.test(lines[at + 1] || ""))); at += 1) {
      if (itemOf(lines[at]) && itemOf(lines[at])[1].length <= first[1].length) break;
      content.push(lines[at].replace(/^ {2,4}/, ""));
    }
    const entry = make("li");
    if (content.length === 1) inline(content[0], entry, 0); else blocks(content, entry, depth + 1);
    node.append(entry);
    while (at < lines.length && isBlank(lines[at]) && itemOf(lines[at + 1] || "")) at += 1;
  }
  into.append(node);
  return at;
}

function paragraph(lines, at, into) {
  const found = [lines[at]];
  for (at += 1; at < lines.length; at += 1) {
    const line = lines[at];
    if (isBlank(line) || headingOf(line) || isFence(line) || isHtmlTable(line) || itemOf(line)) break;
    found.push(line);
  }
  into.append(inline(found.join("\n"), make("p"), 0));
  return at;
}

// Emphasis, code, links, formulas. `absent`: marks without a partner from here on, so that no mark is searched for twice.
function inline(text, into, depth) {
  if (depth > DEEPEST || text.length > LONGEST_INLINE) { into.append(text); return into; }
  const absent = new Set();
  const find = (mark, from) => {
    if (absent.has(mark)) return -1;
    const found = text.indexOf(mark, from);
    if (found < 0) absent.add(mark);
    return found;
  };
  let plain = "", at = 0;
  const flush = () => { if (plain) into.append(plain); plain = ""; };
  while (at < text.length) {
    const one = text[at];
    const made = one === "\\" || one === "\n" ? null : span(text, at, find, depth);
    if (made) { flush(); if (made.node) into.append(made.node); at = made.end; continue; }
    if (one === "\\" && ESCAPED.test(text[at + 1] || "")) { plain += text[at + 1]; at += 2; continue; }
    if (one === "\n") { if (plain.endsWith("  ")) { flush(); into.append(make("br")); } else plain += "\n"; at += 1; continue; }
    plain += one;
    at += 1;
  }
  flush();
  return into;
}

function span(text, at, find, depth) {
  const one = text[at];
  if (one === "`") {
    const end = find("`", at + 1);
    return end > at + 1 ? { node: make("code", {}, text.slice(at + 1, end)), end: end + 1 } : null;
  }
  if (one === "$") {
    const end = find("$", at + 1);
    return end > at + 1 && text[at + 1] !== " " && text[end - 1] !== " " ? { node: make("span", { class: "formula" }, text.slice(at + 1, end)), end: end + 1 } : null;
  }
  if (one === "[" || (one === "!" && text[at + 1] === "[")) return link(text, at, find, depth);
  if (one === "<") return tag(text, at, find, depth);
  if (one !== "*" && one !== "_" && one !== "~") return null;
  for (const [mark, name] of PAIRS) {
    if (!text.startsWith(mark, at)) continue;
    const inWord = one === "_" && ALNUM.test(text[at - 1] || " ");
    const begin = at + mark.length;
    if (inWord || !text[begin] || /\s/.test(text[begin])) return null;
    const end = find(mark, begin);
    if (end <= begin || /\s/.test(text[end - 1])) return null;
    if (one === "_" && ALNUM.test(text[end + mark.length] || " ")) return null;
    return { node: inline(text.slice(begin, end), make(name), depth + 1), end: end + mark.length };
  }
  return null;
}

function link(text, at, find, depth) {
  const image = text[at] === "!";
  const begin = at + (image ? 2 : 1);
  if (find(")", begin) < 0) return null; // else "](" far away would be searched for at each "["
  const middle = find("](", begin);
  if (middle < 0) return null;
  const end = find(")", middle);
  if (end < 0) return null;
  const label = text.slice(begin, middle);
  if (label.includes("\n\n")) return null;
  if (image) return { node: label ? make("span", { class: "figure" }, label) : null, end: end + 1 };
  const url = safeUrl(text.slice(middle + 2, end).trim().split(/\s/)[0]);
  const node = url ? make("a", { href: url, rel: "noopener noreferrer nofollow", target: "_blank" }) : make("span");
  return { node: inline(label, node, depth + 1), end: end + 1 };
}

function tag(text, at, find, depth) {
  const match = /^<(\/?)([a-z]{1,6})\s{0,3}\/?>/i.exec(text.slice(at, at + 14));
  if (!match) return null;
  const name = match[2].toLowerCase();
  if (name === "br") return { node: make("br"), end: at + match[0].length };
  if (match[1] || !(name in TAGS)) return null;
  const begin = at + match[0].length;
  const end = find(`</${name}>`, begin);
  if (end < 0) return null;
  return { node: inline(text.slice(begin, end), make(TAGS[name]), depth + 1), end: end + name.length + 3 };
}
