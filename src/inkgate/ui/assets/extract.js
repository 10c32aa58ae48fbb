// The view "Extract": fields of a document beside its page, with confidence, checks, alternatives and corrections.
import { $, make, icon, tabs, plain, sizeOf, save, stem, announce, redraw } from "./dom.js";
import { word, known, percent, mayPass, onLanguage, session, titleOf, typeName } from "./words.js";
import { againButton, get, linesOf, Problem, problemBox, request, toldOf, upload } from "./api.js";
import { Viewer } from "./viewer.js";
import { Doc, ensurePictures, Reading, service, tooLarge } from "./documents.js";
import { blobOf, keepBlob } from "./jobs.js";
import { drawTotal, fill, keeper, takeSample } from "./read.js";
import { Edited, pathsOf, shownValue } from "./fields.js";
import { ItemsTable } from "./items.js";
import { drawSheet, saveSheet } from "./sheet.js";

const PLACE = "inkgate-extract-place", WANTED = "inkgate-extract-wanted";
const WAYS = { type: "extract-type", names: "extract-names", schema: "extract-schema" };
const BAD = new Set(["invalid", "conflict", "ungrounded"]);
const SCHEMA_EXAMPLE = `{"type": "object", "properties": {
  "total": {"type": "number"},
  "date": {"type": "string", "format": "date"}
}}`;

let docs = [];
let selected = null;
let allShown = false; // the table of all documents
let pageAt = 0;
let way = "type";
let types = new Map(); // paths of the known document types
let tables = []; // of the selected document's arrays
let viewer, extracting;

class Extracting extends Reading {
  async read(doc, signal) {
    doc.answer = doc.fields = null;
    await this.send(doc, signal);
    doc.status = "reading";
    this.onChange(doc);
    take(doc, await (await this.ask(doc, "extract", doc.options, signal)).json());
  }

  async readJob(doc, signal) {
    doc.status = "reading";
    this.onChange(doc);
    const found = await request("GET", `v1/jobs/${doc.job}/fields`, { signal });
    const pages = [];
    for await (const line of linesOf(await request("GET", `v1/jobs/${doc.job}/pages`, { signal }))) {
      if ("index" in line) pages.push({ index: line.index, width: line.width, height: line.height, rotation: line.rotation });
    }
    takeOfJob(doc, found, { ...await found.json(), pages });
  }
}

// The fields of a job, with the corrections that were kept. Its ETag goes back with a correction, so that none of another person is lost.
function takeOfJob(doc, response, answer) {
  take(doc, answer);
  doc.etag = response.headers.get("etag") || "*";
}

function take(doc, answer, kept = null) {
  doc.answer = answer;
  doc.fields = new Edited(answer, schemaPaths(doc), kept);
  doc.pages = answer.pages || [];
  doc.count = doc.pages.length;
  doc.status = "done";
}

function schemaPaths(doc) {
  try { if (doc.options && doc.options.schema) return pathsOf(JSON.parse(doc.options.schema)); } catch { /* the service refuses it */ }
  return types.get(doc.answer.document_type) || [];
}

export function startExtract() {
  extracting = new Extracting(changed);
  viewer = new Viewer($("field-viewer"), (path) => pick(path, false));
  const showWay = tabs($("extract-ways"), (name) => { way = name; noteWanted(); });
  const before = stored(WANTED);
  for (const id of [WAYS.names, WAYS.schema]) $(id).value = before[id] || "";
  if (before.way in WAYS) showWay(before.way);
  for (const id of Object.values(WAYS)) $(id).addEventListener("change", noteWanted);
  $("extract-schema").placeholder = SCHEMA_EXAMPLE;
  $("extract-choose").addEventListener("click", () => $("extract-input").click());
  $("extract-input").addEventListener("change", (event) => { takeForFields(event.target.files); event.target.value = ""; });
  $("extract-sample").addEventListener("click", () => takeSample("receipt.png", (files) => { $("extract-type").value = ""; takeForFields(files); }));
  $("extract-again").addEventListener("click", () => run(selected));
  $("extract-all").addEventListener("click", () => select(null, true));
  $("extract-forget").addEventListener("click", removeAll);
  $("forget").addEventListener("click", removeAll);
  $("fields-json").addEventListener("click", () => save(stem(selected.name) + ".fields.json", "application/json", JSON.stringify(selected.fields.result(), null, 2)));
  for (const format of ["csv", "xlsx"]) {
    $("fields-" + format).addEventListener("click", (event) => saveSheet([selected], format, stem(selected.name) + ".fields", event.currentTarget));
    $("sheet-" + format).addEventListener("click", (event) => saveSheet(docs, format, "fields", event.currentTarget));
  }
  $("sheet-json").addEventListener("click", () => save("fields.json", "application/json", JSON.stringify(docs.filter((doc) => doc.fields).map((doc) => ({ file: doc.name, ...doc.fields.result() })), null, 2)));
  $("field-before").addEventListener("click", () => goTo(pageAt - 1));
  $("field-after").addEventListener("click", () => goTo(pageAt + 1));
  $("fields-save").addEventListener("click", () => (selected.job ? saveCorrections() : review(selected)));
  addEventListener("pagehide", () => { const input = document.activeElement; if (input && input.matches("#fields-panel .value")) input.dispatchEvent(new Event("change")); }, { capture: true });
  onLanguage(() => { fillTypes(); drawDocs(); drawAnswer(); });
}

function stored(name) { try { return JSON.parse(session.get(name) || "{}"); } catch { return {}; } }

function noteWanted() {
  if (selected && selected.problem) drawAnswer();
  session.set(WANTED, JSON.stringify({ way, ...Object.fromEntries(Object.values(WAYS).map((id) => [id, $(id).value])) }));
}

function notePlace() { session.set(PLACE, JSON.stringify({ id: selected ? selected.id : "", all: allShown, pageAt })); }

// Forgets what was asked for, which may say as much as a document.
export function forgetWanted() { for (const name of [PLACE, WANTED]) session.set(name, ""); }

// The types of documents that the service knows.
export async function learnTypes() {
  types = new Map((await get("document-types")).types.map(({ name, fields }) => [name, fields]));
  fillTypes();
  const before = stored(WANTED)[WAYS.type];
  if (types.has(before)) $("extract-type").value = before;
  for (const doc of docs) if (doc.fields) take(doc, doc.answer, doc.fields.toJSON());
  drawAnswer();
}

function fillTypes() { fill($("extract-type"), [["", word("type_auto")], ...[...types.keys()].map((name) => [name, typeName(name)])]); }

// What a reload keeps of a document's fields.
const stateToKeep = (doc) => (doc.answer ? [{ answer: doc.answer, edits: doc.fields, etag: doc.etag }] : []);

// The documents that this tab had before a reload. Those that were not read to the end are read again.
export function restoreFields(rows) {
  if (!rows.length) return;
  const place = stored(PLACE), found = rows.map(({ pages: [state], ...row }) => {
    const doc = Doc.restored({ ...row, pages: [] });
    if (!state) return doc;
    const unsaved = keeper().unsavedOf(doc.id).at(-1);
    take(doc, state.answer, (unsaved && unsaved.correction) || state.edits);
    doc.etag = state.etag;
    if (unsaved) keeper().put(doc.row(), doc.blob, stateToKeep(doc));
    return doc;
  });
  docs.unshift(...found);
  if (!selected && !allShown) select(place.all ? null : found.find((doc) => doc.id === place.id) || found.at(-1), Boolean(place.all), place.pageAt);
  else drawDocs();
  for (const doc of found) if (!doc.ended) extracting.add(doc, doc.options);
}

function wanted() {
  if (way === "names") return { fields: $("extract-names").value.replaceAll("，", ",").replaceAll("\n", ",").trim() };
  if (way === "schema") return { schema: $("extract-schema").value.trim() };
  return $("extract-type").value ? { type: $("extract-type").value } : {};
}

function faultOf({ fields, schema }) {
  if (fields === "") return word("extract_no_names");
  if (schema === undefined) return "";
  try { return typeof JSON.parse(schema) === "object" ? "" : word("extract_no_schema"); } catch { return word("extract_no_schema"); }
}

// Several documents at once are shown as one table, one beside its page.
export function takeForFields(list) {
  if ($("extract-later").checked && service.jobs) { addFieldJobs(list); return; }
  const fresh = [...list].filter((file) => file.size > 0 || file.type).map((file) => new Doc(file, file.name || "image.png", "extract"));
  if (!fresh.length) return;
  docs.push(...fresh);
  if (fresh.length > 1) select(null, true);
  else if (!allShown && (!selected || selected.ended)) select(fresh[0]);
  fresh.forEach(run);
}

function run(doc) {
  const options = wanted(), fault = faultOf(options);
  $("extract-fault").textContent = fault;
  if (!fault) extracting.add(doc, options);
  else if (doc.status === "queued") { doc.status = "stopped"; changed(doc); }
}

// Adds a job for each file. Those whose fields are uncertain come to the review queue.
async function addFieldJobs(list) {
  const extract = wanted(), fault = faultOf(extract);
  $("extract-fault").textContent = fault;
  if (fault) return;
  for (const file of [...list].filter((each) => each.size > 0 || each.type)) {
    const doc = new Doc(file, file.name || "image.png");
    try {
      const large = tooLarge(doc);
      if (large) throw new Problem(large);
      const id = await upload(file, doc.name, { signal: new AbortController().signal, onPercent: () => {} });
      const job = await (await request("POST", "v1/jobs", { json: { source: { file_id: id }, name: doc.name, task: "parse", extract } })).json();
      keepBlob(job.id, file);
      announce(word("jobs_added", { count: 1 }));
      $("extract-fault").textContent = "";
    } catch (error) { $("extract-failure").append(problemBox(toldOf(error), doc.name)); }
  }
  showReviews();
}

// The caller's jobs that wait for somebody to look at their fields, and those that are still read.
export async function showReviews() {
  clearTimeout(reviewsDue);
  if (!service.jobs || $("extract").hidden) return;
  const found = await get("v1/jobs?limit=50&review=needs_review&review=waiting").catch(() => ({ jobs: [] }));
  const jobs = found.jobs.filter((job) => job.review === "needs_review" || job.review === "waiting");
  $("review-queue").hidden = !jobs.length;
  $("extract").classList.toggle("empty", !docs.length && !jobs.length);
  $("review-jobs").replaceChildren(...jobs.map((job) => make("li", { class: "file " + (job.review === "waiting" ? "" : "partial") },
    make("button", { type: "button", class: "file-name", title: plain(job.name), disabled: job.review === "waiting", onclick: () => reviewJob(job) },
      make("span", { class: "name" }, plain(job.name)), make("span", { class: "state small" }, word(job.review === "waiting" ? "job_" + job.state : "extraction_needs_review"))))));
  if (jobs.some((job) => job.review === "waiting")) reviewsDue = setTimeout(showReviews, 2000);
}
let reviewsDue = 0;

// Opens a job's fields for review, beside its pictures.
export function reviewJob(job) {
  let doc = docs.find((each) => each.job === job.id);
  if (!doc) { doc = Doc.ofJob(job, blobOf(job.id), "extract"); docs.push(doc); }
  if (!doc.answer) extracting.add(doc, {});
  select(doc);
}

function changed(doc) {
  $("extract").classList.toggle("empty", !docs.length);
  drawDocs();
  if (!docs.includes(doc)) return; // it was removed while it was read
  if (doc.ended || doc.status === "queued") keeper().put(doc.row(), doc.blob, doc.ended ? stateToKeep(doc) : []);
  if (doc !== selected) return;
  drawAnswer();
  if (doc.ended) announce(`${doc.name}: ${stateOf(doc)}`);
  if (doc.answer && window.innerWidth < 760) $("fields-panel").scrollIntoView({ block: "start" });
}

function select(doc, all = false, page = 0) {
  selected = doc;
  allShown = all;
  pageAt = page || 0;
  notePlace();
  $("extract").classList.toggle("empty", !docs.length);
  drawDocs();
  drawAnswer();
}

const stateOf = (doc) => (doc.answer ? word("extraction_" + (doc.answer.review === "reviewed" ? "reviewed" : doc.answer.status)) : doc.stateText());

const needsReview = (doc) => doc.answer && doc.answer.status === "needs_review" && doc.answer.review !== "reviewed";

function drawDocs() {
  redraw($("extract-files"), docs.map((doc) => make("li", { class: "file " + (needsReview(doc) ? "partial" : doc.status) + (doc === selected ? " current" : "") },
    make("button", { type: "button", class: "file-name", "data-key": doc.id, "aria-current": doc === selected ? "true" : null, title: doc.name, onclick: () => select(doc) },
      make("span", { class: "name" }, doc.name), make("span", { class: "state small" }, [doc.size ? sizeOf(doc.size) : "", stateOf(doc)].filter(Boolean).join(" · "))),
    make("button", { type: "button", class: "quiet square", "data-key": doc.id + "x", "aria-label": word("remove", { name: doc.name }), onclick: () => remove(doc) }, icon("close")))));
  const read = docs.filter((doc) => doc.fields).length, failed = docs.filter((doc) => doc.status === "failed").length;
  drawTotal($("extract-total"), docs.length, read, failed, extracting.busy);
  $("extract-all").hidden = docs.length < 2;
  $("extract-all").setAttribute("aria-pressed", String(allShown));
  $("extract-forget").hidden = !docs.length;
  $("extract-sheet").hidden = !allShown || !docs.length;
  if (!allShown) return;
  drawSheet(docs, stateOf, (doc, path) => { select(doc); if (path) pick(path); });
  for (const id of ["sheet-csv", "sheet-xlsx", "sheet-json"]) $(id).disabled = !read;
}

function remove(doc) {
  extracting.stop(doc);
  doc.pictures.release();
  keeper().drop(doc.id);
  docs = docs.filter((each) => each !== doc);
  if (doc === selected || docs.length < 2) select(docs.at(-1) || null); else drawDocs();
}

function removeAll() {
  [...docs].forEach(remove);
  $("extract-kept-not").hidden = true;
}

function drawAnswer() {
  const doc = selected, answer = doc && doc.answer;
  $("extract-columns").hidden = !answer;
  $("extract-pending").hidden = !doc || doc.ended;
  $("extract-pending").textContent = doc ? `${doc.name}: ${doc.stateText()}` : "";
  const again = doc && doc.problem && (mayPass(doc.problem.code) || JSON.stringify(wanted()) !== JSON.stringify(doc.options));
  $("extract-failure").replaceChildren(...(doc && doc.problem ? [problemBox(doc.problem, doc.name, ...(again ? [againButton(() => run(doc))] : []))] : []));
  $("extract-again").hidden = !doc || !doc.ended || Boolean(doc.job);
  if (!answer) return;
  $("extract-name").textContent = doc.name;
  $("extract-kind").textContent = answer.document_type ? typeName(answer.document_type) : "";
  drawVerdict();
  $("fields-list").replaceChildren(...doc.fields.single.map(fieldNode));
  tables = doc.fields.arrays.filter((array) => array.columns.length).map((array) => new ItemsTable({
    edited: doc.fields, array, titleOf, cellState: stateOfField, onPick: (path) => pick(path, true, false), onChange: (path) => { if (path) kept(); else { kept(); drawPage(); } } }));
  $("fields-arrays").replaceChildren(...tables.map((table) => table.node));
  $("checks").replaceChildren(...answer.checks.map(checkNode));
  $("checks-title").hidden = !answer.checks.length;
  drawPage();
}

// After a correction.
function kept() {
  keeper().putPage(selected.row(), stateToKeep(selected)[0], 0, selected.fields.toJSON());
  drawVerdict();
}

function drawVerdict() {
  const { answer } = selected;
  $("extract-verdict").textContent = verdictOf(answer, selected);
  $("extract-verdict").className = "verdict " + (needsReview(selected) ? "warn" : "good");
  $("fields-save").hidden = !selected.job && !needsReview(selected);
}

function verdictOf(answer, doc) {
  if (answer.review === "reviewed") return word("verdict_reviewed");
  if (answer.status === "complete") return word("verdict_complete");
  if (!answer.document_type && !Object.keys(answer.fields).length) return word("verdict_no_type");
  const left = doc.fields.paths.filter((path) => ["field-uncertain", "field-bad"].includes(stateOfField(path).kind)).length;
  if (left) return word("verdict_review", { count: left });
  return word(doc.fields.changed || doc.fields.saved.size ? "verdict_corrected" : "verdict_review_all");
}

// A person has looked at the document.
function review(doc) {
  doc.answer.review = "reviewed";
  kept();
  drawDocs();
  announce(word("verdict_reviewed"));
}

const checkText = (check) => (known("check_" + check.code) ? word("check_" + check.code) : check.code.replaceAll("_", " "));

// What a field's state is, for people: {kind: its colour, badge, text}. A confidence is shown where it is what the state means.
function stateOfField(path) {
  const { fields, answer } = selected, field = fields.field(path), status = fields.status(path);
  const told = known("field_" + status) ? word("field_" + status) : status;
  const failed = answer.checks.filter((check) => !check.passed && check.fields.includes(path)).map(checkText);
  const why = failed.length ? word("fails", { checks: failed.join("; ") }) : "";
  const of = (kind, badge = told, text = why) => ({ kind, badge, text: text || badge });
  if (status === "corrected") return of("field-found", told, "");
  if (status === "found") return of("field-found", `${told} ${percent(field.confidence)}`, "");
  if (status === "not_found" || status === "not_supported") return of(failed.length ? "field-bad" : "field-absent", told);
  if (BAD.has(status)) return of("field-bad");
  if (field.confidence !== null && field.confidence >= service.minConfidence) return of("field-uncertain", word(field.alternatives.length ? "field_readings" : "field_unclear"), field.alternatives.length ? "" : word("field_unclear_why"));
  return of("field-uncertain", `${told} ${percent(field.confidence)}`);
}

function fieldNode(path, index) {
  const { fields } = selected, id = "value-f" + index, title = titleOf(path);
  const input = make("input", { class: "value", id, "aria-label": title, placeholder: (fields.field(path) || {}).text, autocomplete: "off", spellcheck: "false" });
  const node = make("li", { "data-id": path, onclick: () => pick(path) }, make("label", { for: id, class: "field-title" }, title), input);
  const show = () => showField(node, input, path);
  input.addEventListener("focus", () => pick(path, true, false));
  input.addEventListener("change", () => { fields.type(path, input.value); show(); kept(); });
  input.addEventListener("keydown", (event) => { if (event.key === "Enter") input.blur(); });
  node.show = show;
  show();
  return node;
}

// Draws all of a field but its input, which may have the focus.
function showField(node, input, path) {
  const { fields } = selected, state = stateOfField(path), field = fields.field(path) || { text: null, alternatives: [] };
  node.className = "field " + state.kind + (node.classList.contains("picked") ? " picked" : "");
  input.value = shownValue(fields.value(path));
  const others = field.alternatives.map((text) => make("button", { type: "button", class: "chip", onclick: (event) => { event.stopPropagation(); fields.type(path, text); node.show(); kept(); input.focus(); } }, text));
  const status = fields.status(path), printed = status !== "corrected" && field.text !== null && field.text !== undefined && shownValue(field.value) !== field.text;
  while (input.nextSibling) input.nextSibling.remove();
  node.append(make("span", { class: "state-of" }, make("span", { class: "badge " + status }, state.badge)),
    make("div", { class: "notes-of small" }, state.kind === "field-bad" || state.kind === "field-uncertain" ? (state.text === state.badge ? "" : make("p", {}, state.text)) : "",
      printed ? make("p", { class: "faint" }, word("as_printed", { text: field.text.slice(0, 300) })) : "",
      others.length ? make("p", { class: "row" }, word("alternatives"), others) : ""));
}

function checkNode(check) {
  const rowless = (path) => path.replace(/\/\d+(?=\/|$)/g, ""); // a check of all items is about many paths
  const paths = [...new Set(check.fields.map((path) => titleOf(check.fields.length > 4 ? rowless(path) : path)))].join(", ");
  return make("li", { class: "check-line " + (check.passed ? "good" : "bad") }, icon(check.passed ? "check" : "close"),
    make("div", {}, make("b", {}, word(check.passed ? "check_passed" : "check_failed")), " ", checkText(check), make("div", { class: "small faint" }, [paths, check.detail].filter(Boolean).join(": "))));
}

// Lights up a field and where it stands.
function pick(path, showPage = true, scroll = true) {
  for (const node of document.querySelectorAll("#fields-panel .picked")) node.classList.remove("picked");
  const node = [...document.querySelectorAll("#fields-panel [data-id]")].find((each) => each.dataset.id === path);
  if (!node) return;
  node.classList.add("picked");
  if (scroll) node.scrollIntoView({ block: "nearest" });
  const { sources = [] } = selected.fields.field(path) || {};
  const place = sources.length ? selected.pages.findIndex((page) => page.index === sources[0].page) : -1;
  if (showPage && place >= 0 && place !== pageAt) { goTo(place, path); return; }
  viewer.pick(path, showPage);
}

function goTo(place, path) {
  pageAt = Math.min(Math.max(0, place), Math.max(0, selected.pages.length - 1));
  notePlace();
  drawPage().then(() => { if (path) viewer.pick(path); });
}

async function drawPage() {
  const doc = selected, page = doc.pages[pageAt];
  $("field-pager").hidden = doc.pages.length < 2;
  if (!page) return;
  $("field-where").textContent = word("page_of", { page: page.index + 1, count: doc.pages.length });
  $("field-before").disabled = pageAt <= 0;
  $("field-after").disabled = pageAt >= doc.pages.length - 1;
  await ensurePictures(doc).catch(() => {});
  if (doc !== selected) return;
  const boxes = doc.fields.paths.flatMap((path) => ((doc.fields.field(path) || {}).sources || []).filter((source) => source.page === page.index).slice(0, 1).map((source) => {
    const state = stateOfField(path);
    return { id: path, box: source.box, kind: state.kind, tip: `${titleOf(path)}: ${shownValue(doc.fields.value(path))} · ${state.badge}` };
  }));
  await viewer.show({ pictures: doc.pictures, index: page.index, rotation: page.rotation, width: page.width, height: page.height, pages: doc.pages.length, name: doc.name }, boxes,
    ["found", "uncertain", "bad"].map((name) => ["field-" + name, word("legend_" + name)]));
}

// Corrections of a job's fields go to the service.
async function saveCorrections() {
  const doc = selected, before = JSON.stringify(doc.fields);
  try {
    const answer = await request("PATCH", `v1/jobs/${doc.job}/fields`, { json: { fields: doc.fields.changes(), reviewed: true }, headers: { "If-Match": doc.etag } });
    const saved = await answer.json(), now = JSON.stringify(doc.fields) === before ? null : doc.fields.result().data;
    takeOfJob(doc, answer, { ...saved, pages: doc.pages });
    if (now) doc.fields.become(now); // made while the others were saved
    announce(word("fields_saved"));
    changed(doc);
    showReviews();
  } catch (error) {
    const reload = make("button", { type: "button", class: "second", id: "extract-reload", onclick: () => { extracting.add(doc, {}); showReviews(); } }, icon("again"), word("fields_reload"));
    $("extract-failure").replaceChildren(problemBox(toldOf(error), doc.name, reload));
  }
}
