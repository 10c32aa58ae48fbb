// The result of one page: preview, Markdown source, text and JSON, with doubtful words marked and editable.
import { make, icon, tabs, copyText, confirmAt, inPortions, announce } from "./dom.js";
import { word, known, percent, number, fillWords, onLanguage } from "./words.js";
import { diagramNode, renderMarkdown } from "./markdown.js";
import { csvOfCells, csvOfElement, tableFromCells } from "./tables.js";
import { pageProblem, problemBox } from "./api.js";
import { markdownOf } from "./figures.js";
import { correctLine, correctWord, doubtsOf, isDoubtful, located, wordsOf } from "./corrections.js";

const MAX_SHOWN = 300_000;
const MAX_BLOCKS = 2000;
const LINK = /^!\[Figure\]\([^()\s]*\)\n*/; // to the image that is shown instead
const BASE64 = /^[A-Za-z0-9+/=]+$/;
const VIEWS = ["preview", "source", "text", "json"];
export const KINDS = ["title", "text", "list", "table", "figure", "caption", "formula", "header", "footer", "reference", "barcode", "stamp", "checkbox"];

export class Result {
  // `onPick(id)`: an entry was chosen. `onChange()`: the page was corrected. `onView(name)`: another form is shown.
  constructor(root, { onPick, onChange, onView }) {
    Object.assign(this, { onPick, onChange, onView, view: "preview", page: null });
    const id = (name) => "result-" + name;
    this.list = make("div", { role: "tablist", class: "tabs small-tabs", "data-label": "result_views" }, VIEWS.map((name, place) => make("button", {
      type: "button", role: "tab", id: id("tab-" + name), "data-tab": name, "aria-controls": id(name), "aria-selected": String(!place), tabindex: place ? "-1" : "0", "data-word": "view_" + name })));
    this.doubts = make("button", { type: "button", class: "quiet doubts", onclick: () => this.nextDoubt() });
    this.notes = make("div", { class: "notes" });
    this.panels = Object.fromEntries(VIEWS.map((name, place) => [name, make("div", { class: "form " + name, role: "tabpanel", id: id(name), "aria-labelledby": id("tab-" + name), tabindex: "0", hidden: place > 0 })]));
    root.append(make("div", { class: "bar" }, this.list, make("span", { class: "row end" }, this.doubts)), this.notes, ...Object.values(this.panels));
    this.showTab = tabs(this.list, (name) => { this.view = name; this.drawPanel(); onView(name); });
    fillWords(root);
    onLanguage(() => { if (this.page) this.show(this.page); });
    for (const name of ["preview", "text"]) {
      this.panels[name].addEventListener("click", (event) => this.clicked(event));
      this.panels[name].addEventListener("keydown", (event) => this.pressed(event));
    }
  }

  show(page) {
    this.page = page;
    this.at = -1;
    this.drawn = new Set();
    this.entries = new Map();
    this.notes.replaceChildren(...notesOf(page));
    this.drawDoubts();
    this.drawPanel();
    for (const panel of Object.values(this.panels)) panel.scrollTop = 0;
  }

  drawDoubts() {
    const count = doubtsOf(this.page).length;
    this.doubts.hidden = !count;
    this.doubts.replaceChildren(make("mark", { class: "doubt" }, number(count)), make("span", { class: "label" }, word("doubts")), make("kbd", {}, "N"));
    this.doubts.title = word("doubts_tip");
  }

  drawPanel() {
    if (!this.page || this.drawn.has(this.view)) return;
    this.drawn.add(this.view);
    const panel = this.panels[this.view];
    panel.replaceChildren();
    if (this.view === "preview") this.drawPreview(panel);
    else if (this.view === "text") this.drawText(panel);
    else panel.append(...cut(this.view === "json" ? JSON.stringify(this.page, shortened, 2) : markdownOf(this.page) ?? word("no_markdown")));
  }

  drawPreview(panel) {
    const { page } = this;
    const left = page.left_out.map((part) => part.text).filter(Boolean);
    if (page.blocks && page.blocks.length) {
      this.portions = inPortions(panel, page.blocks, (block, place) => this.blockNode(block, place), (count) => word("more", { count: number(count) }));
    } else if (page.markdown) {
      const whole = make("div", { class: "block text" });
      const [shown, note] = cut(page.markdown);
      this.markDoubts(renderMarkdown(shown.textContent, whole), page.lines.map((_, index) => index));
      for (const table of whole.querySelectorAll("table")) table.parentElement.before(csvButton(() => csvOfElement(table)));
      panel.append(...[whole, note].filter(Boolean));
    } else if (page.lines.length) {
      panel.append(make("p", { class: "note" }, word("no_markdown")));
      this.drawText(panel);
    } else if (!page.error) panel.append(make("p", { class: "faint" }, word("no_text")));
    if (page.fields) panel.append(make("pre", {}, JSON.stringify(page.fields, null, 2)));
    if (left.length) panel.append(make("p", { class: "small faint" }, word("left_out", { texts: left.join(" · ").slice(0, 2000) })));
  }

  blockNode(block, place) {
    const id = "b" + place;
    const node = make("div", { class: "block " + block.type, "data-id": id, tabindex: "-1" });
    this.entries.set(id, node);
    const image = imageOf(block);
    if (block.table) {
      const table = tableFromCells(block.table, (cell, one, index) => {
        one.dataset.id = `${id}c${index}`;
        this.entries.set(one.dataset.id, one);
        this.markDoubts(one, cell.lines);
      });
      node.append(csvButton(() => csvOfCells(block.table)), make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": word("kind_table") }, table));
    } else if (block.diagram) node.append(diagramNode(block.diagram.mermaid.slice(0, MAX_SHOWN), block.diagram));
    else if (block.markdown) this.markDoubts(renderMarkdown(image ? this.besideImage(block) : block.markdown.slice(0, MAX_SHOWN), node), block.lines);
    else if (block.text) node.append(make("p", { class: "faint" }, block.text.slice(0, MAX_SHOWN)));
    else if (!image || block.type !== "figure") node.append(make("p", { class: "figure" }, markText(block)));
    if (image) node.prepend(image);
    return node;
  }

  // A figure's Markdown without the link to its image, and without a caption that has its own block.
  besideImage(block) {
    const rest = block.markdown.slice(0, MAX_SHOWN).replace(LINK, "");
    const plain = rest.replaceAll("\\", "");
    const own = (other) => other.type === "caption" && !other.markdown && other.text && plain.startsWith(other.text);
    const caption = this.page.blocks.slice(0, MAX_BLOCKS).find(own);
    if (!caption) return rest;
    let at = 0;
    for (let left = caption.text.length; left; at += 1) if (rest[at] !== "\\") left -= 1;
    return rest.slice(at);
  }

  // Marks doubtful words in the node's text.
  markDoubts(node, lines) {
    const words = wordsOf(this.page, lines);
    if (!words.some(({ word: one }) => isDoubtful(one))) return;
    const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walker.nextNode()) texts.push(walker.currentNode);
    const found = located(texts.map((text) => text.data), words).filter(({ item }) => isDoubtful(item.word));
    for (const { at, begin, end, item } of found.reverse()) {
      texts[at].splitText(end);
      const inner = texts[at].splitText(begin);
      const mark = doubtNode(item);
      inner.replaceWith(mark);
    }
  }

  drawText(panel) {
    const { page } = this;
    if (!page.lines.length) { panel.append(...(page.text ? cut(page.text) : [make("p", { class: "faint" }, word(page.error ? "not_read" : "no_text"))])); return; }
    const list = make("div", { class: "lines" });
    panel.append(list);
    inPortions(list, page.lines, (line, place) => {
      const id = "l" + place;
      const text = make("span", { class: "line-text", lang: "" });
      text.append(line.text);
      const words = (line.words || []).map((one, at) => ({ word: one, line: place, place: at }));
      const node = make("div", { class: "line", "data-id": id, "data-line": place },
        make("button", { type: "button", class: "quiet square edit", "data-edit": place, "aria-label": word("edit_line", { text: line.text.slice(0, 80) }), title: word("edit") }, icon("pencil")), text, make("span", { class: "small faint share" }, percent(line.confidence)));
      this.entries.set(id, node);
      const drawn = located([line.text], words).filter(({ item }) => isDoubtful(item.word));
      const own = text.firstChild;
      for (const { begin, end, item } of drawn.reverse()) { own.splitText(end); own.splitText(begin).replaceWith(doubtNode(item)); }
      return node;
    }, (count) => word("more", { count: number(count) }));
  }

  clicked(event) {
    const mark = event.target.closest("mark[data-line]");
    const edit = event.target.closest("[data-edit]");
    const entry = event.target.closest("[data-id]");
    if (entry) { this.pick(entry.dataset.id, false); this.onPick(entry.dataset.id); }
    if (mark) this.editWord(mark);
    else if (edit) this.editLine(edit.closest(".line"));
  }

  pressed(event) {
    if (event.target.closest("input") || !["Enter", " "].includes(event.key)) return;
    const mark = event.target.closest("mark[data-line]");
    if (mark) { event.preventDefault(); this.editWord(mark); }
  }

  pick(id, scroll = true) {
    for (const panel of Object.values(this.panels)) for (const node of panel.querySelectorAll(".picked")) node.classList.remove("picked");
    const node = this.entryOf(id);
    if (!node) return;
    node.classList.add("picked");
    if (scroll) node.scrollIntoView({ block: "nearest" });
  }

  // The entry of a box in the form that is shown: a line may stand in a block, a block may not be drawn yet.
  entryOf(id) {
    const block = /^b(\d+)/.exec(id);
    if (block && this.portions) this.portions.upTo(Number(block[1]));
    return this.entries.get(id) || (block && this.entries.get("b" + block[1]));
  }

  // The id of the entry and of the box that have a line, in the form that is shown.
  idOf(line) {
    const blocks = this.view === "text" ? [] : this.page.blocks || [];
    const place = blocks.findIndex((block) => block.lines.includes(line));
    if (place < 0) return "l" + line;
    const cell = blocks[place].table ? blocks[place].table.cells.findIndex((one) => one.lines.includes(line)) : -1;
    return cell < 0 ? "b" + place : `b${place}c${cell}`;
  }

  nextDoubt() {
    if (this.view !== "preview" && this.view !== "text") this.showTab("preview");
    const marks = [...this.panels[this.view].querySelectorAll("mark[data-line]")];
    if (!marks.length) return false;
    const focused = marks.indexOf(document.activeElement);
    this.at = (focused >= 0 ? focused : this.at) + 1;
    const wraps = this.at >= marks.length;
    const mark = marks[wraps ? (this.at = 0) : this.at];
    mark.scrollIntoView({ block: "center" });
    mark.focus({ preventScroll: true });
    const entry = mark.closest("[data-id]");
    const line = "l" + mark.dataset.line;
    if (entry) this.pick(entry.dataset.id, false);
    this.onPick(this.view === "text" ? line : entry ? entry.dataset.id : line);
    return !wraps;
  }

  editWord(mark) {
    const target = { line: Number(mark.dataset.line), place: Number(mark.dataset.place) };
    const before = this.page.lines[target.line].words[target.place].text;
    this.edit(mark, mark.textContent, (by) => { correctWord(this.page, target, by); return { ...target, before, by }; });
  }

  editLine(node) {
    const line = Number(node.dataset.line), before = this.page.lines[line].text;
    this.edit(node.querySelector(".line-text"), before, (by) => { correctLine(this.page, line, by); return { line, place: null, before, by }; });
  }

  // Puts a field in the node's place. Enter or leaving it, or the page, keeps the text, Escape does not. `keep` returns the correction.
  edit(node, text, keep) {
    const input = make("input", { class: "correction", "aria-label": word("correct_word", { text: text.slice(0, 80) }), autocomplete: "off", spellcheck: "false" });
    input.value = text;
    input.style.width = `min(100%, ${Math.max(4, text.length + 3)}ch)`;
    let over = false;
    const end = (by) => {
      if (over) return;
      over = true;
      removeEventListener("pagehide", leave);
      if (by === null || !by.trim()) { input.replaceWith(node); node.focus(); return; }
      const correction = keep(by.trim());
      const { view, at } = this, { scrollTop } = this.panels[view];
      this.drawn.clear();
      this.drawPanel();
      this.drawDoubts();
      this.panels[view].scrollTop = scrollTop;
      this.at = at - 1;
      announce(word("corrected"));
      this.onChange(correction);
    };
    const leave = () => end(input.value);
    addEventListener("pagehide", leave);
    input.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter") { end(input.value); this.panels[this.view].focus({ preventScroll: true }); }
      if (event.key === "Escape") end(null);
    });
    input.addEventListener("blur", leave);
    input.addEventListener("click", (event) => event.stopPropagation());
    node.replaceWith(input);
    input.focus();
    input.select();
  }

  // What "copy" takes: the source of the form that is shown.
  static source(page, view) {
    if (view === "json") return JSON.stringify(page, null, 2);
    if (view === "text") return page.text;
    return markdownOf(page) ?? page.text;
  }
}

// The image of a block; only of the types that the service makes.
function imageOf(block) {
  const { image } = block;
  if (!image || !/^image\/(jpeg|png)$/.test(image.mime_type) || typeof image.base64 !== "string" || !BASE64.test(image.base64.slice(0, 64))) return null;
  return make("img", { class: "pictured", src: `data:${image.mime_type};base64,${image.base64}`, width: Number(image.width) || null, height: Number(image.height) || null, alt: block.text ? block.text.slice(0, 200) : markText(block) });
}

// In JSON that is shown, an image is its size. Copies and downloads have all of it.
const shortened = (key, value) => (key === "base64" && typeof value === "string" && value.length > 200 ? `${value.slice(0, 40)}… (${number(value.length)})` : value);

// A figure, a code, a stamp or a checkbox in words.
function markText(block) {
  const kind = word("kind_" + block.type);
  if (block.barcode) return `${kind} ${block.barcode.format}: ${block.barcode.text}`;
  if (block.stamp) return [kind, block.stamp.text].filter(Boolean).join(": ");
  if (block.checkbox) return [kind, word(block.checkbox.checked ? "checkbox_on" : "checkbox_off"), block.checkbox.label].filter(Boolean).join(": ");
  return kind;
}

function doubtNode({ word: one, line, place }) {
  return make("mark", { class: "doubt", tabindex: "0", role: "button", "data-line": line, "data-place": place, title: word("doubt_tip", { percent: percent(one.confidence) }), "aria-label": word("doubt_label", { text: one.text, percent: percent(one.confidence) }) }, one.text);
}

function csvButton(csv) {
  const button = make("button", { type: "button", class: "quiet csv" }, icon("copy"), make("span", { class: "label" }, word("copy_table")));
  button.addEventListener("click", async (event) => { event.stopPropagation(); confirmAt(button, word((await copyText(csv())) ? "copied" : "copy_impossible")); });
  return button;
}

// Text as preformatted, cut if it is long, with a note in that case.
function cut(text) {
  const long = text.length > MAX_SHOWN;
  return [make("pre", {}, long ? text.slice(0, MAX_SHOWN) : text), long ? make("p", { class: "note" }, word("cut")) : null].filter(Boolean);
}

function notesOf(page) {
  const notes = [];
  if (page.error) notes.push(problemBox(pageProblem(page.error), word("error_page", { page: page.index + 1 })));
  for (const why of page.degraded) notes.push(make("p", { class: "note" }, known("degraded_" + why) ? word("degraded_" + why) : word("degraded", { how: why })));
  if (page.review.length) notes.push(make("p", { class: "note" }, word("review", { why: page.review.map((reason) => word("review_" + reason)).join(", ") })));
  return notes;
}

// Boxes of a page for the viewer, and what their colours mean, for a form of the result.
export function boxesOf(page, view) {
  if (view === "text" || !page.blocks || !page.blocks.length) {
    const boxes = page.lines.map((line, index) => ({ id: "l" + index, quad: line.quad, kind: sureness(line.confidence), tip: `${line.text} · ${percent(line.confidence)}` }));
    return [boxes, ["sure", "likely", "doubtful"].map((name) => [name, word(name)])];
  }
  const boxes = [], kinds = new Set();
  for (const [place, block] of page.blocks.entries()) {
    kinds.add(block.type);
    boxes.push({ id: "b" + place, box: block.box, kind: "kind-" + block.type, tip: `${word("kind_" + block.type)} · ${percent(block.confidence)}` });
    for (const [index, cell] of (block.table ? block.table.cells : []).entries()) if (cell.box) boxes.push({ id: `b${place}c${index}`, box: cell.box, kind: "cell", tip: cell.text });
  }
  return [boxes, KINDS.filter((kind) => kinds.has(kind)).map((kind) => ["kind-" + kind, word("kind_" + kind)])];
}

const sureness = (confidence) => (confidence >= 0.95 ? "sure" : confidence >= 0.8 ? "likely" : "doubtful");
