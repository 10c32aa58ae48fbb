// A run, from the button to the last page; and the start of the page.
let busy = false;
let run = "";

function say(text) { $("status").textContent = text; }

function setBusy(now) {
  busy = now;
  $("go").hidden = now;
  $("stop").hidden = !now;
  $("progress").hidden = !now;
  drawFiles();
}

function go_read() {
  const files = chosen.filter((file) => file.id).map((file) => ({ id: file.id, name: file.name }));
  if (!files.length || busy) return;
  $("problems").replaceChildren();
  forgetFailure();
  jobs = [];
  run = String(Date.now());
  setBusy(true);
  say(word("progress_begin", { name: files[0].name }));
  progress(0, 0);
  trigger("submit", asked({ run, files, task: $("task").value, pages: $("pages").value, pdf_text: $("pdf").value,
    fields: $("fields").value, translate_to: $("translate").value }));
}

function forgetFailure() {
  $("failure").hidden = true;
  $("empty").hidden = readable().length > 0;
}

function progress(done, count) {
  const share = count ? Math.round(100 * done / count) : 0;
  const bar = $("bar");
  bar.classList.toggle("ink-unknown", !count);
  bar.firstElementChild.style.width = share + "%";
  if (count) bar.setAttribute("aria-valuenow", share); else bar.removeAttribute("aria-valuenow");
}

function told() {
  const value = props.value;
  if (!value || value.run !== run) return;
  setJobs(value.jobs);
  setOutcomes(value.jobs);
  const job = value.jobs.find((each) => each.status === "reading");
  if (job) {
    say(word(job.count ? "progress_page" : job.done ? "progress_pages" : "progress_begin", job));
    progress(job.done, job.count);
  }
  if (value.ended && busy) ended(value.jobs);
}

function ended(all) {
  setBusy(false);
  const pages = all.reduce((sum, job) => sum + job.done, 0);
  const failures = all.filter((job) => job.error);
  if (failures.some((job) => job.error.status === 401)) enter(go_read);
  const boxes = failures.map((job) => problemBox(job.error, job.name));
  const none = boxes.length > 0 && !readable().length;
  $("failure").hidden = !none;
  $("failure").replaceChildren(...(none ? [make("h2", {}, word("failed_title")), ...boxes] : []));
  if (none) $("empty").hidden = true;
  $("problems").replaceChildren(...(none ? [] : boxes),
    ...all.filter((job) => job.failed && !job.error).map((job) => make("p", { class: "ink-note" }, job.name + ": " + word("partial", { failed: job.failed, count: job.done }))));
  say(pages ? word(all.length > 1 ? "progress_done" : "progress_one", { files: all.length - failures.length, pages }) : "");
}

$("options").addEventListener("submit", (event) => { event.preventDefault(); go_read(); });
$("stop").addEventListener("click", () => {
  trigger("stop");
  run = "";
  for (const file of chosen) if (file.outcome && file.outcome.status === "reading") file.outcome = null;
  setBusy(false);
  say(word("progress_stopped"));
});
watch("value", told);

async function open() {
  setLanguage(language);
  try {
    if (!session.get("inkgate-language")) setLanguage((await server.ink_greet({})).language);
  } catch { /* stays in English */ }
  enter(async () => {
    try {
      const about = await call("about", {});
      $("engine").textContent = about.models.length === 1 && about.models[0] === about.engine ? about.engine : about.engine + " (" + about.models.join(", ") + ")";
      maxBytes = about.max_bytes || 0;
      later = about.jobs !== false;
      drawFiles();
      tasks = EMBEDDED.has(about.engine) ? TASKS.slice(0, 2) : TASKS;
      writeOptions();
    } catch { /* the engine's name is optional */ }
  });
}
open();
