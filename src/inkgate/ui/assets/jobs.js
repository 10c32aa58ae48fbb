// The view "Jobs": documents that the service reads in the background.
import { $, make, announce, plain, save, stem } from "./dom.js";
import { word, number, duration, dateText, mayPass, onLanguage } from "./words.js";
import { get, pageProblem, problemBox, request, toldOf, upload } from "./api.js";
import { Doc, service, SUFFIXES, tooLarge, withFigures } from "./documents.js";
import { drawTotal, options } from "./read.js";

const EVERY_MS = 2000;
const LISTED = 50;
const FORECASTS = 5; // jobs that have a forecast: those that end or begin first
const ENDED = new Set(["succeeded", "partial", "failed", "quarantined", "cancelled"]);
const FORMATS = Object.keys(SUFFIXES).filter((format) => format !== "zip"); // the page itself makes a ZIP
const STATES = { all: [], active: ["queued", "running", "cancelling"], done: ["succeeded", "partial"], failed: ["failed", "quarantined", "cancelled"] };

const blobs = new Map(); // files of jobs that were added in this tab, for their pictures
let shown = false, limit = LISTED, jobs = [], asked = 0;
let unfolded = { id: "", act: "" }; // the job below which there are formats to download, or the question whether to delete it
const added = new Map(); // jobs of the documents that were added last: their states
let open = () => {}, review = () => {};

export const blobOf = (id) => blobs.get(id) || null;
export const keepBlob = (id, blob) => blobs.set(id, blob);

export function startJobs(openJob, openReview) {
  open = openJob;
  review = openReview;
  $("jobs-refresh").addEventListener("click", () => look());
  $("jobs-more").addEventListener("click", () => { limit += LISTED; look(); });
  $("jobs-filter").addEventListener("change", () => look());
  $("jobs-choose").addEventListener("click", () => $("jobs-input").click());
  $("jobs-input").addEventListener("change", (event) => { addJobs(event.target.files); event.target.value = ""; });
  document.addEventListener("visibilitychange", () => { if (shown && !document.hidden) look(); });
  setInterval(() => { if (shown && !document.hidden && jobs.some((job) => !ENDED.has(job.state))) look(); }, EVERY_MS);
  onLanguage(() => { fillFilter(); draw(); });
}

function fillFilter() {
  const before = $("jobs-filter").value || "all";
  $("jobs-filter").replaceChildren(...Object.keys(STATES).map((name) => new Option(word("jobs_" + name), name)));
  $("jobs-filter").value = before;
}

export function showJobs(now) {
  shown = now;
  if (now) look();
}

async function look() {
  const turn = (asked += 1);
  try {
    const states = STATES[$("jobs-filter").value] || [];
    const found = await get(`v1/jobs?limit=${Math.min(limit, 1000)}${states.map((state) => "&state=" + state).join("")}`);
    const waiting = found.jobs.filter((job) => !ENDED.has(job.state)).sort((a, b) => (a.state === "queued") - (b.state === "queued") || a.created.localeCompare(b.created)).slice(0, FORECASTS);
    const forecasts = new Map((await Promise.all(waiting.map((job) => get("v1/jobs/" + job.id).catch(() => job)))).map((job) => [job.id, job]));
    if (turn !== asked) return;
    jobs = found.jobs.map((job) => ({ ...(forecasts.get(job.id) || job), name: plain(job.name) }));
    for (const job of jobs) if (added.has(job.id)) added.set(job.id, job);
    $("jobs-more").hidden = !found.next || limit >= 1000;
    $("jobs-problem").replaceChildren();
  } catch (error) {
    if (turn !== asked) return;
    $("jobs-problem").replaceChildren(problemBox(toldOf(error)));
  }
  $("jobs-loading").hidden = true;
  draw();
}

function draw() {
  $("jobs-empty").hidden = jobs.length > 0 || !$("jobs-loading").hidden || $("jobs-problem").childElementCount > 0;
  $("jobs-table").hidden = !jobs.length;
  const focused = document.activeElement && document.activeElement.dataset.job ? [document.activeElement.dataset.job, document.activeElement.dataset.act] : null;
  $("jobs-rows").replaceChildren(...jobs.flatMap((job) => (unfolded.id === job.id ? [row(job), choices(job)] : [row(job)])));
  const states = [...added.values()].map((job) => job.state), read = states.filter((state) => STATES.done.includes(state)).length;
  drawTotal($("jobs-total"), states.length, read, states.filter((state) => STATES.failed.includes(state)).length, states.some((state) => !ENDED.has(state)));
  if (focused) focus(...focused);
}

function focus(id, act) {
  const button = document.querySelector(`[data-job="${id}"][data-act="${act}"]`);
  (button || $("jobs-choose")).focus();
}

function row(job) {
  const error = job.error ? pageProblem(job.error) : null;
  const { total, saved, failed } = job.pages;
  const bar = make("span", { class: "meter" + (ENDED.has(job.state) || job.state === "queued" ? " over" : total ? "" : " unknown") });
  bar.style.setProperty("--share", (total ? 100 * saved / total : 0) + "%");
  const state = { succeeded: "good", partial: "warn", running: "info", failed: "bad", quarantined: "bad" }[job.state] || "";
  return make("tr", { class: "job", "data-id": job.id },
    make("td", { class: "job-document" }, make("div", { class: "name", title: job.name }, job.name), error ? make("div", { class: "small bad-text" }, [error.title, error.detail, error.remedy].filter(Boolean).join(" — ")) : null),
    make("td", {}, make("span", { class: "badge " + state }, word("job_" + job.state)), job.review === "needs_review" ? make("span", { class: "badge warn" }, word("extraction_needs_review")) : null, make("div", { class: "small faint" }, waits(job))),
    make("td", {}, make("div", { class: "small" }, progress(job, total, saved, failed)), bar),
    make("td", { class: "small faint" }, times(job)),
    make("td", { class: "job-actions" }, actions(job)));
}

function progress(job, total, saved, failed) {
  if (!total && !saved && ENDED.has(job.state)) return "";
  if (!total) return ENDED.has(job.state) ? word("job_pages", { count: number(saved) }) : job.state === "queued" ? "" : word("job_opening");
  return [ENDED.has(job.state) && saved === total ? word("job_pages", { count: number(total) }) : word("job_pages_of", { done: number(saved), count: number(total) }), failed ? word("job_failed_pages", { count: number(failed) }) : ""].filter(Boolean).join(" · ");
}

function waits(job) {
  const parts = [];
  if (job.position !== null) parts.push(job.position ? word("job_ahead", { count: number(job.position) }) : word("job_next"));
  if (job.eta_s !== null && !ENDED.has(job.state)) parts.push(word("job_left", { time: duration(Math.max(1, job.eta_s)) }));
  return parts.join(" · ");
}

function times(job) {
  const parts = [make("time", { datetime: job.created, title: word("job_added") }, dateText(new Date(job.created), { dateStyle: "short", timeStyle: "short" }))];
  if (job.started && job.ended) parts.push(make("div", {}, word("job_took", { time: duration((new Date(job.ended) - new Date(job.started)) / 1000) })));
  return parts;
}

function actions(job) {
  const unfolds = (act) => button(job, act, () => (unfolded.id === job.id && unfolded.act === act ? fold(job, act) : unfold(job, act)), { "aria-expanded": String(unfolded.id === job.id && unfolded.act === act) });
  const parts = [];
  if (job.pages.saved) parts.push(button(job, "show", () => open(job, blobOf(job.id))));
  if (job.pages.saved && (job.state === "succeeded" || job.state === "partial")) parts.push(unfolds("download"));
  if (job.review === "needs_review" || job.review === "reviewed") parts.push(button(job, "review", () => review(job)));
  if (job.state === "queued" || job.state === "running") parts.push(button(job, "cancel", () => change(job, "POST", "/cancel", "job_cancel_asked")));
  if (ENDED.has(job.state) && job.state !== "succeeded" && (!job.error || mayPass(job.error.code))) parts.push(button(job, "retry", () => change(job, "POST", "/retry", "job_retried")));
  if (ENDED.has(job.state)) parts.push(unfolds("remove"));
  return parts;
}

const button = (job, act, run, more = {}, text = word("job_act_" + act)) =>
  make("button", { type: "button", class: "second", "data-job": job.id, "data-act": act, "aria-label": `${text}: ${job.name}`, onclick: run, ...more }, text);

function unfold(job, act) {
  unfolded = { id: job.id, act };
  draw();
  focus(job.id, act === "remove" ? "keep" : "download-" + FORMATS[0]);
}

function fold(job, act) {
  unfolded = { id: "", act: "" };
  draw();
  focus(job.id, act);
}

// The row below a job's: its formats, or the question whether to delete it.
function choices(job) {
  const { act } = unfolded, text = word(act === "remove" ? "job_sure" : "job_formats", { name: job.name });
  const buttons = act === "remove"
    ? [button(job, "sure", () => change(job, "DELETE", "", "job_removed"), { class: "danger" }), button(job, "keep", () => fold(job, act))]
    : FORMATS.map((format) => button(job, "download-" + format, () => download(job, format), {}, word("download_" + format)));
  return make("tr", { class: "job-more", onkeydown: (event) => { if (event.key === "Escape") fold(job, act); } },
    make("td", { colspan: 5 }, make("div", { class: "row", role: "group", "aria-label": text }, make("span", { class: "small" }, text), buttons)));
}

async function download(job, format) {
  const name = stem(job.name) + SUFFIXES[format];
  say(word("job_fetching", { name }));
  try {
    const answer = await request("GET", `v1/jobs/${job.id}/result?format=${format}`);
    save(name, answer.headers.get("content-type"), await answer.blob());
    say(word("downloaded", { name }));
    if (unfolded.id === job.id) fold(job, "download");
  } catch (error) {
    say("");
    $("jobs-problem").replaceChildren(problemBox(toldOf(error), job.name));
  }
}

async function change(job, method, part, done) {
  unfolded = { id: "", act: "" };
  try {
    await request(method, "v1/jobs/" + job.id + part);
    const place = jobs.findIndex((each) => each.id === job.id);
    if (method === "DELETE") added.delete(job.id);
    say(word(done, { name: job.name }));
    await look();
    if (method === "DELETE") focus((jobs[place] || jobs.at(-1) || {}).id, "remove");
  } catch (error) {
    await look();
    $("jobs-problem").replaceChildren(problemBox(toldOf(error), job.name));
  }
}

function say(text) { $("jobs-status").textContent = text; announce(text); }

// Adds a job for each file, with the options of the view "Read".
export async function addJobs(list) {
  const files = [...list].filter((file) => file.size > 0 || file.type);
  let count = 0;
  $("jobs-problem").replaceChildren();
  if (![...added.values()].some((job) => !ENDED.has(job.state))) added.clear();
  for (const [place, file] of files.entries()) {
    const said = (percent) => say(word(files.length > 1 ? "job_sending_of" : "job_sending", { name: doc.name, at: number(place + 1), count: number(files.length) }) + percent);
    const doc = new Doc(file, file.name || "image.png");
    const large = tooLarge(doc);
    if (large) { $("jobs-problem").append(problemBox(large, doc.name)); continue; }
    said("");
    try {
      const id = await upload(file, doc.name, { signal: new AbortController().signal, onPercent: (percent) => said(` ${percent}%`) });
      const job = await (await request("POST", "v1/jobs", { json: { source: { file_id: id }, name: doc.name, ...withFigures(options()) } })).json();
      blobs.set(job.id, file);
      added.set(job.id, job);
      count += 1;
    } catch (error) { $("jobs-problem").append(problemBox(toldOf(error), doc.name)); }
  }
  say(count ? word("jobs_added", { count: number(count) }) : "");
  const problems = [...$("jobs-problem").children];
  await look();
  if (problems.length) $("jobs-problem").replaceChildren(...problems);
}

export const jobsPossible = () => service.jobs;
