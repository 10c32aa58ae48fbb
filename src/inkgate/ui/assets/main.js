// The start of the page: languages, keys, views, and what is dropped or pasted anywhere on it.
import { $, startMenus, tabs } from "./dom.js";
import { loadWords } from "./words.js";
import { get, startKeys } from "./api.js";
import { drawOptions, forget, options, restore, startRead, take, openJob, whereabouts } from "./read.js";
import { learn, service } from "./documents.js";
import { forgetWanted, learnTypes, restoreFields, reviewJob, showReviews, startExtract, takeForFields } from "./extract.js";
import { addJobs, showJobs, startJobs } from "./jobs.js";
import { showLive, startLive } from "./live.js";
import { startCode } from "./code.js";

const VIEWS = ["read", "extract", "jobs", "live"];
let view = "read";

function startLook() {
  const stored = () => { try { return localStorage.getItem("inkgate-look"); } catch { return null; } };
  const apply = (look) => { document.documentElement.dataset.look = look; $("look").setAttribute("aria-pressed", String(look === "dark")); };
  const system = matchMedia("(prefers-color-scheme: dark)");
  const now = () => stored() || (system.matches ? "dark" : "light");
  apply(now());
  system.addEventListener("change", () => apply(now()));
  $("look").addEventListener("click", () => {
    const look = document.documentElement.dataset.look === "dark" ? "light" : "dark";
    try { localStorage.setItem("inkgate-look", look); } catch { /* not kept */ }
    apply(look);
  });
}

function startDropping(show) {
  let depth = 0;
  const over = (on) => { $("veil").hidden = !on; };
  const hasFiles = (event) => event.dataTransfer && [...event.dataTransfer.types].includes("Files");
  window.addEventListener("dragenter", (event) => { if (hasFiles(event)) { event.preventDefault(); depth += 1; over(true); } });
  window.addEventListener("dragover", (event) => { if (hasFiles(event)) event.preventDefault(); });
  window.addEventListener("dragleave", () => { depth = Math.max(0, depth - 1); if (!depth) over(false); });
  const accept = (files) => {
    if (!files.length || document.querySelector("dialog[open]")) return;
    if (view === "extract") takeForFields(files);
    else if (view === "jobs" && service.jobs) addJobs(files);
    else { show("read"); take(files); }
  };
  window.addEventListener("drop", (event) => {
    depth = 0;
    over(false);
    if (!hasFiles(event)) return;
    event.preventDefault();
    accept([...event.dataTransfer.files]);
  });
  document.addEventListener("paste", (event) => { if (event.clipboardData.files.length) { event.preventDefault(); accept([...event.clipboardData.files]); } });
}

async function start() {
  startLook();
  startMenus();
  await loadWords();
  startKeys(() => { forgetWanted(); return forget(); });
  const show = tabs($("views"), (name) => {
    view = name;
    document.body.dataset.view = name;
    showJobs(name === "jobs");
    showLive(name === "live");
    if (name === "extract") showReviews();
    history.replaceState(null, "", name === "read" ? whereabouts() : "#" + name);
  });
  startRead();
  startExtract();
  startJobs((job, blob) => { show("read"); openJob(job, blob); }, (job) => { show("extract"); reviewJob(job); });
  startLive();
  startCode(options);
  startDropping(show);
  const wanted = location.hash.slice(1);
  const linked = /^job\/([\w-]{1,100})$/.exec(wanted);
  if (VIEWS.includes(wanted)) show(wanted);
  const restored = restore().then(restoreFields);
  document.documentElement.dataset.ready = "1";
  try {
    await learn();
    drawOptions();
    $("tab-jobs").hidden = !service.jobs;
    $("extract-later-row").hidden = !service.jobs;
    await learnTypes();
  } catch { /* each request says what is wrong */ }
  await restored;
  if (linked) openJob(await get("v1/jobs/" + linked[1]).catch(() => ({ id: linked[1], name: linked[1] })), null);
}

start();
