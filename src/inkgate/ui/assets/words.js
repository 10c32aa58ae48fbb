// The texts of the page, and which language it speaks.
import { $ } from "./dom.js";

export const LANGUAGES = { en: "English", zh: "中文" };
const tables = {};
let problems = {}, titles = {};
let language = "en";
const listeners = [];

export const session = {
  memory: {},
  get(name) { try { return sessionStorage.getItem(name) ?? ""; } catch { return this.memory[name] || ""; } },
  set(name, value) { this.memory[name] = value; try { if (value) sessionStorage.setItem(name, value); else sessionStorage.removeItem(name); } catch { /* the tab forgets it */ } },
};

const asset = async (name) => (await fetch(new URL(name, import.meta.url))).json();

export async function loadWords() {
  [tables.en, tables.zh, problems, titles] = await Promise.all(["words.en.json", "words.zh.json", "problems.zh.json", "titles.en.json"].map(asset));
  const known = (navigator.languages || [navigator.language]).map((tag) => tag.slice(0, 2).toLowerCase()).find((tag) => tag in LANGUAGES);
  for (const [code, name] of Object.entries(LANGUAGES)) $("language").add(new Option(name, code));
  $("language").addEventListener("change", (event) => { session.set("inkgate-language", event.target.value); setLanguage(event.target.value); });
  setLanguage(session.get("inkgate-language") || known || "en");
}

export function word(name, values) {
  const text = tables[language][name] ?? tables.en[name] ?? name;
  return text.replace(/\{(\w{1,40})\}/g, (whole, key) => (values && key in values ? String(values[key]) : whole));
}

export const known = (name) => name in tables.en;
export const locale = () => (language === "zh" ? "zh-CN" : "en");
export const number = (value) => new Intl.NumberFormat(locale()).format(value);
export const percent = (value) => (value === null || value === undefined ? "–" : Math.floor(value * 100) + "%");

// An error's title and remedy in the chosen language; the remedy is undefined if it is the service's own.
export const problemWords = (code) => (language === "zh" && problems[code]) || [titles[code]];

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

function setLanguage(code) {
  language = code in tables ? code : "en";
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
