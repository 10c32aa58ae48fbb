// All documents of the view "Extract" as one table, and its downloads: the same table as `inkgate extract -f csv` and `-f xlsx` write.
import { $, make, save, announce, redraw } from "./dom.js";
import { word, known, number, titleOf, typeName } from "./words.js";
import { problemBox, request, toldOf } from "./api.js";
import { shownValue } from "./fields.js";

const TYPES = { csv: "text/csv", xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" };

const SURE = new Set(["found", "corrected", "not_found"]);

const rowOf = (doc) => {
  const answer = doc.fields.result();
  return { file: doc.name, document_type: answer.document_type || "", status: answer.review === "reviewed" ? "reviewed" : answer.status, data: answer.data, kinds: doc.fields.kinds() };
};

// Saves the fields of documents as one file.
export async function saveSheet(docs, format, name, button) {
  const rows = docs.filter((doc) => doc.fields).map(rowOf);
  button.disabled = true;
  try {
    const answer = await request("POST", `ui/api/fields?format=${format}`, { json: rows });
    save(`${name}.${format}`, TYPES[format], await answer.blob());
    announce(word("downloaded", { name: `${name}.${format}` }));
  } catch (error) { $("extract-failure").replaceChildren(problemBox(toldOf(error))); } finally { button.disabled = false; }
}

export function drawSheet(docs, stateOf, open) {
  const read = docs.filter((doc) => doc.fields);
  const paths = [...new Set(read.flatMap((doc) => doc.fields.single))], arrays = [...new Set(read.flatMap((doc) => doc.fields.arrays.map((array) => array.path)))];
  const columns = paths.filter((path) => read.some((doc) => shownValue(doc.fields.value(path)) !== ""));
  const title = (path) => make("th", { scope: "col" }, titleOf(path));
  $("sheet-head").replaceChildren(make("tr", {}, make("th", { scope: "col" }, word("document")), make("th", { scope: "col" }, word("job_state")), make("th", { scope: "col" }, word("way_type")),
    columns.map(title), arrays.map(title)));
  redraw($("sheet-rows"), docs.map((doc) => make("tr", {},
    make("th", { scope: "row" }, make("button", { type: "button", class: "link name", "data-key": doc.id, title: doc.name, onclick: () => open(doc) }, doc.name)),
    make("td", {}, make("span", { class: "badge " + badgeOf(doc) }, stateOf(doc))),
    make("td", {}, doc.fields && (doc.answer.document_type || !doc.fields.paths.length) ? typeName(doc.answer.document_type) : ""),
    columns.map((path) => cell(doc, path, open)),
    arrays.map((path) => rowsCell(doc, path, open)))));
}

const badgeOf = (doc) => (doc.status === "failed" ? "bad" : !doc.fields ? "" : doc.answer.status === "complete" || doc.answer.review === "reviewed" ? "good" : "warn");

function cell(doc, path, open) {
  if (!doc.fields || !doc.answer.fields[path]) return make("td", {});
  const field = doc.answer.fields[path], status = doc.fields.status(path), text = shownValue(doc.fields.value(path)).slice(0, 200);
  if (!SURE.has(status)) return doubted(doc, path, text || word("field_" + status), open);
  return make("td", { class: field.kind === "money" || field.kind === "number" ? "numeral" : null, title: text }, text);
}

// How many rows an array has.
function rowsCell(doc, path, open) {
  const array = doc.fields && doc.fields.arrays.find((each) => each.path === path);
  if (!array) return make("td", {});
  const doubt = doc.fields.paths.find((each) => each.startsWith(path + "/") && !SURE.has(doc.fields.status(each)));
  return doubt ? doubted(doc, doubt, number(array.rows.length), open) : make("td", { class: "numeral" }, number(array.rows.length));
}

function doubted(doc, path, text, open) {
  const status = doc.fields.status(path);
  return make("td", { class: "doubted" }, make("button", { type: "button", class: "link", "data-key": doc.id + path, title: [text, known("field_" + status) ? word("field_" + status) : status].join(": "), onclick: () => open(doc, path) }, text));
}
