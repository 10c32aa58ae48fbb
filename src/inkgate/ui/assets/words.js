// The texts of the page, and which language it speaks.
import { $ } from "./dom.js";

export const LANGUAGES = { en: "English", zh: "中文" };
const tables = {};
let problems = {}, codes = {}, details = [], parts = [];
let language = "en";
const listeners = [];

export const session = {
  memory: {},
  get(name) { try { return sessionStorage.getItem(name) ?? ""; } catch { return this.memory[name] || ""; } },
  set(name, value) { this.memory[name] = value; try { if (value) sessionStorage.setItem(name, value); else sessionStorage.removeItem(name); } catch { /* the tab forgets it */ } },
};

const asset = async (name) => (await fetch(new URL(name, import.meta.url))).json();

export async function loadWords() {
  codes = await asset("codes.en.json");
  const known = (navigator.languages || [navigator.language]).map((tag) => tag.slice(0, 2).toLowerCase()).find((tag) => tag in LANGUAGES);
  for (const [code, name] of Object.entries(LANGUAGES)) $("language").add(new Option(name, code));
  $("language").addEventListener("change", (event) => { session.set("inkgate-language", event.target.value); setLanguage(event.target.value).catch(() => { $("language").value = language; }); });
  await setLanguage(session.get("inkgate-language") || known || "en");
}

export function word(name, values) {
  const text = tables[language][name] ?? name;
  return text.replace(/\{(\w{1,40})\}/g, (whole, key) => (values && key in values ? String(values[key]) : whole));
}

export const known = (name) => name in tables[language];
// The names of a field and of a document type, as people read them.
export const titleOf = (path) => path.split("/").slice(1).map((part) => (/^\d+$/.test(part) ? "#" + (Number(part) + 1) : known("field_" + part) ? word("field_" + part) : part.replaceAll("_", " "))).join(" · ");
export const typeName = (name) => (!name ? word("type_none") : known("type_" + name) ? word("type_" + name) : name);
export const locale = () => (language === "zh" ? "zh-CN" : "en");
// A date or time as the visitor's country writes it, if the browser names one for the chosen language.
export const dateText = (date, style) => new Intl.DateTimeFormat((navigator.languages || []).find((tag) => tag.slice(0, 2).toLowerCase() === language) || locale(), style).format(date);
export const number = (value) => new Intl.NumberFormat(locale()).format(value);
export const percent = (value) => (value === null || value === undefined ? "–" : Math.floor(value * 100) + "%");

// An error's title and remedy in the chosen language; the remedy is undefined if it is the service's own.
export const problemWords = (code) => (language === "zh" && problems[code]) || [(codes[code] || [])[0]];
// Whether trying again may help, with nothing changed. Codes of the page itself are not in the table.
export const mayPass = (code) => !(code in codes) || codes[code][1];

// An error's detail in the chosen language, if it has the form of one that is known; else as the service says it.
export function detailWords(text) {
  if (language !== "zh" || !text || text.length > 1000) return text;
  return translated(text, details, (value) => translated(value, parts, (inner) => inner));
}

function translated(text, forms, ofValue) {
  for (const [form, said] of forms) {
    const found = form.exec(text);
    if (found) return said.replace(/\{(\w+)\}/g, (_, name) => ofValue(found.groups[name]));
  }
  return text;
}

// "The {type} image ends early." as what it matches.
const formsOf = (table) => Object.entries(table).map(([text, said]) =>
  [new RegExp("^" + text.replace(/[.*+?^$()|[\]\\/]/g, "\\$&").replace(/\{(\w+)\}/g, "(?<$1>.{1,200}?)") + "$"), said]);

// Only the chosen language is loaded.
async function load(code) {
  if (tables[code]) return;
  const asked = asset(`words.${code}.json`);
  if (code === "zh") {
    const [told, more] = await Promise.all(["problems.zh.json", "details.zh.json"].map(asset));
    problems = told;
    details = formsOf(more.details);
    parts = formsOf(more.parts);
  }
  tables[code] = await asked;
}

// `listener` runs whenever the language changes; what it draws is in the new language.
export function onLanguage(listener) { listeners.push(listener); listener(); }

export function fillWords(root) {
  for (const node of root.querySelectorAll("[data-word]")) node.textContent = word(node.dataset.word);
  for (const node of root.querySelectorAll("[data-label]")) {
    node.setAttribute("aria-label", word(node.dataset.label));
    if (node.tagName === "BUTTON" || node.tagName === "A") node.title = word(node.dataset.label);
  }
  for (const node of root.querySelectorAll("[data-tip]")) node.title = word(node.dataset.tip);
  for (const node of root.querySelectorAll("[data-hint]")) node.placeholder = word(node.dataset.hint);
}

let wanted = "";
async function setLanguage(given) {
  const code = wanted = given in LANGUAGES ? given : "en";
  await load(code);
  if (code !== wanted) return; // another was chosen meanwhile
  language = code;
  document.documentElement.lang = locale();
  $("language").value = language;
  fillWords(document);
  for (const listener of listeners) listener();
}

export function duration(seconds) {
  if (seconds < 1) return word("time_ms", { count: Math.round(seconds * 1000) });
  if (seconds < 10) return word("time_seconds", { count: seconds.toFixed(1) });
  if (seconds < 90) return word("time_seconds", { count: Math.round(seconds) });
  if (seconds < 5400) return word("time_minutes", { count: Math.round(seconds / 60) });
  return word("time_hours", { count: Math.round(seconds / 3600) });
}
