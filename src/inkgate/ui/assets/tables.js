// Tables: from a model's HTML by a strict parser, from the cells of a result, and as CSV.
import { make } from "./dom.js";

const MAX_SPAN = 200;
const MAX_PLACES = 1_000_000; // of a table as CSV
const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0" };

export function decoded(text) {
  if (!text.includes("&")) return text;
  return text.replace(/&(#x?[0-9a-f]{1,6}|[a-z]{2,6});/gi, (whole, name) => {
    if (name[0] !== "#") return ENTITIES[name.toLowerCase()] ?? whole;
    const code = /^#x/i.test(name) ? parseInt(name.slice(2), 16) : parseInt(name.slice(1), 10);
    return code > 31 && code < 0x110000 && !(code >= 0xd800 && code < 0xe000) ? String.fromCodePoint(code) : "";
  });
}

const span = (attributes, name) => {
  const match = new RegExp(`\\b${name}\\s{0,3}=\\s{0,3}["']?(\\d{1,3})`, "i").exec(attributes.slice(0, 300));
  return match ? Math.min(Math.max(1, Number(match[1])), MAX_SPAN) : 1;
};

// Numbers, amounts, percentages, dates and times: digits with their signs, and a short unit or currency.
const NUMBER = /^[(\[]?\s?[-+\u2212\u2013\u00b1~<>\u2264\u2265]?\s?(?:[A-Z]{3}\s)?[\p{Sc}]?\s?[-\u2212]?[.,]?\d[\d\s.,:/'\u2019\u00d7\u00b1()\u2013\u2212-]{0,40}\s?(?:[%\u2030\u00b0\p{Sc}*\u2020]|[\p{L}\u00b5]{1,3})?\s?[)\]]?[*\u2020]?$/u;
const EMPTY = /^(?:[-\u2010-\u2015\u2212.\u2026\s]*|n\/?a)$/i;
const LONG_TEXT = 24; // characters of a cell that gets room for several words in a line

export const isNumber = (text) => text.length <= 60 && NUMBER.test(text);

// Numbers stay in one line, and stand at the right in columns that hold little else. The first row counts as a head.
export function alignNumbers(table) {
  const counts = [], reach = [], cells = []; // by column: numbers less texts; the first row that no cell above reaches
  for (const [y, row] of [...table.rows].entries()) {
    let x = 0;
    for (const cell of row.cells) {
      while (reach[x] > y) x += 1;
      const text = cell.textContent.trim(), number = isNumber(text), head = y === 0 || cell.tagName === "TH";
      if (number) cell.classList.add("number");
      else if (text.length > LONG_TEXT) cell.classList.add("long");
      if (x === 0 && cell.colSpan === 1) cell.classList.add("first"); // stays in sight while the table scrolls
      if (cell.colSpan === 1) cells.push({ cell, x, goes: head || number || EMPTY.test(text) });
      if (cell.colSpan === 1 && !head && !EMPTY.test(text)) counts[x] = (counts[x] || 0) + (number ? 1 : -2);
      for (const end = x + cell.colSpan; x < end; x += 1) reach[x] = y + cell.rowSpan;
    }
  }
  for (const { cell, x, goes } of cells) if (goes && counts[x] > 0) cell.classList.add("at-end");
  return table;
}

// The first table in `html`; null if there is none. Only rows, cells and their spans are taken; all else is text.
export function tableOf(html) {
  const body = make("tbody");
  let row = null, cell = null, at = 0, rows = 0;
  const write = (text) => { if (cell && text) cell.append(decoded(text)); };
  while (at < html.length) {
    const begin = html.indexOf("<", at);
    if (begin < 0) { write(html.slice(at)); break; }
    write(html.slice(at, begin));
    const name = /^<(\/?)([a-z][a-z0-9]{0,9})/i.exec(html.slice(begin, begin + 14));
    const end = name ? html.indexOf(">", begin) : -1;
    if (end < 0) { write("<"); at = begin + 1; if (name) { write(html.slice(at)); break; } continue; }
    const tag = name[2].toLowerCase(), closes = name[1] === "/", attributes = html.slice(begin, Math.min(end, begin + 400));
    if (tag === "tr") { row = cell = null; if (!closes) { row = make("tr"); body.append(row); rows += 1; } }
    else if (tag === "td" || tag === "th") {
      cell = null;
      if (!closes) {
        if (!row) { row = make("tr"); body.append(row); rows += 1; }
        cell = make(tag);
        const columns = span(attributes, "colspan"), down = span(attributes, "rowspan");
        if (columns > 1) cell.colSpan = columns;
        if (down > 1) cell.rowSpan = down;
        row.append(cell);
      }
    } else if (tag === "br") { if (cell) cell.append(make("br")); }
    else if (tag === "table" && closes) break;
    else if (!["table", "thead", "tbody", "tfoot", "p", "div", "span", "b", "i", "strong", "em", "html", "body", "caption", "sup", "sub"].includes(tag)) write(html.slice(begin, end + 1));
    at = end + 1;
  }
  return rows ? alignNumbers(make("table", {}, body)) : null;
}

// A table of a result. `one(cell, node, place)` is called for each cell.
export function tableFromCells(table, one) {
  const rows = new Map();
  for (const [place, cell] of table.cells.entries()) {
    if (!rows.has(cell.row)) rows.set(cell.row, []);
    rows.get(cell.row).push([place, cell]);
  }
  const head = make("thead"), body = make("tbody");
  for (const [, cells] of [...rows].sort(([a], [b]) => a - b)) {
    cells.sort(([, a], [, b]) => a.column - b.column);
    const isHead = !body.childElementCount && cells.every(([, cell]) => cell.header);
    (isHead ? head : body).append(make("tr", {}, cells.map(([place, cell]) => {
      const node = make(cell.header ? "th" : "td", { colspan: cell.column_span > 1 ? cell.column_span : null, rowspan: cell.row_span > 1 ? cell.row_span : null }, cell.text);
      one(cell, node, place);
      return node;
    })));
  }
  return alignNumbers(make("table", {}, head.childElementCount ? head : null, body));
}

const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
export const csvOf = (rows) => rows.map((row) => row.map((value) => quoted(String(value ?? ""))).join(",")).join("\r\n") + "\r\n";

export function csvOfCells(table) {
  const rows = Array.from({ length: table.rows }, () => Array(table.columns).fill(""));
  for (const cell of table.cells) if (rows[cell.row]) rows[cell.row][cell.column] = cell.text;
  return csvOf(rows);
}

// As it is shown; a spanning cell has its text in its first place. In a table of too many places, spans are left out.
export function csvOfElement(table) {
  const rows = [];
  const taken = new Set();
  let places = 0;
  for (const row of table.rows) for (const cell of row.cells) places += cell.rowSpan * cell.colSpan;
  if (places > MAX_PLACES) return csvOf([...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent.trim())));
  [...table.rows].forEach((row, y) => {
    rows[y] ||= [];
    let x = 0;
    for (const cell of row.cells) {
      while (taken.has(y + ":" + x)) x += 1;
      rows[y][x] = cell.textContent.trim();
      for (let down = 0; down < cell.rowSpan; down += 1) for (let right = 0; right < cell.colSpan; right += 1) taken.add(y + down + ":" + (x + right));
      x += cell.colSpan;
    }
  });
  const width = rows.reduce((most, row) => Math.max(most, row.length), 0);
  const padded = width * rows.length <= MAX_PLACES;
  return csvOf(rows.map((row) => Array.from({ length: padded ? width : row.length }, (_, x) => row[x] || "")));
}
