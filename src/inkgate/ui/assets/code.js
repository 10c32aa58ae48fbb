// "Use it from code": the request that the page makes, for other programs, with this service's address.
import { $, make, tabs, copyText, confirmAt } from "./dom.js";
import { word, onLanguage } from "./words.js";
import { address, service } from "./documents.js";
import { shownName } from "./read.js";
import { keyOf } from "./api.js";

const KEY = "YOUR_KEY";

const quoted = (value) => (/^[\w,.-]+$/.test(value) ? value : `'${String(value).replaceAll("'", "'\\''")}'`);

// The name of a file as curl takes it after @: in quotes, since "," and ";" part names from options.
const fileOfCurl = (name) => (/^[\w.-]+$/.test(name) ? name : `'"${name.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("'", "'\\''")}"'`);

// One command, for the view that is shown. Pasted into a shell it runs as it is, in the folder of the document.
function curl(url, options) {
  const key = keyOf() ? ` -H 'Authorization: Bearer ${KEY}'` : "";
  if (document.body.dataset.view === "extract") return `curl -F file=@receipt.jpg${$("extract-type").value ? ` -F type=${$("extract-type").value}` : ""}${key} ${url}/extract`;
  const file = fileOfCurl(shownName() || "document.pdf");
  return `curl -F file=@${file}${options.map(([name, value]) => ` -F ${name}=${quoted(value)}`).join("")} -H 'Accept: text/markdown'${key} \\
  ${url}/ocr`;
}

function python(url, options) {
  const read = options.map(([name, value]) => `, ${JSON.stringify(name)}: ${JSON.stringify(value)}`).join("").slice(2);
  return `import httpx  # pip install httpx

with open("document.pdf", "rb") as file:
    answer = httpx.post(
        "${url}/ocr",
        files={"file": file},
        data={${read}},
${keyOf() ? `        headers={"Authorization": "Bearer ${KEY}"},\n` : ""}        timeout=600,
    )
answer.raise_for_status()
for page in answer.json()["pages"]:
    print(page["markdown"])`;
}

function javascript(url, options) {
  return `const form = new FormData();
form.append("file", file); // a File or Blob
${options.map(([name, value]) => `form.append(${JSON.stringify(name)}, ${JSON.stringify(value)});`).join("\n")}

const answer = await fetch("${url}/ocr", {
  method: "POST",
  body: form,${keyOf() ? `\n  headers: { Authorization: "Bearer ${KEY}" },` : ""}
});
if (!answer.ok) throw new Error((await answer.json()).detail);
const { pages } = await answer.json();
console.log(pages.map((page) => page.markdown).join("\\n\\n"));`;
}

function mistral(url) {
  return `from mistralai.client import Mistral  # pip install mistralai

client = Mistral(api_key="${KEY}", server_url="${url}")
with open("document.pdf", "rb") as file:
    uploaded = client.files.upload(
        file={"file_name": "document.pdf", "content": file}, purpose="ocr"
    )
signed = client.files.get_signed_url(file_id=uploaded.id)
answer = client.ocr.process(
    model="mistral-ocr-latest",
    document={"type": "document_url", "document_url": signed.url},
)
print("\\n\\n".join(page.markdown for page in answer.pages))`;
}

function openai(url) {
  const model = service.models[0] || "MODEL";
  return `${service.embedded ? `# ${word("code_no_chat")}\n` : ""}import base64
from openai import OpenAI  # pip install openai

client = OpenAI(api_key="${KEY}", base_url="${url}/v1")
with open("page.png", "rb") as file:
    image = base64.b64encode(file.read()).decode()
answer = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{image}"}},
        {"type": "text", "text": "OCR:"},
    ]}],
)
print(answer.choices[0].message.content)`;
}

const WAYS = { curl: ["curl", curl], python: ["Python", python], javascript: ["JavaScript", javascript], mistral: ["Mistral", mistral], openai: ["OpenAI", openai] };

export function startCode(options) {
  let way = "curl";
  const list = $("code-tabs");
  list.append(...Object.entries(WAYS).map(([name, [title]], place) => make("button", {
    type: "button", role: "tab", "data-tab": name, id: "code-tab-" + name, "aria-controls": "code-panel", "aria-selected": String(!place), tabindex: place ? "-1" : "0" }, title)));
  const show = () => {
    $("code-panel").hidden = false;
    $("code-panel").setAttribute("aria-labelledby", "code-tab-" + way);
    $("code-text").textContent = WAYS[way][1](address(), Object.entries(options()).filter(([name]) => name !== "password"));
  };
  tabs(list, (name) => { way = name; show(); });
  onLanguage(show);
  $("code-button").addEventListener("click", () => { show(); $("code-dialog").showModal(); });
  $("code-close").addEventListener("click", () => $("code-dialog").close());
  $("code-copy").addEventListener("click", async () => confirmAt($("code-copy"), word((await copyText($("code-text").textContent)) ? "copied" : "copy_impossible")));
}
