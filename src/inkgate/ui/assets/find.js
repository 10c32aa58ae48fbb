// Finds words in all pages that are read so far. Case, accents and the kind of space make no difference.
import { word, number } from "./words.js";

const MOST = 5000;
const PARTS = "td, th, p, li, h1, h2, h3, h4, h5, h6, pre, .line";

// The text as it is compared, and for each of its places the place in the original.
function folded(text) {
  const places = [];
  let plain = "", at = 0;
  for (const sign of text) {
    for (const one of sign.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase()) {
      const space = /\s/u.test(one);
      if (space && (!plain || plain.endsWith(" "))) continue;
      plain += space ? " " : one;
      for (let unit = 0; unit < one.length; unit += 1) places.push(at);
    }
    at += sign.length;
  }
  return { plain, places };
}

const plainOf = (text) => folded(text).plain.trim();

function* startsOf(needle, text) {
  for (let at = text.indexOf(needle); needle && at >= 0; at = text.indexOf(needle, at + needle.length)) yield at;
}

const known = new WeakMap(); // of a line: its text, which a correction changes, and how it is compared
function plainOfLine(line) {
  if (!known.has(line) || known.get(line).text !== line.text) known.set(line, { text: line.text, plain: plainOf(line.text) });
  return known.get(line).plain;
}

// Where `wanted` stands, in order: [{page, line}], by their places among `pages` and among the page's lines.
export function placesOf(pages, wanted) {
  const needle = plainOf(wanted), found = [];
  for (const [page, { lines }] of pages.entries()) {
    const starts = [];
    let whole = "", line = 0;
    for (const one of lines) { starts.push(whole.length); whole += plainOfLine(one) + " "; }
    for (const at of startsOf(needle, whole)) {
      while (line + 1 < starts.length && starts[line + 1] <= at) line += 1;
      if (found.push({ page, line }) >= MOST) return found;
    }
  }
  return found;
}

// Ranges of `wanted` in what is drawn in `root`.
function rangesIn(root, wanted) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT), nodes = [], found = [];
  let text = "", part = null;
  while (walker.nextNode()) {
    const node = walker.currentNode, own = node.parentElement.closest(PARTS);
    if (node.parentElement.closest("button, .share")) continue;
    if (own !== part) text += " ";
    part = own;
    nodes.push({ node, begin: text.length });
    text += node.data;
  }
  const { plain, places } = folded(text), needle = plainOf(wanted);
  const startAt = (place) => nodes.findLast(({ begin }) => begin <= place);
  for (const at of startsOf(needle, plain)) {
    const first = startAt(places[at]), last = startAt(places[at + needle.length - 1]), range = new Range();
    range.setStart(first.node, places[at] - first.begin);
    range.setEnd(last.node, Math.min(last.node.length, places[at + needle.length - 1] - last.begin + 1));
    if (found.push(range) >= MOST) break;
  }
  return found;
}

export class Finder {
  // `input` and `count`: elements. `pages()`: those read so far; `at()`: the page that is shown; `root()`: where it is
  // drawn. `show(place)`: shows a place and returns its entry's id and element; `idOf(line)`: the id alone.
  constructor(input, count, { pages, at, root, show, idOf }) {
    Object.assign(this, { input, count, pages, at, root, show, idOf, places: [], now: 0 });
    input.addEventListener("input", () => { this.search(); this.now = Math.max(0, this.places.findIndex(({ page }) => page >= at())); this.open(); });
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") { event.preventDefault(); this.step(event.shiftKey ? -1 : 1); }
      if (event.key === "Escape" && input.value) { event.preventDefault(); input.value = ""; this.refresh(); }
    });
  }

  search() { this.places = placesOf(this.pages(), this.input.value); }

  step(by) {
    this.search();
    this.now = (this.now + by + this.places.length) % (this.places.length || 1);
    this.open();
  }

  open() {
    this.shown = null;
    const place = this.places[this.now];
    if (place) this.shown = { ...this.show(place), page: place.page };
    this.paint();
    const range = this.marked;
    if (range) range.startContainer.parentElement.scrollIntoView({ block: "center" });
  }

  // After a page came, was corrected or is drawn in another form.
  refresh() {
    this.search();
    if (this.now >= this.places.length) this.now = 0;
    this.paint();
  }

  paint() {
    const { value } = this.input, count = this.places.length;
    this.count.textContent = !value.trim() ? "" : count ? word("find_count", { at: number(this.now + 1), count: number(count) }) : word("find_none");
    this.marked = null;
    if (!window.CSS || !CSS.highlights) return;
    const ranges = value.trim() ? rangesIn(this.root(), value) : [];
    const place = this.places[this.now];
    if (this.shown && place && this.shown.page === place.page && place.page === this.at()) {
      const inside = this.shown.node && this.shown.node.isConnected ? ranges.filter((range) => this.shown.node.contains(range.startContainer)) : ranges;
      const before = this.places.slice(0, this.now).filter((one) => one.page === place.page && (inside === ranges || this.idOf(one.line) === this.shown.id)).length;
      this.marked = inside[before] || inside[0] || null;
    }
    CSS.highlights.set("found", new Highlight(...ranges));
    CSS.highlights.set("found-now", new Highlight(...(this.marked ? [this.marked] : [])));
  }
}
