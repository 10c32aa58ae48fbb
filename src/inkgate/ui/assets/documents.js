// Documents of this tab: sent, read page by page, converted. No element is touched here.
import { home, get, linesOf, patiently, Problem, request, stopped, toldOf, upload } from "./api.js";
import { Pictures } from "./viewer.js";
import { plain, sizeOf, stem } from "./dom.js";
import { word } from "./words.js";
import { imageFiles, imageless } from "./figures.js";
import { zipOf } from "./zip.js";

const AT_ONCE = 2;
export const SUFFIXES = { markdown: ".md", zip: ".zip", docx: ".docx", xlsx: ".xlsx", csv: ".csv", text: ".txt", pdf: ".pdf", json: ".json", hocr: ".hocr", alto: ".alto.xml" };
const PICTURED = new Set(["markdown", "docx"]);
export const ENDED = new Set(["done", "partial", "failed", "stopped"]);

// What the service is and may do; known after `learn`.
export const service = { maxBytes: 0, models: [], jobs: true, embedded: true, engine: "", minConfidence: 0.8 };

export async function learn() {
  const [models, state] = await Promise.all([get("v1/models"), get("state?history=false")]);
  service.models = models.data.map((model) => model.id);
  service.engine = state.build.engine;
  service.embedded = ["ppocr", "rapidocr", "text"].includes(state.build.engine);
  service.maxBytes = Math.floor(((state.settings.limits || {}).max_body_mb || 0) * 1e6);
  service.minConfidence = (state.settings.fields || {}).min_confidence ?? service.minConfidence;
  service.jobs = (state.settings.jobs || {}).enabled !== false;
}

let last = 0;

export class Doc {
  constructor(blob, name, view = "read") {
    Object.assign(this, { view, id: `${Date.now()}-${String((last += 1)).padStart(6, "0")}`, blob, name: plain(name), size: blob ? blob.size : 0, job: "", pictures: new Pictures({ blob }) });
    this.reset();
  }

  // A job's document, whose pages the service has or will have. `blob`: its file, if it was added in this tab.
  static ofJob(job, blob, view) {
    const doc = new Doc(blob || null, job.name, view);
    doc.job = doc.pictures.jobId = job.id;
    return doc;
  }

  // A document that this tab had before a reload, as `row` said it.
  static restored({ row, file, pages }) {
    const { options, ...own } = row;
    const doc = Object.assign(new Doc(file, row.name), own, { pages, options });
    doc.pictures.jobId = doc.job;
    return doc;
  }

  // What a reload keeps beside the file and the pages. Passwords are not kept.
  row() {
    const { id, view, name, size, job, status, count, summary, problem, edited, took } = this;
    const { password: _, ...options } = this.options || {};
    return { id, view, name, size, job, status, count, summary, problem, edited, took, options };
  }

  reset() {
    Object.assign(this, { status: "queued", percent: 0, waits: 0, pages: [], count: 0, summary: null, problem: null, edited: false, began: 0, took: 0 });
  }

  get ended() { return ENDED.has(this.status); }

  get failed() { return this.pages.filter((page) => page.error).length; }

  // The published JSON of the whole document, with corrections. `figures`: "embedded", "linked" (Markdown has the links alone), or "out".
  json(figures = "embedded") {
    const end = this.summary || {};
    return {
      schema_version: 1, name: this.name, mime_type: end.mime_type || "", byte_count: end.byte_count || this.size, page_count: end.page_count || this.pages.length,
      engine: end.engine || (this.pages[0] || {}).engine || "", status: end.status || "partial", notes: end.notes || [], pages: figures === "embedded" ? this.pages : this.pages.map((page) => imageless(page, figures === "linked")), needs_review: end.needs_review || [],
    };
  }

  stateText() {
    if (this.status === "failed" && this.problem) return this.problem.title;
    if (this.status === "sending") return word("state_sending", { percent: this.percent });
    if (this.status === "waiting") return word("state_busy", { seconds: Math.ceil(this.waits) });
    if (this.status === "reading" && this.pages.length) return this.count ? word("state_pages_of", { done: this.pages.length, count: this.count }) : word("state_pages", { done: this.pages.length });
    if (this.status === "reading") return word("state_reading_doc");
    return word("state_" + this.status);
  }
}

// What is asked for: figures come as images where they are looked for.
export const withFigures = (options) => (options.task === "parse" ? { ...options, include: "images" } : options);

export function tooLarge(doc) {
  if (!service.maxBytes || doc.size <= service.maxBytes) return null;
  return { code: "body_too_large", title: word("too_large"), remedy: word("too_large_do"), detail: word("too_large_detail", { size: sizeOf(doc.size), most: sizeOf(service.maxBytes) }) };
}

// Reads documents, a few at once. `onChange(doc)` after every step.
export class Reading {
  constructor(onChange) {
    this.onChange = onChange;
    this.queue = [];
    this.running = new Map();
  }

  // A document that waits or is read already is not added again.
  add(doc, options) {
    if (this.queue.includes(doc) || this.running.has(doc)) return;
    doc.reset();
    doc.options = options;
    doc.problem = doc.blob ? tooLarge(doc) : null;
    if (doc.problem) doc.status = "failed"; else this.queue.push(doc);
    this.onChange(doc);
    this.next();
  }

  stop(doc) {
    this.queue = this.queue.filter((each) => each !== doc);
    const running = this.running.get(doc);
    if (running) running.abort();
    else if (!doc.ended) { doc.status = "stopped"; this.onChange(doc); }
  }

  get busy() { return this.queue.length + this.running.size > 0; }

  next() {
    while (this.running.size < AT_ONCE && this.queue.length) this.run(this.queue.shift());
  }

  async run(doc) {
    const control = new AbortController();
    this.running.set(doc, control);
    doc.began = performance.now();
    try {
      const onWait = (seconds) => { doc.status = "waiting"; doc.waits = seconds; this.onChange(doc); };
      await patiently(() => (doc.job ? this.readJob(doc, control.signal) : this.read(doc, control.signal)), { signal: control.signal, onWait });
    } catch (error) {
      if (stopped(error)) doc.status = "stopped";
      else { doc.problem = toldOf(error); doc.status = "failed"; }
    }
    doc.took = (performance.now() - doc.began) / 1000;
    this.running.delete(doc);
    this.onChange(doc);
    this.next();
  }

  async read(doc, signal) {
    doc.pages = [];
    await this.send(doc, signal);
    doc.status = "reading";
    this.onChange(doc);
    await this.take(doc, await this.ask(doc, "ocr", { ...withFigures(doc.options), format: "ndjson" }, signal));
  }

  // Sends a file of which the browser can't show the pages.
  async send(doc, signal) {
    if (doc.pictures.fileId || doc.pictures.local) return;
    doc.status = "sending";
    this.onChange(doc);
    doc.pictures.fileId = await upload(doc.blob, doc.name, { signal, onPercent: (percent) => { doc.percent = percent; this.onChange(doc); } });
  }

  // A file that the service has is not sent again, unless another process of the service answers.
  async ask(doc, path, options, signal) {
    if (doc.pictures.fileId) {
      try {
        const { url } = await get(`v1/files/${doc.pictures.fileId}/url`, { signal });
        return await request("POST", path, { json: { image: url, ...options }, signal });
      } catch (error) {
        if (!(error instanceof Problem) || !["file_unknown", "url_forbidden"].includes(error.told.code)) throw error;
      }
    }
    const form = new FormData();
    for (const [name, value] of Object.entries(options)) form.append(name, Array.isArray(value) ? value.join(",") : value);
    form.append("file", doc.blob, doc.name);
    return request("POST", path, { body: form, signal });
  }

  async readJob(doc, signal) {
    doc.pages = [];
    doc.status = "reading";
    this.onChange(doc);
    await this.take(doc, await request("GET", `v1/jobs/${doc.job}/pages`, { signal }));
  }

  async take(doc, answer) {
    doc.count = Number(answer.headers.get("x-inkgate-pages")) || 0;
    for await (const line of linesOf(answer)) {
      if ("index" in line) { doc.pages.push(line); this.onChange(doc); } else doc.summary = line;
    }
    if (!doc.summary) throw new Problem({ code: "cut", title: word("error_cut"), detail: "", remedy: word("error_unreachable_do") });
    if (doc.summary.error) doc.problem = toldOf(new Problem(doc.summary.error));
    doc.status = { complete: "done", succeeded: "done" }[doc.summary.status] || (doc.pages.length ? "partial" : "failed");
  }
}

// Sends the file for its pictures, if the browser can't show it itself or only its first page. Once, however many pages ask.
export async function ensurePictures(doc) {
  const { pictures } = doc;
  if (!doc.blob || pictures.source || (pictures.local && doc.pages.length <= 1 && doc.count <= 1)) return;
  pictures.sending ??= upload(doc.blob, doc.name, { signal: new AbortController().signal, onPercent: () => {} })
    .then((id) => { pictures.fileId = id; }).finally(() => { pictures.sending = null; });
  await pictures.sending;
}

// The document as a file of a format: {name, type, content}. A searchable PDF is made of the file itself, by `reading`.
// Figures come along as images, unless the format has none, or they were too much to send, or `figures` is "out".
// "zip": Markdown and the files that it links to.
export async function fileOf(doc, format, reading, figures = PICTURED.has(format) ? "embedded" : "out") {
  const name = stem(doc.name) + SUFFIXES[format];
  if (format === "json") return { name, type: "application/json", content: JSON.stringify(doc.json()) };
  if (format === "zip") {
    const { content } = await fileOf(doc, "markdown", reading, "linked");
    return { name, type: "application/zip", content: await zipOf([{ name: stem(doc.name) + ".md", content }, ...imageFiles(doc.pages)]) };
  }
  const signal = new AbortController().signal;
  const answer = format !== "pdf" ? await request("POST", `ui/api/convert?format=${format}`, { body: written(doc, figures), headers: { "Content-Type": "application/json" } })
    : doc.job ? await request("GET", `v1/jobs/${doc.job}/result?format=pdf`) : await reading.ask(doc, "ocr", { ...doc.options, format }, signal);
  return { name, type: answer.headers.get("content-type"), content: await answer.blob() };
}

function written(doc, figures) {
  const blob = new Blob([JSON.stringify(doc.json(figures))]);
  return figures === "embedded" && service.maxBytes && blob.size > service.maxBytes ? written(doc, "out") : blob;
}

export const address = () => home.href.replace(/\/$/, "");
