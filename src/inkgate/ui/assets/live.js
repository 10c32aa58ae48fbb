// The view "Live": a verdict in words, why, the last quarter of an hour, and recent documents.
import { $, make, plain } from "./dom.js";
import { word, number, duration, dateText, onLanguage, session } from "./words.js";
import { get, problemBox, toldOf } from "./api.js";
import { Charts } from "./charts.js";
import { recent } from "./read.js";
import { service } from "./documents.js";

const EVERY_MS = 3000;
const RECENT_S = 30; // for current problems: a page of the embedded engine may take some seconds
const MAX_RECENT = 12;
const RANGES = [2, 5, 15]; // minutes; the service keeps a quarter of an hour
let shown = false, asking = false, state = null, jobs = [], drawn;

export function startLive() {
  drawn = new Charts($("charts"));
  setInterval(look, EVERY_MS);
  document.addEventListener("visibilitychange", look);
  onLanguage(() => { if (state) drawState(); });
}

export function showLive(now) {
  shown = now;
  look();
}

async function look() {
  if (!shown || asking || document.hidden) return;
  asking = true;
  try {
    [state, jobs] = await Promise.all([get("state"), service.jobs ? get(`v1/jobs?limit=${MAX_RECENT}`).then((found) => found.jobs, () => []) : []]);
    $("live-problem").replaceChildren();
    drawState();
  } catch (error) { $("live-problem").replaceChildren(problemBox(toldOf(error))); } finally { asking = false; }
}

const sum = (values) => values.reduce((total, value) => total + value, 0);

// The state of the service in one sentence: [its word, its values, its colour, what to do about it].
export function verdictOf(now) {
  const near = now.history.filter((point) => point.at > now.at - RECENT_S);
  const broken = now.breakers.filter((breaker) => breaker.state === "open").map((breaker) => breaker.name);
  if (!now.ready) return ["verdict_down", { why: now.reasons.join("; ") || "?" }, "bad", "advice_down"];
  if (broken.length) return ["verdict_breaker", { name: broken.join(", ") }, "bad", "advice_breaker"];
  const refused = sum(near.map((point) => point.refused * point.span_s));
  if (refused > 0 && !near.some((point) => point.pages)) return ["verdict_refusing", { seconds: Math.round(refusingS(now)) }, "bad", "advice_overloaded"];
  const waiting = Math.max(0, ...now.queues.map((queue) => sum(Object.values(queue.waiting))));
  if (waiting) {
    const seconds = Math.max(1, Math.round(Math.max(...now.queues.map((queue) => Math.max(queue.backlog_s || 0, queue.longest_wait_s)))));
    return [refused ? "verdict_busy_refusing" : "verdict_busy", { count: number(waiting), seconds: number(seconds) }, "warn", refused ? "advice_overloaded" : "advice_busy"];
  }
  if (refused) return ["verdict_some_refused", {}, "warn", "advice_overloaded"];
  const took = near.map((point) => point.p50_s).filter((value) => value !== null).at(-1);
  if (took !== undefined) return ["verdict_reading", { time: duration(took) }, "good", ""];
  return now.admission.documents ? ["verdict_working", { count: number(now.admission.documents) }, "good", ""] : ["verdict_idle", {}, "good", ""];
}

function refusingS(now) {
  let since = 0;
  for (const point of [...now.history].reverse()) { if (point.pages) break; if (point.refused) since = now.at - (point.at - point.span_s); }
  return since;
}

// How many cores other programs use, by the last half minute, where little is left for the service: over a fifth of all, which are busy. Else 0.
export function coresOfOthers(now) {
  const near = now.history.filter((point) => point.at > now.at - RECENT_S && point.cpu !== null && point.cpu_all !== null);
  const mean = (take) => sum(near.map(take)) / near.length;
  if (!near.length || mean((point) => point.cpu_all) < 0.8) return 0;
  const used = mean((point) => point.cpu_all) * now.build.cores - mean((point) => point.cpu);
  return used < 0.2 * now.build.cores ? 0 : Math.round(used * 10) / 10;
}

function drawState() {
  const [name, values, style, advice] = verdictOf(state);
  $("verdict").textContent = word(name, values);
  $("verdict").className = "verdict big " + style;
  $("advice").textContent = advice ? word(advice) : "";
  $("advice").hidden = !advice;
  $("chips").replaceChildren(...chips());
  drawCharts();
  drawRecent();
}

// The range is the one that was chosen, else the smallest that shows all.
function drawCharts() {
  const known = state.history.length ? state.history.at(-1).at - state.history[0].at : 0;
  const minutes = Number(session.get("inkgate-minutes")) || RANGES.find((count) => known <= 60 * count) || RANGES.at(-1);
  $("live-title").textContent = word("live_title", { count: minutes });
  const buttons = $("live-range").children.length ? [...$("live-range").children] : RANGES.map((count) => make("button", { type: "button", class: "quiet", onclick: () => { session.set("inkgate-minutes", String(count)); drawCharts(); } }));
  buttons.forEach((button, place) => { button.textContent = word("time_minutes", { count: RANGES[place] }); button.setAttribute("aria-pressed", String(RANGES[place] === minutes)); });
  $("live-range").replaceChildren(...buttons);
  drawn.draw(charts(minutes));
}

function charts(minutes) {
  const history = state.history.filter((point) => point.at >= state.history.at(-1).at - 60 * minutes);
  const line = (name, take, style = "one", filled = false) => ({ name: word(name), values: history.map(take), style, filled });
  const chart = (name, unit, series, more) => ({ name, title: word(name), unit: unit ? word(unit, { count: minutes }) : "", at: history.map((point) => point.at), spanS: 60 * minutes, series, ...more });
  const one = (title, unit, take, more) => chart(title, unit, [line(title, take, "one", true)], more);
  const waiting = !state.queues.some((queue) => queue.name === "calls") ? [line("live_waiting", (p) => p.waiting, "one", true)]
    : [line("pages_waiting", (p) => p.pages_waiting, "one", true), line("calls_waiting", (p) => p.waiting, "two")];
  const all = [
    one("live_qps", "per_second", (p) => p.requests),
    chart("live_latency", "seconds", [line("p50", (p) => p.p50_s), line("p95", (p) => p.p95_s, "two")], { trims: true, leastTop: 0.1 }),
    one("live_pages", "per_second", (p) => p.pages),
    chart("live_waiting", "", waiting),
    chart("live_in_flight", "", [line("in_flight", (p) => p.in_flight, "one", true), line("limit", (p) => p.limit, "two")]),
    chart("live_refusals", "in_minutes", [line("refused", (p) => Math.round(p.refused * p.span_s), "two"), line("failed", (p) => Math.round(p.failed * p.span_s), "three")], { counts: word("in_seconds", { count: 5 }) }),
    chart("live_cpu", "cores", [line("live_own", (p) => p.cpu, "one", true), line("live_all_programs", (p) => (p.cpu_all === null ? null : p.cpu_all * state.build.cores), "two")], { leastTop: Math.max(1, state.build.cores) }),
    one("live_cache", "percent_of_pages", (p) => p.cache_share, { percent: true }),
  ];
  if (history.some((p) => p.gpu !== null)) all.push(chart("live_gpu", "", [line("live_gpu", (p) => p.gpu, "one", true), line("live_gpu_memory", (p) => p.gpu_memory, "two")], { percent: true }));
  if (history.some((p) => p.kv_usage !== null)) all.push(one("live_kv", "", (p) => p.kv_usage, { percent: true }));
  if (history.some((p) => p.mean_batch !== null)) all.push(chart("live_batch", "items", [line("live_batch", (p) => p.mean_batch)]));
  return all;
}

function chips() {
  const chip = (text, style = "") => make("span", { class: "badge " + style }, text);
  const { build } = state;
  const memory = sum(state.processes.map((process) => process.rss_bytes));
  const found = [
    state.ready ? chip(word("live_ready"), "good") : chip(`${word("live_not_ready")}: ${state.reasons.join("; ")}`, "bad"),
    chip(`${build.model || build.engine} · ${build.inference_engine}`), chip(word("live_up", { time: duration(state.at - state.started_at) })),
    chip(word("live_memory", { size: memory >= 1e9 ? (memory / 1e9).toFixed(1) + " GB" : Math.round(memory / 1e6) + " MB" })),
  ];
  const levels = state.degradation_levels.slice(0, state.degradation_level).filter((name) => build.engine !== "ppocr" || ["image", "shed"].includes(name));
  if (levels.length) found.push(chip(word("live_degraded", { name: levels.map((name) => word("level_" + name)).join(", ") }), "warn"));
  const others = coresOfOthers(state);
  if (others) found.push(chip(word("live_others", { used: number(others), count: number(build.cores) }), "warn"));
  for (const breaker of state.breakers) if (breaker.state !== "closed") found.push(chip(word("live_breaker", { name: breaker.name }), "bad"));
  if (state.replicas.length) {
    const up = state.replicas.filter((replica) => replica.state === "up").length;
    found.push(chip(word("live_replicas", { up, count: state.replicas.length }), up === state.replicas.length ? "good" : "bad"));
  }
  return found;
}

// The documents of this tab, and the caller's jobs.
function drawRecent() {
  const own = recent().map((doc) => ({ name: doc.name, pages: doc.pages.length, took: doc.took, at: performance.timeOrigin + doc.began + doc.took * 1000, text: doc.status === "failed" ? doc.problem.title : doc.stateText(), bad: doc.status === "failed" }));
  const later = jobs.filter((job) => job.ended).map((job) => ({
    name: plain(job.name), pages: job.pages.saved, took: job.started ? (new Date(job.ended) - new Date(job.started)) / 1000 : null, at: Date.parse(job.ended), text: word("job_" + job.state), bad: ["failed", "quarantined"].includes(job.state) }));
  const rows = [...own, ...later].sort((a, b) => b.at - a.at).slice(0, MAX_RECENT);
  $("recent").hidden = !rows.length;
  $("recent-rows").replaceChildren(...rows.map((row) => make("tr", {}, make("td", { class: "name" }, row.name), make("td", { class: "wide-only" }, number(row.pages)),
    make("td", {}, row.took === null ? "–" : duration(row.took)), make("td", { class: "wide-only" }, row.took && row.pages ? duration(row.took / row.pages) : "–"), make("td", { class: row.bad ? "bad-text" : "" }, row.text), make("td", {}, dateText(row.at, { timeStyle: "medium" })))));
}
