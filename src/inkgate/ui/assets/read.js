// The view "Read": files in, their pages beside what was read.
import { $, make, icon, sizeOf, copyText, confirmAt, closeMenu, save, announce } from "./dom.js";
import { word, number, duration, fillWords, mayPass, onLanguage, session } from "./words.js";
import { againButton, problemBox, toldOf } from "./api.js";
import { startSplitter, Viewer } from "./viewer.js";
import { boxesOf, Result } from "./result.js";
import { Doc, ensurePictures, fileOf, Reading, service, SUFFIXES } from "./documents.js";
import { correctAgain as correctPage, doubtsOf } from "./corrections.js";
import { Finder } from "./find.js";
import { Kept } from "./kept.js";
import { hasImages } from "./figures.js";
import { zipOf } from "./zip.js";

const MAX_FILES = 200;
const PLACE = "inkgate-place";
const LOCKED = ["pdf_encrypted", "pdf_password_wrong"];
const TASKS = ["parse", "text", "table", "formula", "chart", "spot", "extract", "translate"];

let docs = [];
let selected = null;
let at = 0; // the page that is shown, by its place in the document's pages
let chosenByHand = false;
let picked = null; // the entry that is lit up: {page, id}
let reading, viewer, result, finder, kept;

export const shownName = () => (selected ? selected.name : "");
export const recent = () => docs.filter((doc) => doc.ended && !doc.job);

export function options() {
  const found = { task: $("task").value || "parse" };
  if ($("pages").value.trim()) found.pages = $("pages").value.trim();
  if ($("pdf-text").value !== "auto") found.pdf_text = $("pdf-text").value;
  if (found.task === "extract" && $("fields").value.trim()) found.fields = $("fields").value.replaceAll("，", ",").trim();
  if (found.task === "translate" && $("translate").value.trim()) found.language = $("translate").value.trim();
  if ($("password").value) found.password = $("password").value;
  return found;
}

export function startRead() {
  reading = new Reading(changed);
  kept = new Kept(() => { $("kept-not").hidden = $("extract-kept-not").hidden = false; });
  $("forget").addEventListener("click", () => { [...docs].forEach(remove); $("kept-not").hidden = true; });
  viewer = new Viewer($("viewer"), (id) => result.pick(id));
  result = new Result($("result"), {
    onPick: (id) => pick(id),
    onChange: (correction) => { selected.edited = true; kept.putPage(selected.row(), page(), at, correction); drawBoxes(); drawBar(); },
    onView: () => { notePlace(); drawBoxes(); finder.paint(); },
  });
  finder = new Finder($("find"), $("find-count"), {
    pages: () => (selected ? selected.pages : []), at: () => at, root: () => result.panels[result.view], idOf: (line) => result.idOf(line),
    show: (place) => {
      if (place.page !== at) go(place.page);
      const id = result.idOf(place.line);
      result.pick(id);
      pick(id);
      return { id, node: result.entryOf(id) };
    },
  });
  startSplitter($("splitter"));
  for (const [button, input] of [["choose", "input"], ["camera", "camera-input"]]) {
    $(button).addEventListener("click", () => $(input).click());
    $(input).addEventListener("change", (event) => { take(event.target.files); event.target.value = ""; });
  }
  for (const button of document.querySelectorAll("[data-sample]")) button.addEventListener("click", () => takeSample(button.dataset.sample, take));
  $("task").addEventListener("change", drawOptions);
  $("options").addEventListener("change", () => { drawFiles(); drawPage(true); });
  $("before").addEventListener("click", () => go(at - 1));
  $("after").addEventListener("click", () => go(at + 1));
  $("page-number").addEventListener("change", () => {
    const wanted = Number($("page-number").value) - 1, found = selected.pages.findIndex((each) => each.index >= wanted);
    go(found < 0 ? selected.pages.length - 1 : found);
  });
  $("again").addEventListener("click", () => reading.add(selected, { ...(selected.options.password && { password: selected.options.password }), ...options() }));
  $("stop").addEventListener("click", () => docs.forEach((doc) => reading.stop(doc)));
  $("retry-failed").addEventListener("click", () => docs.filter((doc) => doc.status === "failed" && mayRetry(doc)).forEach((doc) => reading.add(doc, options())));
  $("copy-page").addEventListener("click", () => copy($("copy-page"), () => Result.source(page(), result.view)));
  $("copy-document").addEventListener("click", () => copy($("copy-document"), wholeText));
  for (const [list, name, run] of [["downloads", "data-format", download], ["downloads-all", "data-all", downloadAll]]) {
    $(list).append(...Object.keys(SUFFIXES).map((format) => make("button", { type: "button", role: "menuitem", [name]: format, "data-word": "download_" + format, onclick: (event) => run(format, event.currentTarget) })));
    fillWords($(list));
    if (name === "data-all") $(list).querySelector("[data-all=zip]").remove();
  }
  document.addEventListener("keydown", pressed);
  onLanguage(() => { drawOptions(); drawFiles(); drawBar(); });
}

export async function takeSample(name, then) {
  const answer = await fetch(new URL("samples/" + name, import.meta.url));
  const blob = await answer.blob();
  then([new File([blob], name, { type: blob.type })]);
}

export function take(list) {
  const fresh = [...list].filter((file) => file.size > 0 || file.type).slice(0, MAX_FILES).map((file) => new Doc(file, file.name || "image.png"));
  if (!fresh.length) return;
  docs.push(...fresh);
  if (!selected || selected.ended) { chosenByHand = false; select(fresh[0]); }
  for (const doc of fresh) reading.add(doc, options());
}

// Where the visitor is, for a reload.
function notePlace() { session.set(PLACE, selected ? JSON.stringify({ id: selected.id, at, view: result.view }) : ""); }

// The documents that this tab had before a reload. Those that were not read to the end are read again. Returns the rows of the view "Extract".
export async function restore() {
  let place = {};
  try { place = JSON.parse(session.get(PLACE) || "{}"); } catch { /* it starts at the first */ }
  const rows = await kept.start(), others = rows.filter(({ row }) => row.view === "extract");
  const found = rows.filter((each) => !others.includes(each)).map((row) => Doc.restored(row));
  $("kept-text").hidden = !kept.works;
  document.documentElement.dataset.restored = "1";
  if (!found.length) return others;
  for (const doc of found) if (doc.ended && correctAgain(doc)) kept.put(doc.row(), doc.blob, doc.pages);
  docs.unshift(...found);
  if (!selected) {
    selected = found.find((doc) => doc.id === place.id) || found.at(-1);
    at = Math.min(Math.max(0, Math.trunc(place.at) || 0), Math.max(0, selected.pages.length - 1));
    result.showTab(place.view);
    $("read").classList.remove("empty");
    drawPage();
  }
  drawFiles();
  for (const doc of found) if (!doc.ended) reading.add(doc, doc.options);
  return others;
}

// Corrections that were not stored when the page was left.
function correctAgain(doc) {
  const unsaved = kept.unsavedOf(doc.id).filter(({ at: place, correction }) => doc.pages[place] && correctPage(doc.pages[place], correction));
  if (unsaved.length) doc.edited = true;
  return unsaved.length > 0;
}

export const forget = () => kept.forget();
export const keeper = () => kept;

export function openJob(job, blob) {
  let doc = docs.find((each) => each.job === job.id);
  if (!doc) { doc = Doc.ofJob(job, blob); docs.push(doc); }
  if (!doc.summary && !reading.running.has(doc)) reading.add(doc, {});
  select(doc);
}

// The address of what is shown: a job's survives a reload.
export const whereabouts = () => (selected && selected.job ? "#job/" + selected.job : location.pathname + location.search);

const readable = () => docs.filter((doc) => doc.ended && doc.pages.length);

function remove(doc) {
  reading.stop(doc);
  doc.pictures.release();
  kept.drop(doc.id);
  docs = docs.filter((each) => each !== doc);
  if (doc === selected) { selected = null; select(docs.at(-1) || null); } else drawFiles();
}

function select(doc, byHand = false) {
  if (byHand) chosenByHand = true;
  selected = doc;
  at = 0;
  if (!$("read").hidden) history.replaceState(null, "", whereabouts());
  $("read").classList.toggle("empty", !docs.length);
  drawFiles();
  drawPage();
}

// After each step of a document.
function changed(doc) {
  $("read").classList.toggle("empty", !docs.length);
  drawFiles();
  if (!docs.includes(doc)) return; // it was removed while it was read
  if (doc.ended) correctAgain(doc);
  if (doc.ended || doc.status === "queued") kept.put(doc.row(), doc.blob, doc.pages);
  if (doc === selected) {
    if (doc.pages.length === 1 && doc.status === "reading") { at = 0; drawPage(); reveal(); } else if (doc.ended || !doc.pages.length) drawPage(true); else drawBar();
  } else if (!chosenByHand && selected && selected.status === "failed" && doc.pages.length) select(doc);
  if (!doc.ended) return;
  announce(`${doc.name}: ${doc.stateText()}`);
  if (doc.status !== "failed" && doc === selected) reveal();
}

// On a phone the result is below the files.
function reveal() {
  if (window.innerWidth < 760 && !$("read").hidden && !chosenByHand) $("bar").scrollIntoView({ block: "start" });
}

const page = () => (selected && selected.pages[at]) || null;

function go(place) {
  if (!selected || !Number.isInteger(place)) return;
  at = Math.min(Math.max(0, place), Math.max(0, selected.pages.length - 1));
  drawPage();
}

function drawOptions() {
  const tasks = service.embedded ? TASKS.slice(0, 2) : TASKS;
  fill($("task"), tasks.map((task) => [task, word("task_" + task)]));
  fill($("pdf-text"), ["auto", "never", "always"].map((how) => [how, word("pdf_" + how)]));
  for (const label of document.querySelectorAll("[data-for]")) label.hidden = label.dataset.for !== $("task").value;
  $("engine").textContent = service.engine ? word("engine_is", { name: service.engine }) : "";
}
export { drawOptions };

export function fill(target, entries) {
  const before = target.value;
  target.replaceChildren(...entries.map(([value, text]) => new Option(text, value)));
  if (entries.some(([value]) => value === before)) target.value = before;
}

function drawFiles() {
  $("files").replaceChildren(...docs.map((doc) => {
    const share = doc.status === "sending" ? doc.percent : doc.count ? 100 * doc.pages.length / doc.count : 0;
    const bar = make("span", { class: "meter" + (doc.ended ? " over" : share ? "" : " unknown") });
    bar.style.setProperty("--share", share + "%");
    return make("li", { class: "file " + doc.status + (doc === selected ? " current" : "") },
      make("button", { type: "button", class: "file-name", "aria-current": doc === selected ? "true" : null, onclick: () => select(doc, true), title: doc.name },
        make("span", { class: "name" }, doc.name), make("span", { class: "state small" }, [doc.size ? sizeOf(doc.size) : "", doc.stateText()].filter(Boolean).join(" · ")), bar),
      mayRetry(doc) ? make("button", { type: "button", class: "quiet square", "aria-label": word("retry_file", { name: doc.name }), title: word("again"), onclick: () => { select(doc, true); reading.add(doc, options()); } }, icon("again")) : null,
      make("button", { type: "button", class: "quiet square", "aria-label": word("remove", { name: doc.name }), title: word("remove", { name: doc.name }), onclick: () => remove(doc) }, icon("close")));
  }));
  drawTotal($("files-total"), docs.length, docs.filter((doc) => doc.status === "done" || doc.status === "partial").length, docs.filter((doc) => doc.status === "failed").length, reading.busy);
  $("stop").hidden = !reading.busy;
  $("retry-failed").hidden = reading.busy || docs.filter((doc) => doc.status === "failed" && mayRetry(doc)).length < 2;
  $("kept").hidden = !docs.length;
  $("all").hidden = reading.busy || readable().length < 2;
}

// Of several documents, how many are read.
export function drawTotal(node, count, done, failed, busy) {
  node.hidden = count < 2;
  const bar = make("span", { class: "meter" + (busy ? "" : " over") });
  bar.style.setProperty("--share", (count ? 100 * (done + failed) / count : 0) + "%");
  node.replaceChildren([word("total_read", { done: number(done), count: number(count) }), failed ? word("total_failed", { count: number(failed) }) : ""].filter(Boolean).join(" · "), bar);
}

function drawBar() {
  const shown = page(), pages = selected ? selected.pages.length : 0;
  $("bar").hidden = !shown;
  $("columns").hidden = !shown;
  if (!shown) return;
  const count = selected.ended ? pages : Math.max(selected.count, pages);
  $("page-number").value = shown.index + 1;
  $("page-count").textContent = word("of_pages", { count: number((selected.summary || {}).page_count || count) });
  $("pager").hidden = count < 2;
  $("before").disabled = at <= 0;
  $("after").disabled = at >= pages - 1;
  $("document-name").textContent = selected.name;
  $("document-state").textContent = [selected.stateText(), selected.ended && selected.took ? duration(selected.took) : "", selected.edited ? word("edited") : ""].filter(Boolean).join(" · ");
  $("again").hidden = Boolean(selected.job) || !selected.ended || !otherOptions(selected);
  $("copy-document").hidden = pages < 2;
  $("downloads").querySelector("[data-format=zip]").hidden = !hasImages(selected.pages);
  drawThumbnails();
  finder.refresh();
}

function drawPage(keep = false) {
  const shown = page();
  notePlace();
  drawBar();
  $("failure").replaceChildren();
  $("pending").hidden = Boolean(shown) || !selected || selected.ended;
  $("pending-text").textContent = selected ? `${selected.name}: ${selected.stateText()}` : "";
  if (selected && selected.problem) $("failure").append(failureBox(selected));
  else if (selected && selected.status === "partial") $("failure").append(make("p", { class: "note" }, word("partial", { failed: selected.failed, count: selected.pages.length })));
  else if (selected && selected.status === "stopped" && !shown) $("failure").append(make("p", { class: "note" }, word("state_stopped"), " ", againButton(() => reading.add(selected, options()))));
  $("columns").classList.toggle("waiting", !shown);
  if (!shown) { drawBefore(); return; }
  if (keep && result.page === shown) return;
  result.show(shown);
  finder.paint();
  drawPicture();
}

function pick(id) {
  picked = { page: page(), id };
  viewer.pick(id);
}

// The first page's picture while its text is awaited.
function drawBefore() {
  const doc = selected;
  if (!doc || doc.ended || doc.problem) return;
  $("columns").hidden = false;
  if (!doc.pictures.local && !doc.pictures.source) { viewer.blank(); return; }
  if (viewer.page && viewer.page.before === doc) return;
  viewer.show({ pictures: doc.pictures, index: 0, rotation: 0, width: 0, height: 0, pages: Math.max(doc.count, 1), name: doc.name, before: doc }, [], []);
}

async function drawPicture() {
  const shown = page(), doc = selected;
  await ensurePictures(doc).catch(() => {});
  if (shown !== page()) return;
  drawThumbnails();
  const [boxes, legend] = boxesOf(shown, result.view);
  await viewer.show({ pictures: doc.pictures, index: shown.index, rotation: shown.rotation, width: shown.width, height: shown.height, pages: Math.max(doc.count, doc.pages.length), name: doc.name }, boxes, legend);
  if (picked && picked.page === page()) viewer.pick(picked.id); // it was chosen before its boxes were drawn
}

function drawThumbnails() {
  if (selected && selected.pictures.source) viewer.thumbnails(selected.pictures, selected.pages, at, go);
  else viewer.thumbnails(null, [], 0, go);
}

function drawBoxes() {
  if (page() && viewer.page) viewer.boxes(...boxesOf(page(), result.view));
}

const withoutPassword = ({ password: _, ...rest }) => JSON.stringify(rest);
const otherOptions = (doc) => withoutPassword(options()) !== withoutPassword(doc.options || {});

// An error that the document or the options are to blame for stays, unless the options have changed.
const mayRetry = (doc) => doc.status === "stopped" || (doc.status === "failed" && !LOCKED.includes((doc.problem || {}).code) && (mayPass((doc.problem || {}).code) || otherOptions(doc)));

function failureBox(doc) {
  if (LOCKED.includes(doc.problem.code)) return lockedBox(doc);
  return problemBox(doc.problem, doc.name, ...(mayRetry(doc) ? [againButton(() => reading.add(doc, options()))] : []));
}

// Asks for a PDF's password.
function lockedBox(doc) {
  const input = make("input", { type: "password", id: "unlock", autocomplete: "off", required: true, "aria-describedby": "unlock-text" });
  const wrong = doc.problem.code === "pdf_password_wrong";
  const form = make("form", { class: "card locked", onsubmit: (event) => { event.preventDefault(); reading.add(doc, { ...options(), password: input.value }); } },
    icon("lock"), make("h3", {}, word("locked_title", { name: doc.name })), make("p", { id: "unlock-text", class: wrong ? "bad-text" : null, role: wrong ? "alert" : null }, word(wrong ? "locked_wrong" : "locked_text")),
    make("label", { for: "unlock" }, word("password")), make("div", { class: "row" }, input, make("button", { type: "submit", class: "primary" }, word("open"))), make("p", { class: "small faint" }, word("locked_use")));
  if (document.activeElement === document.body) setTimeout(() => input.focus());
  return form;
}

async function wholeText() {
  if (result.view === "json") return JSON.stringify(selected.json(), null, 2);
  const format = result.view === "text" ? "text" : "markdown";
  return (await fileOf(selected, format, reading, "out")).content.text();
}

async function copy(button, textOf) {
  try {
    const text = await textOf();
    confirmAt(button, word(!text ? "copy_nothing" : (await copyText(text)) ? "copied" : "copy_impossible"));
  } catch (error) { fail(error); }
}

async function download(format, button) {
  const end = preparing(button);
  try {
    const file = await fileOf(selected, format, reading);
    if (format === "pdf" && selected.edited) $("failure").replaceChildren(make("p", { class: "note" }, word("pdf_uncorrected")));
    save(file.name, file.type, file.content);
    announce(word("downloaded", { name: file.name }));
  } catch (error) { fail(error); } finally { end(); }
}

async function downloadAll(format, button) {
  const end = preparing(button);
  try {
    const files = [];
    for (const doc of readable()) files.push(await fileOf(doc, format, reading));
    save("inkgate.zip", "application/zip", await zipOf(files));
    announce(word("downloaded", { name: "inkgate.zip" }));
  } catch (error) { fail(error); } finally { end(); }
}

// Closes the menu of the button; what is chosen can't be chosen again until it is saved.
function preparing(button) {
  const menu = button.closest("details"), summary = menu.querySelector("summary");
  button.disabled = true;
  summary.setAttribute("aria-busy", "true");
  closeMenu(menu);
  return () => { button.disabled = false; if (!menu.querySelector("button:disabled")) summary.removeAttribute("aria-busy"); };
}

function fail(error) { $("failure").replaceChildren(problemBox(toldOf(error))); }

// "n": the next doubtful word, also on the following pages. "j" and "k": pages. "/": finds a word.
function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || $("read").hidden || !page() || document.querySelector("dialog[open]") || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  if (event.key === "j") go(at + 1);
  else if (event.key === "k") go(at - 1);
  else if (event.key === "/") { $("find").focus(); $("find").select(); }
  else if (event.key === "n" || event.key === "N") nextDoubt();
  else return;
  event.preventDefault();
}

function nextDoubt() {
  if (doubtsOf(page()).length && result.nextDoubt()) return;
  for (let step = 1; step < selected.pages.length; step += 1) {
    const next = (at + step) % selected.pages.length;
    if (doubtsOf(selected.pages[next]).length) { go(next); result.nextDoubt(); return; }
  }
}
