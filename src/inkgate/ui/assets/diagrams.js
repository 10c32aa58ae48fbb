// Diagrams in Mermaid, drawn. Loaded with the first diagram. Mermaid runs in a sandboxed frame (diagram/frame.html), because the
// page forbids what it needs; what comes back is shown as an image, in which no script can run.
import { confirmAt, copyText, icon, make, save } from "./dom.js";
import { word } from "./words.js";

const PATIENCE_MS = 20_000;
const LARGEST = 5_000_000;
const KEPT = 20;
const before = new Map(); // what was drawn, by its source: a page that is shown again needs no new drawing
let frame = null;
let last = 0;
const waiting = new Map();

function start() {
  const node = make("iframe", { class: "drawing-frame", sandbox: "allow-scripts", title: word("diagram"), "aria-hidden": "true", tabindex: "-1", src: new URL("diagram/frame.html", import.meta.url).href });
  frame = { node, ready: null };
  frame.ready = new Promise((resolve) => { frame.begin = resolve; });
  document.body.append(node);
}

addEventListener("message", ({ data, source }) => {
  if (!frame || source !== frame.node.contentWindow || !data) return;
  if (data.waiting === true) { load(source); return; }
  if (data.ready === true) { frame.begin(); return; }
  const told = waiting.get(data.id);
  waiting.delete(data.id);
  if (told) told(data);
});

// The frame's origin may ask the service for nothing, so it gets Mermaid from here.
async function load(target) {
  const answer = await fetch(new URL("diagram/mermaid.js", import.meta.url));
  if (answer.ok) target.postMessage({ code: await answer.text() }, "*");
}

// What the frame makes of the source: {svg, width, height}, or {problem}.
function asked(source) {
  if (!frame) start();
  const { ready, node } = frame;
  return new Promise((resolve) => {
    const id = (last += 1);
    const giveUp = setTimeout(() => { // it hangs: a new one is made for the next diagram
      waiting.delete(id);
      if (frame && frame.node === node) frame = null;
      node.remove();
      resolve({ problem: word("diagram_slow") });
    }, PATIENCE_MS);
    waiting.set(id, (answer) => { clearTimeout(giveUp); resolve(answer); });
    ready.then(() => node.contentWindow && node.contentWindow.postMessage({ id, source }, "*"));
  });
}

const button = (name, sign, run) => make("button", { type: "button", class: "quiet", onclick: (event) => { event.stopPropagation(); run(event.currentTarget); } }, sign ? icon(sign) : null, make("span", { class: "label" }, word(name)));

// Puts the drawing above the source in `node`. `known`: what the service says of the diagram, if it says something.
export async function draw(node, source, known) {
  const copy = button("diagram_copy", "copy", async (one) => confirmAt(one, word((await copyText(source)) ? "copied" : "copy_impossible")));
  const pre = node.querySelector("pre");
  const tools = make("div", { class: "row small" }, copy);
  node.prepend(tools);
  const { svg, width, height, problem } = before.get(source) || await asked(source);
  if (typeof svg !== "string" || svg.length > LARGEST) {
    tools.before(make("p", { class: "note" }, word("diagram_broken"), make("pre", {}, String(problem || (known && known.problem) || "").slice(0, 1000))));
    return;
  }
  before.delete(source);
  before.set(source, { svg, width, height });
  if (before.size > KEPT) before.delete(before.keys().next().value);
  const blob = new Blob([svg], { type: "image/svg+xml" });
  const image = make("img", { class: "pictured drawn", alt: word("diagram"), width: Number(width) || null, height: Number(height) || null });
  image.addEventListener("load", () => URL.revokeObjectURL(image.src), { once: true });
  image.src = URL.createObjectURL(blob);
  tools.before(image);
  tools.append(button("diagram_svg", null, () => save("diagram.svg", "image/svg+xml", svg)));
  if (known && Array.isArray(known.repairs) && known.repairs.length) tools.append(make("span", { class: "faint" }, word("diagram_repaired", { what: known.repairs.join(", ") })));
  const folded = make("details", {}, make("summary", { class: "small" }, word("diagram_source")));
  pre.replaceWith(folded);
  folded.append(pre);
}
