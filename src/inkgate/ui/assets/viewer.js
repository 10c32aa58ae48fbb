// The picture of a page with boxes, and thumbnails. Boxes and entries of the result lead to each other by their ids.
import { draw, make, icon } from "./dom.js";
import { word, fillWords, onLanguage } from "./words.js";
import { request } from "./api.js";

const KEPT = 12;
const MAX_BOXES = 4000;
const LOCAL = /^image\/(png|jpeg|webp|bmp|gif|avif)$/;
const LARGEST_SIDE = 2200;
const SMALL_SIDE = 160; // of a thumbnail
const GAP = 3, LINE_GAP = 1; // CSS pixels between ink and box; lines are close to each other, and have some room already
const SPLIT = "inkgate-split";
const MIDDLE = 51; // percent
const [MIN_ZOOM, MAX_ZOOM] = [0.2, 6];

// Pictures of a document's pages: the browser's own where it can show the file, else the service's.
export class Pictures {
  constructor({ blob, fileId }) {
    this.blob = blob;
    this.fileId = fileId || "";
    this.jobId = ""; // of a job whose document the service has
    this.sending = null; // while the file is sent
    this.kept = new Map();
    this.small = new Map();
    this.turn = Promise.resolve(); // thumbnails are made one by one
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

  // A thumbnail of a page whose document the service has; null if there is none, or `wanted` says no when its turn comes.
  thumbnail(index, rotation, wanted) {
    if (!this.small.has(index)) {
      this.turn = this.turn.then(() => (wanted() && this.source ? remote(this.source, index, rotation, SMALL_SIDE).catch(() => null) : null));
      this.small.set(index, this.turn);
      this.turn.then((node) => { if (!node) this.small.delete(index); });
    }
    return this.small.get(index);
  }

  forget(key) {
    const made = this.kept.get(key);
    this.kept.delete(key);
    made.then((node) => { if (node && node.src) URL.revokeObjectURL(node.src); });
  }

  release() {
    for (const key of [...this.kept.keys()]) this.forget(key);
    for (const made of this.small.values()) made.then((node) => { if (node) URL.revokeObjectURL(node.src); });
    this.small.clear();
  }
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

async function remote(source, index, rotation, side = 1600) {
  const answer = await request("GET", `${source}/pages/${index + 1}?turn=${rotation}&side=${side}`);
  const node = make("img", { alt: "", src: URL.createObjectURL(await answer.blob()) });
  await node.decode();
  return node;
}

// The corners of a convex polygon, moved outwards by `gap` along both of their edges.
export function outset(points, gap) {
  const away = ([x, y], [u, v]) => { const far = Math.hypot(x - u, y - v); return far ? [(x - u) / far, (y - v) / far] : [0, 0]; };
  return points.map((point, at) => {
    const [a, b] = [away(point, points.at(at - 1)), away(point, points[(at + 1) % points.length])];
    return [point[0] + gap * (a[0] + b[0]), point[1] + gap * (a[1] + b[1])];
  });
}

export class Viewer {
  // `root`: an empty element. `onPick(id)`: a box was chosen; `onHover(id)`: the mouse is on one, or null.
  constructor(root, onPick) {
    this.onPick = onPick;
    Object.assign(this, { zoom: 1, whole: false, turned: 0, shown: 0, given: [[], []] });
    const button = (name, label, run) => make("button", { type: "button", class: "quiet square", "data-label": label, onclick: run }, icon(name));
    this.sheet = make("div", { class: "sheet" });
    this.group = draw("g");
    this.overlay = draw("svg", { class: "overlay", preserveAspectRatio: "none", "aria-hidden": "true" }, this.group);
    this.missing = make("p", { class: "missing", "data-word": "picture_missing" });
    this.missing.hidden = true;
    this.stage = make("div", { class: "stage", tabindex: "0", role: "group", "data-label": "picture" }, this.sheet, this.missing);
    this.boxesOn = make("input", { type: "checkbox", checked: true, onchange: () => this.overlay.classList.toggle("off", !this.boxesOn.checked) });
    this.legend = make("ul", { class: "legend" });
    this.share = make("button", { type: "button", class: "quiet zoom", "data-tip": "fit_width", onclick: () => this.zoomTo(1) });
    this.tools = make("div", { class: "bar tools" },
      make("label", { class: "check" }, this.boxesOn, make("span", { "data-word": "boxes" })),
      make("span", { class: "row end" }, button("minus", "zoom_out", () => this.zoomTo(this.zoom / 1.25)), this.share, button("plus", "zoom_in", () => this.zoomTo(this.zoom * 1.25)),
        button("whole", "fit_page", () => this.fit()), button("turn", "rotate", () => this.rotate())));
    this.thumbs = make("div", { class: "thumbs", role: "group", "data-label": "thumbnails" });
    this.thumbs.hidden = true;
    this.tip = make("div", { class: "tip", "aria-hidden": "true" });
    this.tip.hidden = true;
    root.append(this.tools, make("div", { class: "viewer-body" }, this.thumbs, this.stage), this.legend, this.tip);
    fillWords(root);
    onLanguage(() => {
      this.describe();
      for (const thumb of this.thumbs.children) thumb.setAttribute("aria-label", word("thumbnail", { page: thumb.page.index + 1 }));
    });
    this.overlay.addEventListener("click", (event) => { const id = event.target.dataset.id; if (id) { this.pick(id, false); this.onPick(id); } });
    this.overlay.addEventListener("pointermove", (event) => this.hover(event));
    this.overlay.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    this.stage.addEventListener("wheel", (event) => { if (event.ctrlKey || event.metaKey) { event.preventDefault(); this.zoomTo(this.zoom * (event.deltaY < 0 ? 1.1 : 1 / 1.1)); } }, { passive: false });
    this.stage.addEventListener("keydown", (event) => {
      const act = { "+": () => this.zoomTo(this.zoom * 1.25), "=": () => this.zoomTo(this.zoom * 1.25), "-": () => this.zoomTo(this.zoom / 1.25), 0: () => this.zoomTo(1), r: () => this.rotate() }[event.key];
      if (act && !event.ctrlKey && !event.metaKey && !event.altKey) { event.preventDefault(); act(); }
    });
    new ResizeObserver(() => this.outline()).observe(this.overlay);
    new ResizeObserver(() => { if (this.whole) this.fit(); }).observe(this.stage);
    this.zoomTo(1);
  }

  // `page`: {pictures, index, rotation, width, height, pages, name}. `boxes`: [{id, kind, box | quad, tip, strong}].
  async show(page, boxes, legend) {
    const turn = (this.shown += 1);
    if (!this.page || this.page.pictures !== page.pictures || this.page.index !== page.index) this.turned = 0;
    this.page = page;
    this.boxes(boxes, legend);
    this.sheet.classList.add("old");
    const node = await page.pictures.page(page.index, (page.rotation + this.turned) % 360, page.pages);
    if (turn !== this.shown) return;
    this.sheet.classList.remove("old");
    this.missing.hidden = Boolean(node);
    this.sheet.hidden = !node;
    if (!node) return;
    node.classList.add("picture");
    this.sheet.replaceChildren(node, this.overlay);
    this.describe();
    if (this.whole) this.fit();
  }

  // A blank page, until there is a picture.
  blank() {
    this.shown += 1;
    this.page = null;
    this.missing.hidden = true;
    this.sheet.hidden = false;
    this.sheet.classList.remove("old");
    this.sheet.replaceChildren(make("div", { class: "blank-page loading" }));
  }

  boxes(boxes, legend) {
    const { width, height } = this.page;
    this.given = [boxes, legend];
    this.byId = new Map();
    this.overlay.setAttribute("viewBox", this.turned % 180 ? `0 0 ${height || 1} ${width || 1}` : `0 0 ${width || 1} ${height || 1}`);
    this.group.setAttribute("transform", { 0: "", 90: `matrix(0 1 -1 0 ${height} 0)`, 180: `matrix(-1 0 0 -1 ${width} ${height})`, 270: `matrix(0 -1 1 0 0 ${width})` }[this.turned]);
    this.group.replaceChildren(...boxes.slice(0, MAX_BOXES).map((one) => {
      const points = one.quad || [[one.box[0], one.box[1]], [one.box[2], one.box[1]], [one.box[2], one.box[3]], [one.box[0], one.box[3]]];
      const node = draw("polygon", { class: `box ${one.kind}`, "data-id": one.id });
      node.corners = points;
      if (!this.byId.has(one.id)) this.byId.set(one.id, []);
      this.byId.get(one.id).push(node);
      node.tip = one.tip;
      return node;
    }));
    this.legend.replaceChildren(...(legend || []).map(([kind, text]) => make("li", {}, make("span", { class: "swatch " + kind }), text)));
    this.legend.hidden = !(legend || []).length;
    this.outline();
    this.describe();
  }

  // Draws the boxes a little outside of what they are around, at every zoom. Cells end where the lines of their table are,
  // unless one is picked.
  outline() {
    if (!this.page || !this.page.width) return;
    const pixel = (this.turned % 180 ? this.page.height : this.page.width) / (this.overlay.clientWidth || this.stage.clientWidth || 1);
    for (const node of this.group.children) {
      const gap = node.matches(".cell") ? (node.matches(".picked") ? GAP - 1 : 0) : node.matches(".sure, .likely, .doubtful") ? LINE_GAP : GAP;
      const corners = outset(node.corners, gap * pixel);
      node.setAttribute("points", corners.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" "));
    }
  }

  describe() {
    const node = this.sheet.querySelector(".picture");
    if (!node || !this.page) return;
    const text = word("picture_of", { name: this.page.name, page: this.page.index + 1, boxes: this.group.childElementCount });
    if (node.tagName === "IMG") node.alt = text;
    else { node.setAttribute("role", "img"); node.setAttribute("aria-label", text); }
  }

  // Lights a box up. `scroll`: so that it can be seen.
  pick(id, scroll = true) {
    for (const node of this.overlay.querySelectorAll(".picked")) node.classList.remove("picked");
    const nodes = (this.byId && this.byId.get(id)) || [];
    for (const node of nodes) { node.classList.add("picked"); this.group.append(node); }
    this.outline();
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

  // `zoom`: 1 is as wide as the place. The middle of what is seen stays.
  zoomTo(zoom, whole = false) {
    const { stage } = this, before = this.zoom;
    this.whole = whole;
    this.zoom = Math.min(MAX_ZOOM, Math.max(MIN_ZOOM, zoom));
    this.sheet.style.width = Math.round(this.zoom * 100) + "%";
    this.share.textContent = Math.round(this.zoom * 100) + "%";
    const middle = (start, size) => (start + size / 2) * this.zoom / before - size / 2;
    stage.scrollTo(middle(stage.scrollLeft, stage.clientWidth), middle(stage.scrollTop, stage.clientHeight));
  }

  // The whole page in sight.
  fit() {
    const node = this.sheet.querySelector(".picture");
    if (node && node.offsetHeight) this.zoomTo(Math.min(1, (this.stage.clientHeight - 2) * node.offsetWidth / node.offsetHeight / this.stage.clientWidth), true);
  }

  // Turns what is shown, not what is read.
  async rotate() {
    if (!this.page) return;
    this.turned = (this.turned + 90) % 360;
    await this.show(this.page, ...this.given);
  }

  // `pages`: those of the document so far, `at`: the place of the one shown. `onGo(place)`: another was chosen.
  thumbnails(pictures, pages, at, onGo) {
    this.thumbs.hidden = pages.length < 2;
    if (this.thumbs.hidden) { this.thumbs.replaceChildren(); this.strip = null; return; }
    if (this.strip !== pages) {
      if (this.seen) this.seen.disconnect();
      this.strip = pages;
      this.thumbs.replaceChildren();
      this.seen = new IntersectionObserver((entries) => { for (const { target, isIntersecting } of entries) { target.seen = isIntersecting; if (isIntersecting) this.thumbnail(target, pictures); } }, { root: this.thumbs, rootMargin: "200px" });
    }
    for (let place = this.thumbs.children.length; place < pages.length; place += 1) {
      const thumb = make("button", { type: "button", class: "thumb", tabindex: "-1", "aria-label": word("thumbnail", { page: pages[place].index + 1 }), onclick: () => onGo(place), onkeydown: (event) => {
        const next = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: pages.length - 1 }[event.key];
        if (next === undefined || !this.thumbs.children[next]) return;
        event.preventDefault();
        onGo(next);
        this.thumbs.children[next].focus();
      } }, make("span", { class: "small" }, String(pages[place].index + 1)));
      thumb.page = pages[place];
      this.thumbs.append(thumb);
      this.seen.observe(thumb);
    }
    const thumb = this.thumbs.children[at], before = this.thumbs.querySelector("[aria-current]");
    if (thumb === before) return;
    if (before) { before.tabIndex = -1; before.removeAttribute("aria-current"); }
    thumb.tabIndex = 0;
    thumb.setAttribute("aria-current", "page");
    const box = thumb.getBoundingClientRect(), strip = this.thumbs.getBoundingClientRect();
    if (box.top < strip.top || box.bottom > strip.bottom) this.thumbs.scrollTop += box.top - strip.top - (strip.height - box.height) / 2;
  }

  async thumbnail(thumb, pictures) {
    if (thumb.firstChild.tagName === "IMG") return;
    const node = await pictures.thumbnail(thumb.page.index, thumb.page.rotation, () => thumb.isConnected && thumb.seen);
    if (node && thumb.firstChild.tagName !== "IMG") thumb.prepend(node);
  }
}

// A bar between two columns, moved by mouse or arrow keys. The browser keeps where it stands.
export function startSplitter(bar) {
  const columns = bar.parentElement;
  const move = (share) => {
    const left = Math.round(Math.min(75, Math.max(25, share)));
    columns.style.setProperty("--left", left + "fr");
    columns.style.setProperty("--right", 100 - left + "fr");
    bar.setAttribute("aria-valuenow", String(left));
    try { localStorage.setItem(SPLIT, String(left)); } catch { /* a reload forgets it */ }
  };
  const at = () => Number(bar.getAttribute("aria-valuenow"));
  bar.addEventListener("pointerdown", (event) => { bar.setPointerCapture(event.pointerId); event.preventDefault(); bar.focus(); });
  bar.addEventListener("pointermove", (event) => {
    if (!bar.hasPointerCapture(event.pointerId)) return;
    const { left, width } = columns.getBoundingClientRect();
    move(100 * (event.clientX - left) / width);
  });
  bar.addEventListener("dblclick", () => move(MIDDLE));
  bar.addEventListener("keydown", (event) => {
    const share = { ArrowLeft: at() - 2, ArrowRight: at() + 2, Home: 25, End: 75 }[event.key];
    if (share !== undefined) { event.preventDefault(); move(share); }
  });
  let stored = 0;
  try { stored = Number(localStorage.getItem(SPLIT)); } catch { /* it stands in the middle */ }
  if (stored) move(stored);
}
