// The Jobs tab. It asks for the list when it is opened and after each change, and goes on every two seconds only while a
// job goes on and the page is visible. Names of documents are set as text, never as HTML.
const JOBS_EVERY_MS = 2000;
const JOBS_AGAIN_MS = 10000; // after an error that may pass
const JOBS_LISTED = 50;
const SUFFIXES = { text: ".txt", markdown: ".md", json: ".json", hocr: ".hocr", alto: ".alto.xml" };
const HAS_RESULT = ["succeeded", "partial"];
let inJobs = false;
let listing = false;
let listAgain = false; // asked for once more while a list was on its way
let jobsLimit = JOBS_LISTED;
let jobsTimer = 0;
const jobRows = new Map(); // by ID: {text, row}

const number = (value) => new Intl.NumberFormat(language).format(value);
const sayJobs = (text) => { $("jobs-status").textContent = text; };

function showJobs(now) {
  inJobs = now;
  if (now) lookAtJobs(true);
  else if (opened) closeJob();
}

async function lookAtJobs(fresh) {
  clearTimeout(jobsTimer);
  if (!inJobs || document.hidden || !element.isConnected) return;
  if (listing) { listAgain = listAgain || fresh === true; return; }
  listing = true;
  let wait = 0;
  try {
    const told = await call("jobs", { limit: jobsLimit, fresh: fresh === true });
    drawJobs(told);
    $("jobs-problem").replaceChildren();
    if (told.jobs.some((job) => !job.ended)) wait = JOBS_EVERY_MS;
  } catch (error) {
    const problem = error.told || unreachable(error.message).told;
    $("jobs-loading").hidden = true;
    $("jobs-problem").replaceChildren(problemBox(problem));
    if (problem.status === 401) enter(() => lookAtJobs(true));
    else if (!problem.status || problem.status === 429 || problem.status === 503) wait = Math.max(JOBS_AGAIN_MS, 1000 * (problem.retry_after_s || 0));
  } finally { listing = false; }
  if (listAgain) { listAgain = false; lookAtJobs(true); } else if (wait) jobsTimer = setTimeout(lookAtJobs, wait);
}
document.addEventListener("visibilitychange", () => lookAtJobs(false));
rewriters.push(() => { jobRows.clear(); lookAtJobs(true); });

function drawJobs(told) {
  $("jobs-loading").hidden = true;
  $("jobs-empty").hidden = told.jobs.length > 0;
  $("jobs-table").hidden = !told.jobs.length;
  $("jobs-more").hidden = !told.more;
  const focused = element.contains(document.activeElement) ? document.activeElement.dataset : {};
  const { job: focusedJob, act } = focused;
  const rows = told.jobs.map((job) => {
    const text = JSON.stringify(job), kept = jobRows.get(job.id);
    if (kept && kept.text === text) return kept.row;
    const row = jobRow(job);
    jobRows.set(job.id, { text, row });
    return row;
  });
  const listed = new Set(told.jobs.map((job) => job.id));
  for (const id of [...jobRows.keys()]) if (!listed.has(id)) jobRows.delete(id);
  const before = [...$("jobs-rows").children];
  if (rows.length !== before.length || rows.some((row, place) => row !== before[place])) {
    $("jobs-rows").replaceChildren(...rows);
    if (focusedJob) {
      const again = [...$("jobs-rows").querySelectorAll("button")].find((node) => node.dataset.job === focusedJob && node.dataset.act === act);
      if (again && document.activeElement !== again) again.focus({ preventScroll: true });
    }
  }
  if (opened) follow(told.jobs.find((job) => job.id === opened.job));
}

function jobRow(job) {
  const cell = (name, ...children) => make("td", { role: "cell", "data-column": word(name) }, ...children);
  const problem = job.problem ? make("div", { class: "ink-job-problem" }, make("b", {}, job.problem.title), job.problem.detail ? make("p", {}, job.problem.detail) : null,
    job.problem.remedy ? make("p", {}, word("what_to_do") + " " + job.problem.remedy) : null) : null;
  return make("tr", { role: "row", class: "ink-job", "data-row": job.id },
    cell("document", make("div", { class: "ink-job-title", title: job.name }, job.name), problem),
    cell("job_state", make("span", { class: "ink-chip ink-state-" + job.state }, word("state_" + job.state))),
    cell("job_progress", ...jobProgress(job)),
    cell("job_times", ...jobTimes(job)),
    make("td", { role: "cell", class: "ink-job-actions" }, ...jobActions(job)));
}

function jobProgress(job) {
  const parts = [];
  const small = (text) => parts.push(make("div", { class: "ink-small" }, text));
  if (job.state === "queued" && job.position !== null) small(job.position ? word("job_ahead", { count: number(job.position) }) : word("job_next"));
  if (!job.ended && (job.pages || job.state !== "queued")) {
    const share = job.pages ? Math.round(100 * job.saved / job.pages) : 0;
    const bar = make("div", { class: "ink-job-bar" + (job.pages ? "" : " ink-unknown"), role: "progressbar", "aria-label": word("job_progress") + ": " + job.name,
      "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": job.pages ? share : null }, make("span", {}));
    bar.firstElementChild.style.width = share + "%";
    parts.push(bar);
    small(job.pages ? word("job_pages_of", { done: number(job.saved), count: number(job.pages) }) : word("job_opening"));
  }
  if (job.ended && job.saved) small(job.pages && job.saved < job.pages ? word("job_pages_of", { done: number(job.saved), count: number(job.pages) }) : word("job_pages", { count: number(job.saved) }));
  if (job.failed) parts.push(make("div", { class: "ink-small ink-wrong" }, word("job_failed_pages", { count: number(job.failed) })));
  if (!job.ended && job.eta_s !== null) small(word(job.state === "queued" ? "job_left_least" : "job_left", { time: timeLeft(job.eta_s) })); // jobs that run already are not counted
  return parts;
}

function timeLeft(seconds) {
  if (seconds < 60) return word("time_seconds", { count: Math.max(1, Math.round(seconds)) });
  if (seconds < 5400) return word("time_minutes", { count: Math.round(seconds / 60) });
  return word("time_hours", { count: number(Math.round(seconds / 360) / 10) });
}

function jobTimes(job) {
  const short = new Intl.DateTimeFormat(language === "en" ? "en-GB" : language, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
  return [["job_added", job.added_at], ["job_started", job.started_at], ["job_ended", job.ended_at]].filter(([, at]) => at).map(([name, at]) =>
    make("div", { class: "ink-small" }, word(name) + " ", make("time", { datetime: at, title: new Date(at).toLocaleString(language) }, short.format(new Date(at)))));
}

function jobActions(job) {
  const button = (act, name, run) => make("button", { class: "ink-second", "data-job": job.id, "data-act": act, "aria-label": word(name) + ": " + job.name, onclick: run }, word(name));
  const parts = [];
  if (job.saved) parts.push(button("show", "job_show", () => openJob(job)));
  if (job.state === "queued" || job.state === "running") parts.push(button("cancel", "cancel", () => change(job, "POST", "/cancel", "job_cancel_asked")));
  if (job.ended && job.state !== "succeeded") parts.push(button("retry", "job_retry", () => change(job, "POST", "/retry", "job_retried")));
  if (job.ended) parts.push(button("remove", "job_remove", () => { if (confirm(word("job_remove_sure", { name: job.name }))) change(job, "DELETE", "", "job_removed"); }));
  return parts;
}

async function change(job, method, part, done) {
  try {
    await api(method, "v1/jobs/" + job.id + part);
    sayJobs(word(done, { name: job.name }));
    if (method === "DELETE" && opened && opened.job === job.id) closeJob();
    await lookAtJobs(true);
  } catch (error) {
    await lookAtJobs(true);
    $("jobs-problem").replaceChildren(problemBox(error.told, job.name));
  }
}

// The job in the viewer. The picture is there for an hour, if the file was added in this tab.
function openJob(job) {
  $("job").hidden = false;
  $("job-name").textContent = job.name;
  showInViewer({ job: job.id, name: job.name, done: job.saved, count: job.pages || job.saved, failed: job.failed, whole: HAS_RESULT.includes(job.state), file: pictures()[job.id] || "", ends: [] });
  tellOfJob(job);
  $("job").focus({ preventScroll: true });
  $("job").scrollIntoView({ block: "start" });
}

function closeJob() {
  $("job").hidden = true;
  showInViewer(null);
}
$("job-close").addEventListener("click", closeJob);

function tellOfJob(job) {
  const text = !job.ended ? word("job_unfinished", { done: number(job.saved) }) : HAS_RESULT.includes(job.state) ? "" : word("job_some_pages", { done: number(job.saved) });
  $("job-notes").replaceChildren(...(text ? [make("p", { class: "ink-note" }, text)] : []));
}

function follow(job) {
  if (!job || !job.saved) return closeJob();
  const anew = job.saved < opened.done, other = opened.failed !== job.failed;
  Object.assign(opened, { done: job.saved, count: job.pages || job.saved, failed: job.failed, whole: HAS_RESULT.includes(job.state) });
  $("downloads").hidden = !opened.whole;
  tellOfJob(job);
  if (anew) { opened.ends = []; go(0, 0); } else if (other && shown && shown.problem) go(0, at.page); else drawWhere();
}

// A page of a job, by its place among the saved ones. The service is asked for the first page after an index, so the
// pages before it have to be known, which they are, unless someone is faster than the network.
async function jobPage(found, place) {
  const { ends } = found;
  for (let before = ends.length; before < place; before += 1) await loadJobPage(found.job, ends, before);
  return loadJobPage(found.job, ends, place);
}

async function loadJobPage(job, ends, place) {
  const told = await call("job_page", { job, after: place ? ends[place - 1] : -1 });
  ends[place] = told.page.index;
  return told;
}

async function jobFile(found, format) {
  const answer = await api("GET", `v1/jobs/${found.job}/result?format=${format}`);
  return { content: await answer.blob(), type: answer.headers.get("content-type"), name: (found.name.replace(/\.[^.]*$/, "") || "document") + SUFFIXES[format] };
}

function pictures() { try { return JSON.parse(session.get("inkgate-job-files") || "{}"); } catch { return {}; } }

// Adds a job for each chosen file that was sent.
async function readLater() {
  const files = chosen.filter((file) => file.id);
  if (!files.length || busy || adding) return;
  adding = true;
  drawFiles();
  $("problems").replaceChildren();
  forgetFailure();
  const task = $("task").value, options = { task, pages: $("pages").value.trim(), pdf_text: $("pdf").value };
  if (task === "extract") options.fields = $("fields").value.replaceAll("，", ",");
  if (task === "translate") options.language = $("translate").value.trim();
  let count = 0;
  for (const file of files) {
    try {
      const job = await (await api("POST", "v1/jobs", { source: { file_id: file.id }, name: file.name, ...options })).json();
      session.set("inkgate-job-files", JSON.stringify(Object.fromEntries([...Object.entries(pictures()).slice(-49), [job.id, file.id]])));
      chosen = chosen.filter((each) => each !== file);
      count += 1;
    } catch (error) {
      $("problems").append(problemBox(error.told, file.name));
      if (error.told.status === 401) { enter(readLater); break; }
    }
  }
  adding = false;
  drawFiles();
  if (!count) return;
  if (count === files.length) $("tab-jobs").click();
  sayJobs(word("jobs_added", { count }));
}

$("later").addEventListener("click", readLater);
$("jobs-refresh").addEventListener("click", () => lookAtJobs(true));
$("jobs-more").addEventListener("click", () => { jobsLimit += JOBS_LISTED; lookAtJobs(true); });
