// An array of a document's fields, such as the items of a receipt, as a table that a person corrects: cells, rows to add and to remove.
import { make, icon, announce } from "./dom.js";
import { word } from "./words.js";
import { shownValue } from "./fields.js";

const NUMBERS = new Set(["money", "number", "integer"]);

// `about`: {edited, array, titleOf(path), cellState(path), onPick(path), onChange(path)}; `onChange("")` after a row came or went.
export class ItemsTable {
  constructor(about) {
    Object.assign(this, about);
    this.node = make("div", { class: "items" });
    this.all = false;
    this.draw();
  }

  path(row, column) { return `${this.array.path}/${row}${column}`; }

  get name() { return this.titleOf(this.array.path); }

  columnTitle(column) { return column ? this.titleOf(column) : this.name; }

  draw() {
    const { edited, array } = this, kinds = edited.kinds();
    const used = array.columns.filter((column) => array.rows.some((row) => shownValue(edited.value(this.path(row, column))) !== ""));
    const columns = this.all || !used.length ? array.columns : used;
    const numeric = (column) => NUMBERS.has(kinds[`${array.path}/-${column}`]);
    const head = make("tr", {}, make("th", { scope: "col", class: "number" }, "#"), columns.map((column) => make("th", { scope: "col", class: numeric(column) ? "numeral" : null }, this.columnTitle(column))), make("th", {}, make("span", { class: "offscreen" }, word("job_actions"))));
    this.cells = new Map();
    const rows = array.rows.map((row, place) => make("tr", {}, make("th", { scope: "row", class: "number" }, place + 1),
      columns.map((column) => this.cell(row, column, place, numeric(column))),
      make("td", { class: "act" }, make("button", { type: "button", class: "quiet square", "aria-label": word("row_remove", { row: place + 1 }), title: word("row_remove", { row: place + 1 }), onclick: () => this.remove(row, place) }, icon("close")))));
    const hidden = array.columns.length - columns.length;
    this.adder = make("button", { type: "button", class: "second add-row", onclick: () => this.add() }, icon("plus"), word("row_add"));
    this.node.replaceChildren(
      make("div", { class: "row spread" }, make("h3", {}, `${this.name} (${array.rows.length})`),
        hidden || this.all ? make("label", { class: "check" }, make("input", { type: "checkbox", checked: this.all, onchange: (event) => { this.all = event.target.checked; this.draw(); this.node.querySelector("[type=checkbox]").focus(); } }), word("columns_all", { count: array.columns.length })) : ""),
      array.rows.length ? make("div", { class: "scroll" }, make("table", { class: "items-table", "aria-label": this.name }, make("thead", {}, head), make("tbody", {}, rows))) : "",
      make("p", {}, this.adder));
  }

  cell(row, column, place, numeric) {
    const path = this.path(row, column), label = word("cell_of", { name: this.columnTitle(column), row: place + 1 });
    const input = make(numeric ? "input" : "textarea", { class: "value" + (numeric ? " numeral" : ""), rows: numeric ? null : 1, "aria-label": label, autocomplete: "off", spellcheck: "false" });
    input.value = shownValue(this.edited.value(path));
    if (numeric) input.style.setProperty("--characters", Math.max(4, input.value.length + 1));
    input.addEventListener("focus", () => this.onPick(path));
    input.addEventListener("change", () => { this.edited.type(path, input.value.replaceAll("\n", " ")); this.mark(path); this.onChange(path); });
    input.addEventListener("keydown", (event) => this.pressed(event, input, column, place));
    const node = make("td", { "data-id": path, class: "cell" }, input);
    this.cells.set(path, { node, input, label });
    this.mark(path);
    return node;
  }

  // Shows a cell's state: by its colour, and in words to who points at it and to screen readers.
  mark(path) {
    const { node, input, label } = this.cells.get(path), state = this.cellState(path);
    node.className = `cell ${state.kind}${node.classList.contains("picked") ? " picked" : ""}`;
    input.title = state.text;
    input.setAttribute("aria-label", state.kind === "field-found" || state.kind === "field-absent" ? label : `${label}: ${state.text}`);
  }

  pressed(event, input, column, place) {
    const step = { Enter: 1, ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || event.shiftKey || event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    event.preventDefault();
    input.blur(); // the change is taken first
    const row = this.array.rows[place + step];
    if (row !== undefined) this.focus(row, column);
    else if (event.key === "Enter") this.adder.focus();
    else input.focus();
  }

  focus(row, column) {
    const cell = this.cells.get(this.path(row, column));
    if (cell) { cell.input.focus(); cell.input.select(); }
  }

  add() {
    const row = this.edited.addRow(this.array);
    this.draw();
    this.onChange("");
    this.cells.get([...this.cells.keys()].find((path) => path === this.path(row, "") || path.startsWith(this.path(row, "/")))).input.focus();
    announce(word("row_added", { row: this.array.rows.length }));
  }

  remove(row, place) {
    this.edited.removeRow(this.array, row);
    this.draw();
    this.onChange("");
    const buttons = this.node.querySelectorAll(".act button");
    (buttons[Math.min(place, buttons.length - 1)] || this.adder).focus();
    announce(word("row_removed", { row: place + 1 }));
  }
}
