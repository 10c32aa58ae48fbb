// The result: a page with boxes beside its text. A selection applies to both.
let jobs = [];
let opened = null; // the job that the Jobs tab shows instead of the run: {job, name, done, count, file, ends}
let at = { job: 0, page: 0 };
let runAt = at; // where the run is shown, while a job is
let shown = null; // the page shown, as the server sent it
let form = "text";
let pictureUrl = "";
let showing = 0;

const level = (confidence) => (confidence >= 0.95 ? "sure" : confidence >= 0.8 ? "likely" : "doubtful");
const percent = (confidence) => Math.round(100 * confidence);

const readInRun = () => jobs.filter((job) => job.done > 0);
function readable() { return opened ? [opened] : readInRun(); }

function setJobs(told) {
  const before = readInRun().length;
  jobs = told;
  const ready = readInRun();
  $("empty").hidden = ready.length > 0 || !$("failure").hidden;
  if (!before) runAt = { job: 0, page: 0 };
  if (opened) return;
  $("columns").hidden = !ready.length;
  if (!ready.length) return;
  listDocuments();
  if (!before) go(0, 0);
  else drawWhere();
}

function listDocuments() {
  const ready = readable();
  fill($("document"), ready.map((job, place) => [String(place), job.name]));
  $("document").hidden = ready.length < 2;
}

// Moves the viewer into the Jobs tab, to show a job; or back, to show the run.
function showInViewer(job) {
  if (!opened && job) runAt = at;
  opened = job;
  (job ? $("job") : $("result")).append($("columns"));
  $("notes").replaceChildren();
  $("downloads").hidden = Boolean(job) && !job.whole;
  const ready = readable();
  $("columns").hidden = !ready.length;
  listDocuments();
  const place = job || !ready[runAt.job] ? { job: 0, page: 0 } : runAt;
  if (ready.length) go(place.job, place.page);
  else showing += 1;
}

function drawWhere() {
  const job = readable()[at.job];
  if (!job) return;
  $("where").textContent = word("page_of", { page: at.page + 1, count: job.count || job.done });
  $("before").disabled = at.page === 0;
  $("after").disabled = at.page + 1 >= job.done;
}

async function go(job, page) {
  const mine = ++showing;
  at = { job, page };
  $("document").value = String(job);
  drawWhere();
  const found = readable()[job];
  let told;
  try {
    told = found.job ? await jobPage(found, page) : await call("page", { result: found.result, page });
  } catch (error) {
    if (mine === showing) $("notes").replaceChildren(problemBox(error.told || unreachable(error.message).told));
    return;
  }
  if (mine !== showing) return;
  shown = { ...told, name: found.name };
  draw();
  picture(found.file, told.page, mine);
}

async function picture(file, page, mine) {
  $("picture").classList.add("ink-old");
  const address = new URL(`v1/files/${file}/pages/${page.index + 1}?turn=${page.rotation || 0}&side=1600`, home);
  let url = "";
  try {
    const answer = file && await fetch(address, { headers: authorized() });
    if (answer && answer.ok) url = URL.createObjectURL(await answer.blob());
  } catch { /* shown as missing */ }
  if (mine !== showing) return url && URL.revokeObjectURL(url);
  if (pictureUrl) URL.revokeObjectURL(pictureUrl);
  pictureUrl = url;
  $("nopicture").hidden = Boolean(url);
  $("columns").classList.toggle("ink-text-only", Boolean(opened) && !url);
  $("picture").src = url || "data:image/gif;base64,R0lGODlhAQABAIAAAP///wAAACH5BAAAAAAALAAAAAABAAEAAAICRAEAOw==";
  $("picture").classList.remove("ink-old");
}

function draw() {
  if (!shown) return;
  const { page, lines } = shown;
  const described = word("picture_of", { page: page.index + 1, name: shown.name, lines: lines.length });
  $("picture").alt = described;
  $("stage").setAttribute("aria-label", described);
  const wide = page.width || 1;
  $("sheet").style.aspectRatio = `${wide} / ${page.height || 1}`;
  $("overlay").setAttribute("viewBox", `0 0 ${wide} ${page.height || 1}`);
  const boxes = lines.map((line, index) => {
    const box = document.createElementNS("http://www.w3.org/2000/svg", "polygon");
    box.setAttribute("points", line.quad.map((corner) => corner.join(",")).join(" "));
    box.setAttribute("class", "ink-box ink-" + level(line.confidence));
    box.dataset.line = index;
    return box;
  });
  $("overlay").replaceChildren(...boxes);
  $("overlay").setAttribute("aria-hidden", "true"); // the list of lines has the same content and is accessible
  $("lines").replaceChildren(...lines.map((line, index) => make("li", { role: "option", tabindex: index ? -1 : 0, "aria-selected": "false",
    "data-line": index, class: "ink-at-" + level(line.confidence), "aria-label": word("line_label", { text: line.text, percent: percent(line.confidence) }) },
    make("span", { class: "ink-line-text" }, line.text), make("span", { class: "ink-percent" }, percent(line.confidence) + " %"))));
  if (!lines.length) {
    $("lines").replaceChildren(make("li", { role: "option", "aria-selected": "false", class: "ink-plain" }, page.text || (shown.problem ? "" : word("no_text"))));
  }
  $("source").textContent = shown.json + (shown.cut ? "\n" + word("cut") : "");
  // Made by the server without tags from the document (ui/markdown.py).
  if (shown.html === null) $("markdown").replaceChildren(make("p", { class: "ink-small" }, word("no_markdown")));
  else $("markdown").innerHTML = shown.html;
  if (shown.left_out.length) $("markdown").append(make("p", { class: "ink-small" }, word("left_out", { texts: shown.left_out.join(" · ") })));
  const notes = [];
  if (shown.problem) notes.push(problemBox(shown.problem, word("error_page", { page: page.index + 1 })));
  if (page.degraded.length) notes.push(make("p", { class: "ink-note" }, word("degraded", { how: page.degraded.join(", ") })));
  if (page.review.length) notes.push(make("p", { class: "ink-note" }, word("review", { why: page.review.map((reason) => word("review_" + reason)).join(", ") })));
  $("notes").replaceChildren(...notes);
  drawWhere();
}
rewriters.push(draw);

function pick(index, from) {
  for (const node of element.querySelectorAll("[data-line]")) {
    const chosenOne = Number(node.dataset.line) === index;
    node.classList.toggle("ink-picked", chosenOne);
    if (node.getAttribute("role") === "option") {
      node.setAttribute("aria-selected", chosenOne);
      node.tabIndex = chosenOne ? 0 : -1;
      if (chosenOne && from === "box") { $("tab-text").click(); reveal($("text"), node); }
      if (chosenOne && from === "key") { node.focus(); }
    } else if (chosenOne && from !== "box") reveal($("stage"), node);
  }
}

// Scrolls only inside `frame`, not the page around it.
function reveal(frame, node) {
  const outer = frame.getBoundingClientRect(), inner = node.getBoundingClientRect();
  if (inner.top < outer.top || inner.bottom > outer.bottom) frame.scrollTop += inner.top - outer.top - outer.height / 3;
  if (inner.left < outer.left || inner.right > outer.right) frame.scrollLeft += inner.left - outer.left - 20;
}

$("overlay").addEventListener("click", (event) => { if (event.target.dataset.line) pick(Number(event.target.dataset.line), "box"); });
$("overlay").addEventListener("pointermove", (event) => {
  const line = event.target.dataset.line && shown.lines[Number(event.target.dataset.line)];
  $("tip").hidden = !line;
  if (!line) return;
  $("tip").replaceChildren(make("b", {}, line.text), make("span", {}, word("confidence") + " " + (100 * line.confidence).toFixed(1) + " %"));
  const place = $("tip").getBoundingClientRect();
  $("tip").style.left = Math.max(8, Math.min(event.clientX + 14, innerWidth - place.width - 8)) + "px";
  $("tip").style.top = (event.clientY + 18 + place.height > innerHeight ? event.clientY - place.height - 10 : event.clientY + 18) + "px";
});
$("overlay").addEventListener("pointerleave", () => { $("tip").hidden = true; });
$("lines").addEventListener("click", (event) => {
  const node = event.target.closest("[data-line]");
  if (node) pick(Number(node.dataset.line), "text");
});
$("lines").addEventListener("keydown", (event) => {
  const node = event.target.closest("[data-line]");
  if (!node || !shown) return;
  const here = Number(node.dataset.line), last = shown.lines.length - 1;
  const next = { ArrowDown: Math.min(here + 1, last), ArrowUp: Math.max(here - 1, 0), Home: 0, End: last, Enter: here, " ": here }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  pick(next, "key");
});
$("before").addEventListener("click", () => go(at.job, at.page - 1));
$("after").addEventListener("click", () => go(at.job, at.page + 1));
$("document").addEventListener("change", (event) => go(Number(event.target.value), 0));
$("boxes").addEventListener("change", (event) => { $("overlay").style.display = event.target.checked ? "" : "none"; });
$("zoom").addEventListener("input", (event) => { $("sheet").style.width = event.target.value + "%"; });
tabs($("tab-text").parentElement, (name) => { form = name; });

const sayHere = (text) => { $(opened ? "jobs-status" : "status").textContent = text; };

$("copy").addEventListener("click", async () => {
  if (!shown) return;
  const text = { json: shown.json, markdown: shown.markdown, text: shown.page.text }[form];
  if (!text) return sayHere(word("copy_nothing"));
  sayHere(!(await copied(text)) ? word("copy_impossible") : form === "json" && shown.cut ? word("copied_cut") : word("copied"));
});

// Copies the text; returns whether it worked. Browsers offer `navigator.clipboard` only over https and on localhost.
async function copied(text) {
  try { await navigator.clipboard.writeText(text); return true; } catch { /* try the older way */ }
  const field = make("textarea", { readonly: true, class: "ink-offscreen", "aria-hidden": "true" });
  field.value = text;
  element.append(field);
  field.select();
  let done = false;
  try { done = document.execCommand("copy"); } catch { /* it can't */ }
  field.remove();
  $("copy").focus();
  return done;
}

for (const button of element.querySelectorAll("[data-format]")) {
  button.addEventListener("click", async () => {
    try {
      const found = readable()[at.job];
      const file = found.job ? await jobFile(found, button.dataset.format) : await call("download", { result: found.result, format: button.dataset.format });
      const url = URL.createObjectURL(new Blob([file.content], { type: file.type }));
      make("a", { href: url, download: file.name }).click();
      setTimeout(() => URL.revokeObjectURL(url), 10000);
      sayHere(word("downloaded", { name: file.name }));
    } catch (error) { $("notes").append(problemBox(error.told || unreachable(error.message).told)); }
  });
}
