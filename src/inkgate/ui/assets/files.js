// Uploads: the browser sends each file to /v1/files of the API with the visitor's key.
const TASKS = ["text", "parse", "table", "formula", "chart", "spot", "extract", "translate"];
const EMBEDDED = new Set(["ppocr", "rapidocr", "text"]);
let chosen = []; // {name, size, blob, id, percent, problem, outcome}
let adding = false; // jobs
let later = true; // whether the service takes jobs
let maxBytes = 0; // of a file; 0 until known
let tasks = TASKS.slice(0, 2);

function fill(select, entries) {
  const before = select.value;
  select.replaceChildren(...entries.map(([value, text]) => new Option(text, value)));
  if (entries.some(([value]) => value === before)) select.value = before;
}

function writeOptions() {
  fill($("task"), tasks.map((task) => [task, word("task_" + task)]));
  fill($("pdf"), ["auto", "never", "always"].map((how) => [how, word("pdf_" + how)]));
}
rewriters.push(writeOptions, drawFiles);

$("task").addEventListener("change", () => {
  for (const label of element.querySelectorAll("[data-for]")) label.hidden = label.dataset.for !== $("task").value;
});

const sizeOf = (bytes) => (bytes >= 1e6 ? (bytes / 1e6).toFixed(1) + " MB" : Math.max(1, Math.round(bytes / 1e3)) + " kB");

function drawFiles() {
  $("files").replaceChildren(...chosen.map((file) => make("li", { class: (file.problem || file.outcome || {}).title ? "ink-failed" : "" },
    make("span", { class: "ink-name", title: file.name }, file.name),
    make("span", { class: "ink-small" }, sizeOf(file.size) + " · " + stateOf(file)),
    make("button", { class: "ink-quiet ink-icon", "aria-label": word("remove", { name: file.name }), onclick: () => remove(file) }, "×"))));
  const ready = chosen.filter((file) => file.id);
  $("go").disabled = !ready.length || chosen.some((file) => !file.id && !file.problem) || busy;
  $("later").disabled = $("go").disabled || adding;
  $("later").hidden = busy || !later;
  $("clear").hidden = !chosen.length || busy;
}

// The text of a file's chip: the state of its upload, then of its last run.
function stateOf(file) {
  if (file.problem) return file.problem.title;
  if (!file.id) return word("uploading", { percent: file.percent || 0 });
  if (!file.outcome) return word("ready");
  return file.outcome.title || word("chip_" + file.outcome.status);
}

// Updates the progress of each file.
function setOutcomes(told) {
  for (const file of chosen) {
    const job = told.find((each) => each.file === file.id);
    if (!job || job.status === "waiting") file.outcome = null;
    else file.outcome = { status: job.status, title: job.status === "failed" ? (job.error ? job.error.title : word("failed_title")) : "" };
  }
  drawFiles();
}

function tooLarge(file) {
  return { code: "body_too_large", title: word("too_large"), remedy: word("too_large_do"),
    detail: word("too_large_detail", { size: sizeOf(file.size), most: sizeOf(maxBytes) }) };
}

function remove(file) {
  if (file.request) file.request.abort();
  if (file.id) fetch(new URL("v1/files/" + file.id, home), { method: "DELETE", headers: authorized() }).catch(() => {});
  chosen = chosen.filter((each) => each !== file);
  drawFiles();
}

function upload(file) {
  const request = new XMLHttpRequest();
  file.request = request;
  request.open("POST", new URL("v1/files", home));
  for (const [name, value] of Object.entries(authorized())) request.setRequestHeader(name, value);
  request.upload.onprogress = (event) => { file.percent = Math.round(100 * event.loaded / event.total); drawFiles(); };
  request.onload = async () => {
    if (request.status === 200) {
      file.id = JSON.parse(request.responseText).id;
    } else if (request.status === 401) {
      enter(() => upload(file));
    } else {
      const headers = { "retry-after": request.getResponseHeader("retry-after") || "" };
      failed(file, (await problemOf(new Response(request.responseText, { status: request.status, headers }))).told);
    }
    drawFiles();
  };
  request.onerror = () => { failed(file, unreachable().told); drawFiles(); };
  const form = new FormData();
  form.append("purpose", "ocr");
  form.append("file", file.blob, file.name);
  request.send(form);
}

function failed(file, told) {
  file.problem = told;
  $("problems").append(problemBox(told, file.name));
}

function take(list) {
  const fresh = [...list].filter((blob) => blob.size > 0 || blob.type).map((blob) => ({ name: blob.name || "image.png", size: blob.size, blob }));
  if (!fresh.length) return;
  $("problems").replaceChildren();
  chosen.push(...fresh);
  drawFiles();
  enter(() => fresh.filter((file) => !file.id && !file.request).forEach((file) => {
    if (maxBytes && file.size > maxBytes) { failed(file, tooLarge(file)); drawFiles(); } else upload(file);
  }));
}

$("choose").addEventListener("click", () => $("input").click());
$("input").addEventListener("change", (event) => { take(event.target.files); event.target.value = ""; });
$("clear").addEventListener("click", () => { chosen.slice().forEach(remove); $("problems").replaceChildren(); forgetFailure(); });
for (const kind of ["dragenter", "dragover"]) $("drop").addEventListener(kind, (event) => { event.preventDefault(); $("drop").classList.add("ink-over"); });
for (const kind of ["dragleave", "drop"]) $("drop").addEventListener(kind, () => $("drop").classList.remove("ink-over"));
$("drop").addEventListener("drop", (event) => { event.preventDefault(); take(event.dataTransfer.files); });
document.addEventListener("paste", (event) => { if (element.isConnected && event.clipboardData.files.length) take(event.clipboardData.files); });
for (const kind of ["dragover", "drop"]) window.addEventListener(kind, (event) => event.preventDefault());
