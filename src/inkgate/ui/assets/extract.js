// The view "Extract": fields of a document beside its page, with confidence, checks, alternatives and corrections.
import { $, make, icon, tabs, plain, sizeOf, save, stem, announce } from "./dom.js";
import { word, known, percent, onLanguage } from "./words.js";
import { againButton, get, linesOf, Problem, problemBox, request, toldOf, upload } from "./api.js";
import { Viewer } from "./viewer.js";
import { Doc, ensurePictures, Reading, service, tooLarge } from "./documents.js";
import { blobOf, keepBlob } from "./jobs.js";
import { fill, takeSample } from "./read.js";
import { csvOf } from "./tables.js";

const DEFAULT_TYPE = "receipt";
const BAD = new Set(["invalid", "conflict", "ungrounded", "not_found", "not_supported"]);
const SCHEMA_EXAMPLE = `{"type": "object", "properties": {
  "total": {"type": "number"},
  "date": {"type": "string", "format": "date"}
}}`;

let docs = [];
let selected = null;
let pageAt = 0;
let way = "type";
let viewer, extracting;

class Extracting extends Reading {
  async read(doc, signal) {
    doc.answer = null;
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
  for (const correction of answer.corrections) for (const [path, value] of Object.entries(correction.fields)) if (path in answer.fields) doc.corrected.set(path, value);
}

function take(doc, answer) {
  doc.answer = answer;
  doc.corrected = new Map();
  doc.pages = answer.pages || [];
  doc.count = doc.pages.length;
  doc.status = "done";
}

export function startExtract() {
  extracting = new Extracting(changed);
  viewer = new Viewer($("field-viewer"), (id) => pick(id, false));
  tabs($("extract-ways"), (name) => { way = name; });
  $("extract-schema").placeholder = SCHEMA_EXAMPLE;
  $("extract-choose").addEventListener("click", () => $("extract-input").click());
  $("extract-input").addEventListener("change", (event) => { takeForFields(event.target.files); event.target.value = ""; });
  $("extract-sample").addEventListener("click", () => takeSample("receipt.png", (files) => { $("extract-type").value = DEFAULT_TYPE; takeForFields(files); }));
  $("extract-again").addEventListener("click", () => run(selected));
  $("fields-json").addEventListener("click", () => save(stem(selected.name) + ".fields.json", "application/json", JSON.stringify(answerOf(selected), null, 2)));
  $("fields-csv").addEventListener("click", () => save(stem(selected.name) + ".fields.csv", "text/csv", csvOf(rowsOf(selected))));
  $("field-before").addEventListener("click", () => goTo(pageAt - 1));
  $("field-after").addEventListener("click", () => goTo(pageAt + 1));
  $("fields-save").addEventListener("click", saveCorrections);
  onLanguage(() => { drawDocs(); drawAnswer(); });
}

// The types of documents that the service knows.
export async function learnTypes() {
  const { types } = await get("document-types");
  fill($("extract-type"), types.map(({ name }) => [name, known("type_" + name) ? word("type_" + name) : name]));
  if (!selected && types.some(({ name }) => name === DEFAULT_TYPE)) $("extract-type").value = DEFAULT_TYPE;
}

function wanted() {
  if (way === "names") return { fields: $("extract-names").value.replaceAll("，", ",").replaceAll("\n", ",").trim() };
  if (way === "schema") return { schema: $("extract-schema").value.trim() };
  return { type: $("extract-type").value || DEFAULT_TYPE };
}

function faultOf({ fields, schema }) {
  if (fields === "") return word("extract_no_names");
  if (schema === undefined) return "";
  try { return typeof JSON.parse(schema) === "object" ? "" : word("extract_no_schema"); } catch { return word("extract_no_schema"); }
}

export function takeForFields(list) {
  if ($("extract-later").checked && service.jobs) { addFieldJobs(list); return; }
  const fresh = [...list].filter((file) => file.size > 0 || file.type).map((file) => new Doc(file, file.name || "image.png"));
  if (!fresh.length) return;
  docs.push(...fresh);
  if (!selected || selected.ended) select(fresh[0]);
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
  if (!doc) { doc = Doc.ofJob(job, blobOf(job.id)); docs.push(doc); }
  if (!doc.answer) extracting.add(doc, {});
  select(doc);
}

function changed(doc) {
  $("extract").classList.toggle("empty", !docs.length);
  drawDocs();
  if (doc !== selected) return;
  drawAnswer();
  if (doc.ended) announce(`${doc.name}: ${stateOf(doc)}`);
  if (doc.answer && window.innerWidth < 760) $("fields-panel").scrollIntoView({ block: "start" });
}

function select(doc) {
  selected = doc;
  pageAt = 0;
  $("extract").classList.toggle("empty", !docs.length);
  drawDocs();
  drawAnswer();
}

const stateOf = (doc) => (doc.answer ? word("extraction_" + (doc.answer.review === "reviewed" ? "reviewed" : doc.answer.status)) : doc.stateText());

function drawDocs() {
  $("extract-files").replaceChildren(...docs.map((doc) => make("li", { class: "file " + (doc.answer && doc.answer.status === "needs_review" ? "partial" : doc.status) + (doc === selected ? " current" : "") },
    make("button", { type: "button", class: "file-name", "aria-current": doc === selected ? "true" : null, title: doc.name, onclick: () => select(doc) },
      make("span", { class: "name" }, doc.name), make("span", { class: "state small" }, [doc.size ? sizeOf(doc.size) : "", stateOf(doc)].filter(Boolean).join(" · "))),
    make("button", { type: "button", class: "quiet square", "aria-label": word("remove", { name: doc.name }), onclick: () => remove(doc) }, icon("close")))));
}

function remove(doc) {
  extracting.stop(doc);
  doc.pictures.release();
  docs = docs.filter((each) => each !== doc);
  if (doc === selected) select(docs.at(-1) || null); else drawDocs();
}

const entries = () => Object.entries(selected.answer.fields);

function drawAnswer() {
  const doc = selected, answer = doc && doc.answer;
  $("extract-columns").hidden = !answer;
  $("extract-pending").hidden = !doc || doc.ended;
  $("extract-pending").textContent = doc ? `${doc.name}: ${doc.stateText()}` : "";
  $("extract-failure").replaceChildren(...(doc && doc.problem ? [problemBox(doc.problem, doc.name, againButton(() => run(doc)))] : []));
  $("extract-again").hidden = !doc || !doc.ended || Boolean(doc.job);
  if (!answer) return;
  $("extract-name").textContent = doc.name;
  $("extract-verdict").textContent = verdictOf(answer, doc);
  $("extract-verdict").className = "verdict " + (answer.status === "complete" || answer.review === "reviewed" ? "good" : "warn");
  $("fields-list").replaceChildren(...entries().map(([path, field], index) => fieldNode(path, field, index)));
  $("checks").replaceChildren(...answer.checks.map(checkNode));
  $("checks-title").hidden = !answer.checks.length;
  drawSave();
  drawPage();
}

function drawSave() {
  $("fields-save").hidden = !selected.job;
}

function verdictOf(answer, doc) {
  if (answer.review === "reviewed") return word("verdict_reviewed");
  const left = entries().filter(([path, field]) => needsLook(field) && !doc.corrected.has(path)).length;
  if (answer.status === "complete") return word("verdict_complete");
  if (left) return word("verdict_review", { count: left });
  return word(doc.corrected.size ? "verdict_corrected" : "verdict_review_all");
}

const needsLook = (field) => field.status !== "found" && field.status !== "not_found";

export function titleOf(path) {
  return path.split("/").slice(1).map((part) => (/^\d+$/.test(part) ? "#" + (Number(part) + 1) : known("field_" + part) ? word("field_" + part) : part.replaceAll("_", " "))).join(" · ");
}

const shownValue = (value) => (value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value));

function kindOf(field) { return BAD.has(field.status) ? "field-bad" : field.status === "found" ? "field-found" : "field-uncertain"; }

function fieldNode(path, field, index) {
  const id = "f" + index, title = titleOf(path);
  const correction = selected.corrected.get(path);
  const input = make("input", { class: "value", id: "value-" + id, "aria-label": title, placeholder: field.text ?? word("field_none"), autocomplete: "off", spellcheck: "false" });
  input.value = shownValue(correction === undefined ? field.value : correction);
  input.addEventListener("focus", () => pick(id, true, false));
  input.addEventListener("change", () => correct(path, field, input.value));
  input.addEventListener("keydown", (event) => { if (event.key === "Enter") input.blur(); });
  const status = correction === undefined ? field.status : "corrected";
  const others = field.alternatives.map((text) => make("button", { type: "button", class: "chip", onclick: (event) => { event.stopPropagation(); correct(path, field, text); } }, text));
  return make("li", { class: "field " + (correction === undefined ? kindOf(field) : "field-found"), "data-id": id, onclick: () => pick(id) },
    make("div", { class: "row spread" }, make("label", { for: "value-" + id, class: "field-title" }, title),
      make("span", { class: "badge " + status }, word("field_" + status), correction === undefined && field.confidence !== null ? " " + percent(field.confidence) : "")),
    input,
    field.text !== null && shownValue(field.value) !== field.text ? make("p", { class: "small faint" }, word("as_printed", { text: field.text.slice(0, 300) })) : null,
    others.length ? make("p", { class: "small row" }, word("alternatives"), others) : null);
}

function correct(path, field, text) {
  const before = shownValue(field.value);
  if (text === before) selected.corrected.delete(path);
  else selected.corrected.set(path, text.trim() === "" ? null : typeof field.value === "number" && Number.isFinite(Number(text)) ? Number(text) : text);
  const focused = document.activeElement && document.activeElement.id;
  drawAnswer();
  if (focused && $(focused)) $(focused).focus({ preventScroll: true });
}

function checkNode(check) {
  const text = known("check_" + check.code) ? word("check_" + check.code) : check.code.replaceAll("_", " ");
  const paths = check.fields.map(titleOf).join(", ");
  return make("li", { class: "check-line " + (check.passed ? "good" : "bad") }, icon(check.passed ? "check" : "close"),
    make("div", {}, make("b", {}, word(check.passed ? "check_passed" : "check_failed")), " ", text, make("div", { class: "small faint" }, [paths, check.detail].filter(Boolean).join(": "))));
}

// Lights up a field and where it stands.
function pick(id, showPage = true, scroll = true) {
  for (const node of document.querySelectorAll(".field.picked")) node.classList.remove("picked");
  const node = document.querySelector(`.field[data-id="${id}"]`);
  if (!node) return;
  node.classList.add("picked");
  if (scroll) node.scrollIntoView({ block: "nearest" });
  const [, field] = entries()[Number(id.slice(1))];
  const place = field.sources.length ? selected.pages.findIndex((page) => page.index === field.sources[0].page) : -1;
  if (showPage && place >= 0 && place !== pageAt) { goTo(place, id); return; }
  viewer.pick(id, showPage);
}

function goTo(place, id) {
  pageAt = Math.min(Math.max(0, place), Math.max(0, selected.pages.length - 1));
  drawPage().then(() => { if (id) viewer.pick(id); });
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
  const boxes = entries().flatMap(([path, field], index) => field.sources.filter((source) => source.page === page.index).slice(0, 1).map((source) => ({
    id: "f" + index, box: source.box, kind: kindOf(field), tip: `${titleOf(path)}: ${shownValue(field.value)} · ${percent(field.confidence)}` })));
  await viewer.show({ pictures: doc.pictures, index: page.index, rotation: page.rotation, width: page.width, height: page.height, pages: doc.pages.length, name: doc.name }, boxes,
    ["found", "uncertain", "bad"].map((name) => ["field-" + name, word("legend_" + name)]));
}

// The answer with the corrections in it.
function answerOf(doc) {
  const answer = structuredClone(doc.answer);
  for (const [path, value] of doc.corrected) {
    Object.assign(answer.fields[path], { value, text: value === null ? null : String(value), status: "corrected", confidence: 1, origin: "person" });
    put(answer.data, path, value);
  }
  return answer;
}

function put(data, path, value) {
  const parts = path.split("/").slice(1).map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  let holder = data;
  for (const part of parts.slice(0, -1)) { if (!Object.hasOwn(holder, part) || typeof holder[part] !== "object" || holder[part] === null) return; holder = holder[part]; }
  if (holder && parts.at(-1) !== "__proto__") holder[parts.at(-1)] = value;
}

function rowsOf(doc) {
  const answer = answerOf(doc);
  return [["field", "value", "text", "status", "confidence", "page"], ...Object.entries(answer.fields).map(([path, field]) => [
    path, shownValue(field.value), field.text ?? "", field.status, field.confidence ?? "", field.sources.length ? field.sources[0].page + 1 : ""])];
}

// Corrections of a job's fields go to the service.
async function saveCorrections() {
  const doc = selected, sent = new Map(doc.corrected);
  try {
    const answer = await request("PATCH", `v1/jobs/${doc.job}/fields`, { json: { fields: Object.fromEntries(sent), reviewed: true }, headers: { "If-Match": doc.etag } });
    const saved = await answer.json(), now = doc.corrected;
    takeOfJob(doc, answer, { ...saved, pages: doc.pages });
    for (const [path, value] of now) if (sent.get(path) !== value) doc.corrected.set(path, value); // made while these were saved
    announce(word("fields_saved"));
    changed(doc);
    showReviews();
  } catch (error) {
    const reload = make("button", { type: "button", class: "second", id: "extract-reload", onclick: () => { extracting.add(doc, {}); showReviews(); } }, icon("again"), word("fields_reload"));
    $("extract-failure").replaceChildren(problemBox(toldOf(error), doc.name, reload));
  }
}
