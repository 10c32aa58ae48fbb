// The service: its address, the visitor's key, and error messages.
const home = new URL("../", location.href);
let afterKey = null;

const key = () => session.get("inkgate-key");
const asked = (more) => ({ key: key(), language, ...more });
const authorized = () => (key() ? { Authorization: "Bearer " + key() } : {});

class Problem extends Error {
  constructor(told) { super(told.title); this.told = told; }
}

function unreachable(detail) {
  return new Problem({ code: "unreachable", title: word("error_unreachable"), detail: detail || "", remedy: word("error_unreachable_do") });
}

async function problemOf(answer) {
  let told = {};
  try { told = await answer.json(); } catch { /* no problem document: show the status */ }
  const known = ((props.problems || {})[language] || {})[told.code];
  if (known) [told.title, told.remedy] = known;
  return new Problem({ title: told.title || word("error_other"), detail: told.detail || "HTTP " + answer.status,
    remedy: told.remedy || word("error_other_do"), code: told.code || "", request_id: told.request_id,
    retry_after_s: Number(answer.headers.get("retry-after")) || null, status: answer.status });
}

// Calls a server function of the page.
async function call(name, more) {
  let answer;
  try { answer = await server["ink_" + name](asked(more)); } catch (error) { throw unreachable(String(error.message || error)); }
  if (!answer) throw unreachable(); // Gradio's client swallows errors of the network
  if (answer.error) throw new Problem(answer.error);
  return answer;
}

// Sends a request to the API with the visitor's key. Throws Problem.
async function api(method, path, body) {
  const headers = { ...authorized(), ...(body ? { "Content-Type": "application/json" } : {}) };
  let answer;
  try { answer = await fetch(new URL(path, home), { method, headers, body: body && JSON.stringify(body) }); } catch (error) { throw unreachable(String(error.message || error)); }
  if (!answer.ok) throw await problemOf(answer);
  return answer;
}

function problemBox(told, where) {
  const request = told.request_id ? make("p", { class: "ink-small" }, word("request_id", { id: told.request_id })) : null;
  const again = told.retry_after_s ? make("p", {}, word("try_again", { seconds: Math.ceil(told.retry_after_s) })) : null;
  return make("div", { class: "ink-problem" },
    make("h3", {}, where ? where + ": " + told.title : told.title),
    told.detail ? make("p", {}, told.detail) : null,
    told.remedy ? make("p", {}, make("b", {}, word("what_to_do")), " " + told.remedy) : null, again, request);
}

function askKey(then, wrong) {
  afterKey = then || null;
  $("key-wrong").textContent = wrong ? word("key_wrong") : "";
  $("key-forget").hidden = !key();
  if (!$("key").open) $("key").showModal();
  $("key-input").focus();
}

// Checks the visitor's access; asks for a key if the service requires one.
async function enter(then) {
  let answer;
  try { answer = await fetch(new URL("v1/models", home), { headers: authorized() }); } catch { return false; }
  if (answer.status === 401) {
    $("key-button").hidden = false;
    askKey(then, Boolean(key()));
    return false;
  }
  $("key-button").hidden = !key();
  if ($("key").open) $("key").close();
  if (then) then();
  return true;
}

$("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  session.set("inkgate-key", $("key-input").value.trim());
  $("key-input").value = "";
  enter(afterKey);
});
$("key-cancel").addEventListener("click", () => $("key").close());
$("key-forget").addEventListener("click", () => { session.set("inkgate-key", ""); $("key").close(); enter(null); });
$("key-button").addEventListener("click", () => askKey(null, false));

const NEVER_DARK = "light";
$("dark").addEventListener("click", () => {
  const dark = document.body.classList.toggle("dark");
  try { localStorage.setItem("inkgate-look", dark ? "dark" : NEVER_DARK); } catch { /* not kept */ }
});
try {
  const look = localStorage.getItem("inkgate-look");
  if (look) document.body.classList.toggle("dark", look === "dark");
} catch { /* the system's setting applies */ }
