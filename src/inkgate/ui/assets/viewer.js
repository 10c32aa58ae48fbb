// The picture of a page with boxes. Boxes and entries of the result lead to each other by their ids.
import { draw, make, icon } from "./dom.js";
import { word, fillWords, onLanguage } from "./words.js";
import { request } from "./api.js";

const KEPT = 12;
const MAX_BOXES = 4000;
const LOCAL = /^image\/(png|jpeg|webp|bmp|gif|avif)$/;
const LARGEST_SIDE = 2200;

// Pictures of a document's pages: the browser's own where it can show the file, else the service's.
export class Pictures {
  constructor({ blob, fileId }) {
    this.blob = blob;
    this.fileId = fileId || "";
    this.jobId = ""; // of a job whose document the service has
    this.sending = null; // while the file is sent
    this.kept = new Map();
  }

  get local() { return Boolean(this.blob) && LOCAL.test(this.blob.type); }

  // Where the service has the document; empty if it has not.
  get source() { return this.fileId ? `v1/files/${encodeURIComponent(this.fileId)}` : this.jobId ? `v1/jobs/${encodeURIComponent(this.jobId)}` : ""; }

  // A node that shows the page, turned by `rotation` degrees clockwise; null if there is none.
  async page(index, rotation, pages) {
    const key = `${index}/${rotation}/${this.local && pages <= 1}`;
    if (!this.kept.has(key)) {
      const made = this.local && pages <= 1 && index === 0 ? local(this.blob, rotation) : this.source ? remote(this.source, index, rotation) : Promise.resolve(null);
      this.kept.set(key, made.catch(() => null));
      if (this.kept.size > KEPT) this.forget(this.kept.keys().next().value);
    }
    const node = await this.kept.get(key);
    if (!node) this.kept.delete(key);
    return node;
  }

  forget(key) {
    const made = this.kept.get(key);
    this.kept.delete(key);
    made.then((node) => { if (node && node.src) URL.revokeObjectURL(node.src); });
  }

  release() { for (const key of [...this.kept.keys()]) this.forget(key); }
}

async function local(blob, rotation) {
  const bitmap = await createImageBitmap(blob);
  const scale = Math.min(1, LARGEST_SIDE / Math.max(bitmap.width, bitmap.height));
  const width = Math.round(bitmap.width * scale), height = Math.round(bitmap.height * scale);
  const canvas = make("canvas");
  const sideways = rotation % 180 !== 0;
  [canvas.width, canvas.height] = sideways ? [height, width] : [width, height];
  const context = canvas.getContext("2d");
  context.translate(canvas.width / 2, canvas.height / 2);
  context.rotate(rotation * Math.PI / 180);
  context.drawImage(bitmap, -width / 2, -height / 2, width, height);
  bitmap.close();
  return canvas;
}

async function remote(source, index, rotation) {
  const answer = await request("GET", `${source}/pages/${index + 1}?turn=${rotation}&side=1600`);
  const node = make("img", { alt: "", src: URL.createObjectURL(await answer.blob()) });
  await node.decode();
  return node;
}

export class Viewer {
  // `root`: an empty element. `onPick(id)`: a box was chosen; `onHover(id)`: the mouse is on one, or null.
  constructor(root, onPick) {
    this.onPick = onPick;
    this.zoom = 1;
    this.shown = 0;
    const button = (name, label, run) => make("button", { type: "button", class: "quiet square", "data-label": label, onclick: run }, icon(name));
    this.sheet = make("div", { class: "sheet" });
    this.overlay = draw("svg", { class: "overlay", preserveAspectRatio: "none", "aria-hidden": "true" });
    this.missing = make("p", { class: "missing", "data-word": "picture_missing" });
    this.missing.hidden = true;
    this.stage = make("div", { class: "stage", tabindex: "0", role: "group", "data-label": "picture" }, this.sheet, this.missing);
    this.boxesOn = make("input", { type: "checkbox", checked: true, onchange: () => this.overlay.classList.toggle("off", !this.boxesOn.checked) });
    this.legend = make("ul", { class: "legend" });
    this.tools = make("div", { class: "bar tools" },
      make("label", { class: "check" }, this.boxesOn, make("span", { "data-word": "boxes" })),
      make("span", { class: "row end" }, button("minus", "zoom_out", () => this.zoomTo(this.zoom / 1.25)), button("plus", "zoom_in", () => this.zoomTo(this.zoom * 1.25))));
    this.tip = make("div", { class: "tip", "aria-hidden": "true" });
    this.tip.hidden = true;
    root.append(this.tools, this.stage, this.legend, this.tip);
    fillWords(root);
    onLanguage(() => this.describe());
    this.overlay.addEventListener("click", (event) => { const id = event.target.dataset.id; if (id) { this.pick(id, false); this.onPick(id); } });
    this.overlay.addEventListener("pointermove", (event) => this.hover(event));
    this.overlay.addEventListener("pointerleave", () => { this.tip.hidden = true; });
  }

  // `page`: {pictures, index, rotation, width, height, pages, name}. `boxes`: [{id, kind, box | quad, tip, strong}].
  async show(page, boxes, legend) {
    const turn = (this.shown += 1);
    this.page = page;
    this.boxes(boxes, legend);
    this.sheet.classList.add("old");
    const node = await page.pictures.page(page.index, page.rotation, page.pages);
    if (turn !== this.shown) return;
    this.sheet.classList.remove("old");
    this.missing.hidden = Boolean(node);
    this.sheet.hidden = !node;
    if (!node) return;
    node.classList.add("picture");
    this.sheet.replaceChildren(node, this.overlay);
    this.describe();
  }

  boxes(boxes, legend) {
    const { width, height } = this.page;
    this.byId = new Map();
    this.overlay.setAttribute("viewBox", `0 0 ${width || 1} ${height || 1}`);
    this.overlay.replaceChildren(...boxes.slice(0, MAX_BOXES).map((one) => {
      const points = one.quad || [[one.box[0], one.box[1]], [one.box[2], one.box[1]], [one.box[2], one.box[3]], [one.box[0], one.box[3]]];
      const node = draw("polygon", { points: points.map(([x, y]) => `${x},${y}`).join(" "), class: `box ${one.kind}`, "data-id": one.id });
      if (!this.byId.has(one.id)) this.byId.set(one.id, []);
      this.byId.get(one.id).push(node);
      node.tip = one.tip;
      return node;
    }));
    this.legend.replaceChildren(...(legend || []).map(([kind, text]) => make("li", {}, make("span", { class: "swatch " + kind }), text)));
    this.legend.hidden = !(legend || []).length;
    this.describe();
  }

  describe() {
    const node = this.sheet.querySelector(".picture");
    if (!node || !this.page) return;
    const text = word("picture_of", { name: this.page.name, page: this.page.index + 1, boxes: this.overlay.childElementCount });
    if (node.tagName === "IMG") node.alt = text;
    else { node.setAttribute("role", "img"); node.setAttribute("aria-label", text); }
  }

  // Lights a box up. `scroll`: so that it can be seen.
  pick(id, scroll = true) {
    for (const node of this.overlay.querySelectorAll(".picked")) node.classList.remove("picked");
    const nodes = (this.byId && this.byId.get(id)) || [];
    for (const node of nodes) { node.classList.add("picked"); this.overlay.append(node); }
    if (!nodes.length || !scroll) return;
    const box = nodes[0].getBoundingClientRect(), stage = this.stage.getBoundingClientRect();
    if (box.top < stage.top || box.bottom > stage.bottom) this.stage.scrollTop += box.top - stage.top - (stage.height - box.height) / 2;
    if (box.left < stage.left || box.right > stage.right) this.stage.scrollLeft += box.left - stage.left - (stage.width - box.width) / 2;
  }

  hover(event) {
    const text = event.target.tip;
    this.tip.hidden = !text;
    if (!text) return;
    this.tip.textContent = text;
    const width = this.tip.offsetWidth;
    this.tip.style.left = Math.max(4, Math.min(event.clientX + 12, window.innerWidth - width - 8)) + "px";
    this.tip.style.top = Math.min(event.clientY + 16, window.innerHeight - this.tip.offsetHeight - 8) + "px";
  }

  zoomTo(zoom) {
    this.zoom = Math.min(4, Math.max(1, zoom));
    this.sheet.style.width = Math.round(this.zoom * 100) + "%";
  }
}
