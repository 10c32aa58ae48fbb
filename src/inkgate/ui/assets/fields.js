// The fields of a document with a person's corrections: values, and rows of arrays that were added or removed. No element is touched here.
const unescaped = (path) => path.split("/").slice(1).map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
const escaped = (name) => "/" + name.replaceAll("~", "~0").replaceAll("/", "~1");
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const own = (holder, name) => (Array.isArray(holder) || isObject(holder)) && Object.hasOwn(holder, name);
const general = (path) => path.replace(/(?<=\/)\d+(?=\/|$)/g, "-");

function at(data, path) {
  let value = data;
  for (const part of unescaped(path)) { if (!own(value, part)) return undefined; value = value[part]; }
  return value;
}

function put(data, path, value) {
  const parts = unescaped(path);
  let holder = data;
  for (const part of parts.slice(0, -1)) { if (!own(holder, part) || typeof holder[part] !== "object" || holder[part] === null) return; holder = holder[part]; }
  if (holder && parts.at(-1) !== "__proto__") holder[parts.at(-1)] = value;
}

// Values by path; arrays are values.
function flat(data, above = "") {
  if (!isObject(data)) return [[above, data]];
  return Object.entries(data).flatMap(([name, value]) => flat(value, above + escaped(name)));
}

export const shownValue = (value) => (value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value));

// What a text that a person typed becomes, beside `other`: a value of the same field.
const typed = (text, other) => (text.trim() === "" ? null : typeof other === "number" && Number.isFinite(Number(text)) ? Number(text) : typeof other === "boolean" && /^(true|false)$/.test(text) ? text === "true" : text);

// A cell's path has the number of its row as it was found, or "+1" and so on for rows that a person added.
export class Edited {
  // `answer`: as POST /extract gives it. `paths`: those of the schema, such as "/items/-/amount". `kept`: what `toJSON` gave.
  constructor(answer, paths = [], kept = null) {
    this.answer = answer;
    this.values = new Map(kept ? kept.values : []);
    this.saved = new Set((answer.corrections || []).flatMap((correction) => Object.keys(correction.fields)));
    this.arrays = flat(answer.data || {}).filter(([, value]) => Array.isArray(value)).map(([path, rows]) => this.array(path, rows, paths));
    if (kept) for (const array of this.arrays) array.rows = kept.rows[array.path] || array.rows;
    this.added = kept ? kept.added : 0;
  }

  array(path, rows, paths) {
    const prefix = path + "/-";
    const columns = new Set([...paths.filter((each) => each === prefix || each.startsWith(prefix + "/")).map((each) => each.slice(prefix.length)), ...rows.flatMap((row) => flat(row).map(([column]) => column))]);
    return { path, columns: [...columns], rows: rows.map((_, place) => String(place)) };
  }

  toJSON() { return { values: [...this.values], rows: Object.fromEntries(this.arrays.map(({ path, rows }) => [path, rows])), added: this.added }; }

  // Paths of the fields that are in no array.
  get single() { return Object.keys(this.answer.fields).filter((path) => !this.arrays.some((array) => path.startsWith(array.path + "/"))); }

  // Paths of all fields, as they are shown.
  get paths() { return [...this.single, ...this.arrays.flatMap((array) => array.rows.flatMap((row) => array.columns.map((column) => `${array.path}/${row}${column}`)))]; }

  field(path) { return this.saved.has(path) ? undefined : this.answer.fields[path]; }

  found(path) {
    const value = at(this.answer.data || {}, path);
    return value === undefined ? (this.answer.fields[path] || {}).value ?? null : value;
  }

  value(path) { return this.values.has(path) ? this.values.get(path) : this.found(path); }

  status(path) { return this.values.has(path) || this.saved.has(path) ? "corrected" : (this.answer.fields[path] || {}).status || "not_found"; }

  get changed() { return this.values.size > 0 || this.arrays.some(({ path, rows }) => rows.join() !== (at(this.answer.data, path) || []).map((_, place) => place).join()); }

  // A value as a person typed it.
  type(path, text) {
    const array = this.arrays.find((each) => path.startsWith(each.path + "/"));
    const column = array && path.slice(array.path.length + 1).replace(/^[^/]*/, "");
    const other = array ? array.rows.map((row) => this.found(`${array.path}/${row}${column}`)).find((value) => value !== null) : this.found(path);
    this.set(path, shownValue(this.found(path)) === text ? this.found(path) : typed(text, other));
  }

  set(path, value) { if (value === this.found(path)) this.values.delete(path); else this.values.set(path, value); }

  addRow(array) {
    this.added += 1;
    array.rows = [...array.rows, "+" + this.added];
    return array.rows.at(-1);
  }

  removeRow(array, row) {
    array.rows = array.rows.filter((each) => each !== row);
    for (const path of [...this.values.keys()]) if (path === `${array.path}/${row}` || path.startsWith(`${array.path}/${row}/`)) this.values.delete(path);
  }

  // The rows of an array, without those that a person added and left empty.
  filled({ path, columns, rows }) { return rows.filter((row) => !row.startsWith("+") || columns.some((column) => this.value(`${path}/${row}${column}`) !== null)); }

  // The answer with the corrections in it.
  result() {
    const answer = structuredClone(this.answer), kinds = this.kinds();
    for (const path of this.single) if (this.values.has(path)) { this.correct(answer.fields, path, path, kinds); put(answer.data, path, this.values.get(path)); }
    for (const array of this.arrays) {
      const { path, columns } = array, rows = this.filled(array);
      for (const each of Object.keys(answer.fields)) if (each.startsWith(path + "/")) delete answer.fields[each];
      put(answer.data, path, rows.map((row) => {
        const before = at(this.answer.data, `${path}/${row}`), after = before === undefined ? {} : structuredClone(before);
        if (columns.length === 1 && columns[0] === "") return this.value(`${path}/${row}`);
        for (const column of columns) putDeep(after, column, this.value(`${path}/${row}${column}`));
        return after;
      }));
      for (const [place, row] of rows.entries()) for (const column of columns) this.correct(answer.fields, `${path}/${row}${column}`, `${path}/${place}${column}`, kinds);
    }
    return answer;
  }

  // Puts what is known of the value at `path` into `fields` at `place`.
  correct(fields, path, place, kinds) {
    const found = this.answer.fields[path], value = this.value(path);
    if (this.status(path) !== "corrected") { if (found) fields[place] = structuredClone(found); return; }
    const about = found || { kind: kinds[general(place)] || "text", sources: [], alternatives: [], checks: [] };
    fields[place] = { ...structuredClone(about), status: "corrected", value, text: value === null ? null : String(value), confidence: 1, origin: "person" };
  }

  // The kinds of values by the paths of the schema.
  kinds() { return Object.fromEntries(Object.entries(this.answer.fields).map(([path, field]) => [general(path), field.kind || "text"])); }

  // What a job is to keep: values by path. Rows that were removed leave null in the last ones.
  changes() {
    const changes = Object.fromEntries(this.single.filter((path) => this.values.has(path)).map((path) => [path, this.values.get(path)]));
    for (const array of this.arrays) {
      const { path, columns } = array, rows = this.filled(array);
      const before = (at(this.answer.data, path) || []).length;
      for (let place = 0; place < Math.max(before, rows.length); place += 1) for (const column of columns) {
        const value = place < rows.length ? this.value(`${path}/${rows[place]}${column}`) : null, target = `${path}/${place}${column}`;
        if (value !== (at(this.answer.data, target) ?? null)) changes[target] = value;
      }
    }
    return changes;
  }

  // Makes the values those of `data`, which has the same schema.
  become(data) {
    for (const path of this.single) { const value = at(data, path); if (value !== undefined) this.set(path, value); }
    for (const array of this.arrays) {
      const rows = at(data, array.path) || [];
      while (array.rows.length > rows.length) this.removeRow(array, array.rows.at(-1));
      while (array.rows.length < rows.length) this.addRow(array);
      for (const [place, row] of array.rows.entries()) for (const column of array.columns) this.set(`${array.path}/${row}${column}`, at(data, `${array.path}/${place}${column}`) ?? null);
    }
  }
}

function putDeep(holder, path, value) {
  const parts = unescaped(path);
  if (parts.includes("__proto__")) return;
  for (const part of parts.slice(0, -1)) { if (!isObject(holder[part])) holder[part] = {}; holder = holder[part]; }
  holder[parts.at(-1)] = value;
}

// The paths that a JSON Schema has, as GET /document-types lists them.
export function pathsOf(schema, above = "") {
  if (!isObject(schema)) return [];
  if (isObject(schema.properties)) return Object.entries(schema.properties).flatMap(([name, part]) => pathsOf(part, above + escaped(name)));
  return isObject(schema.items) ? pathsOf(schema.items, above + "/-") : [above];
}
