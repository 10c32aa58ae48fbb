// The service: its address, the visitor's key, requests, and errors in plain words.
import { $, make, icon } from "./dom.js";
import { word, session, detailWords, problemWords } from "./words.js";

export const home = new URL("../", location.href);
const ACCEPTED = "inkgate-key-accepted";
export const keyOf = () => session.get("inkgate-key");
const authorization = () => (keyOf() ? { Authorization: "Bearer " + keyOf() } : {});

export class Problem extends Error {
  constructor(told) { super(told.title || told.code); this.told = told; }
}

export const unreachable = () => new Problem({ code: "unreachable", title: word("error_unreachable"), detail: "", remedy: word("error_unreachable_do") });
export const stopped = (error) => error instanceof DOMException && error.name === "AbortError";

// Of any error, what is shown. An error of the page itself goes to the console as well.
export function toldOf(error) {
  if (error instanceof Problem) return error.told;
  console.error(error);
  return { code: "page", title: word("error_other"), detail: String(error && error.message || error), remedy: word("error_other_do") };
}

function inWords(told, status, retryAfter) {
  const own = problemWords(told.code);
  return new Problem({
    code: told.code || "", status, title: own[0] || told.title || word("error_other"), detail: detailWords(told.detail) || (told.title ? "" : "HTTP " + status),
    remedy: own[1] || told.remedy || word("error_other_do"), request_id: told.request_id, retry_after_s: Number(retryAfter) || told.retry_after_s || null,
  });
}
export const pageProblem = (error) => inWords({ title: error.title, ...error }, 0, error.retry_after_s).told;

async function problemOf(answer) {
  let told = {};
  try { told = await answer.json(); } catch { /* no problem document: the status tells */ }
  return inWords(told && typeof told === "object" ? told : {}, answer.status, answer.headers.get("retry-after"));
}

// Sends a request with the visitor's key; asks for one if the service wants it. Throws Problem, or AbortError if `signal` says so.
export async function request(method, path, { json, body, headers, signal } = {}) {
  for (;;) {
    const used = keyOf();
    let answer;
    try {
      answer = await fetch(new URL(path, home), {
        method, signal, body: json === undefined ? body : JSON.stringify(json),
        headers: { ...authorization(), ...(json === undefined ? {} : { "Content-Type": "application/json" }), ...headers },
      });
    } catch (error) {
      if (stopped(error)) throw error;
      throw unreachable();
    }
    if (answer.ok) { if (used) session.set(ACCEPTED, "1"); return answer; }
    const problem = await problemOf(answer);
    if (answer.status === 401 && keyOf() !== used) continue; // another request asked for it meanwhile
    if (answer.status !== 401 || !(await askKey(Boolean(used)))) throw problem;
  }
}

export const get = async (path, options) => (await request("GET", path, options)).json();

// The lines of an NDJSON answer, as they come. A connection that breaks is a Problem.
export async function* linesOf(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let parts = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const pieces = value.split("\n");
      parts.push(pieces[0]);
      for (const piece of pieces.slice(1)) {
        const line = parts.join("");
        parts = [piece];
        if (line) yield JSON.parse(line);
      }
    }
  } catch (error) {
    if (stopped(error)) throw error;
    throw unreachable();
  } finally { reader.cancel().catch(() => {}); }
}

// Keeps a file in the service's memory, for its pictures. Only XMLHttpRequest tells how much was sent.
export async function upload(blob, name, { onPercent, signal }) {
  for (;;) {
    const used = keyOf();
    const answer = await new Promise((resolve, reject) => {
      const sending = new XMLHttpRequest();
      sending.open("POST", new URL("v1/files", home));
      for (const [header, value] of Object.entries(authorization())) sending.setRequestHeader(header, value);
      sending.upload.onprogress = (event) => { if (event.lengthComputable) onPercent(Math.floor(100 * event.loaded / event.total)); };
      sending.onload = () => resolve(sending);
      sending.onerror = () => reject(unreachable());
      sending.onabort = () => reject(new DOMException("stopped", "AbortError"));
      if (signal.aborted) { sending.onabort(); return; }
      signal.addEventListener("abort", () => sending.abort(), { once: true });
      const form = new FormData();
      form.append("purpose", "ocr");
      form.append("file", blob, name);
      sending.send(form);
    });
    if (answer.status === 200) return JSON.parse(answer.responseText).id;
    const headers = { "retry-after": answer.getResponseHeader("retry-after") || "" };
    const problem = await problemOf(new Response(answer.responseText, { status: Math.max(answer.status, 400), headers }));
    if (answer.status !== 401 || !(await askKey(Boolean(used)))) throw problem;
  }
}

// Runs `action`, again after the time that an overloaded service names, up to `times` times.
export async function patiently(action, { signal, onWait, times = 4 }) {
  for (let turn = 1; ; turn += 1) {
    try { return await action(); } catch (error) {
      const told = error instanceof Problem ? error.told : {};
      if (![429, 503].includes(told.status) || turn >= times) throw error;
      const seconds = Math.min(told.retry_after_s || 2, 30);
      onWait(seconds);
      await new Promise((resolve, reject) => {
        const timer = setTimeout(resolve, seconds * 1000);
        signal.addEventListener("abort", () => { clearTimeout(timer); reject(new DOMException("stopped", "AbortError")); }, { once: true });
      });
    }
  }
}

export function problemBox(told, where, ...actions) {
  return make("div", { class: "problem", role: "alert" },
    make("h3", {}, where ? where + ": " + told.title : told.title),
    told.detail ? make("p", {}, told.detail) : null,
    told.remedy ? make("p", {}, make("b", {}, word("what_to_do")), " " + told.remedy) : null,
    told.retry_after_s ? make("p", {}, word("try_again", { seconds: Math.ceil(told.retry_after_s) })) : null,
    actions.length ? make("p", { class: "row" }, ...actions) : null,
    told.request_id ? make("p", { class: "small" }, word("request_id", { id: told.request_id })) : null);
}
export const againButton = (run) => make("button", { type: "button", class: "second", onclick: run }, icon("again"), word("again"));

// The dialog for a key. One at a time: requests that need a key meanwhile wait for the same answer.
let asking = null;
export function askKey(wrong) {
  if (!asking) {
    asking = new Promise((resolve) => { answerKey = resolve; }).finally(() => { asking = null; });
    $("key-wrong").textContent = wrong ? word("key_wrong") : "";
    $("key-forget").hidden = !keyOf();
    $("key-input").value = "";
    if (!$("key-dialog").open) $("key-dialog").showModal();
    $("key-input").focus();
  }
  return asking;
}
let answerKey = () => {};

function close(answer) {
  $("key-dialog").close();
  $("key-button").hidden = !keyOf();
  answerKey(answer);
}

// Another key is another person, perhaps: `forget` removes what was kept, and the page starts again.
// A key that was never accepted has nothing to forget, and requests wait for the right one.
export function startKeys(forget) {
  const change = async (key) => {
    const before = keyOf();
    if (before && before !== key && session.get(ACCEPTED)) {
      await forget();
      session.set("inkgate-key", key);
      session.set(ACCEPTED, "");
      history.replaceState(null, "", location.pathname + location.search);
      location.reload();
      return;
    }
    session.set("inkgate-key", key);
    close(Boolean(key));
  };
  $("key-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const key = $("key-input").value.trim();
    $("key-input").value = "";
    if (!key) return;
    if (!/^[!-~]+$/.test(key)) { $("key-wrong").textContent = word("key_wrong"); return; } // a header can't carry it
    change(key);
  });
  $("key-cancel").addEventListener("click", () => close(false));
  $("key-dialog").addEventListener("cancel", (event) => { event.preventDefault(); close(false); });
  $("key-forget").addEventListener("click", () => change(""));
  $("key-button").addEventListener("click", () => askKey(false));
  $("key-button").hidden = !keyOf();
}
