// Elements, tabs, copying and saving. Nothing here, or elsewhere in the page, turns text into HTML.
export const $ = (id) => document.getElementById(id);

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(3)) if (child !== null && child !== undefined && child !== false) node.append(child);
  return node;
}

export const make = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const draw = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

export function icon(name) {
  const paths = {
    before: "M14 6l-6 6 6 6", after: "M10 6l6 6-6 6", close: "M6 6l12 12M18 6L6 18", lock: "M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3", again: "M19 12a7 7 0 1 1-2-5M19 4v4h-4",
    minus: "M6 12h12", whole: "M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5", turn: "M4 10h10v10H4zM11 4h4a4 4 0 0 1 4 4v3M16 8.5l3 3 3-3", plus: "M12 6v12M6 12h12", copy: "M9 9h10v11H9zM5 15V4h10", check: "M5 13l4 4L19 7", pencil: "M4 20l1-5L16 4l4 4L9 19z",
  };
  return draw("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" }, draw("path", { d: paths[name] }));
}

export const sizeOf = (bytes) => (bytes >= 1e6 ? (bytes / 1e6).toFixed(1) + " MB" : Math.max(1, Math.round(bytes / 1e3)) + " kB");

// Tabs as in WAI-ARIA: arrow keys move, there is one tab stop, each tab shows the panel that it controls.
export function tabs(list, onShow) {
  const all = [...list.querySelectorAll("[role=tab]")];
  const show = (tab) => {
    for (const each of all) {
      const chosen = each === tab;
      each.setAttribute("aria-selected", String(chosen));
      each.tabIndex = chosen ? 0 : -1;
      const panel = $(each.getAttribute("aria-controls"));
      if (panel) panel.hidden = !chosen;
    }
    onShow(tab.dataset.tab);
  };
  for (const tab of all) {
    tab.addEventListener("click", () => show(tab));
    tab.addEventListener("keydown", (event) => {
      const shown = all.filter((each) => !each.hidden);
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const next = event.key === "Home" ? shown[0] : event.key === "End" ? shown.at(-1) : step && shown[(shown.indexOf(tab) + step + shown.length) % shown.length];
      if (!next) return;
      event.preventDefault();
      next.focus();
      show(next);
    });
  }
  return (name) => show(all.find((each) => each.dataset.tab === name) || all[0]);
}

// Menus of `details`: they close on Escape, on a click elsewhere and when the focus leaves; arrow keys walk through them.
export function startMenus() {
  const menus = () => [...document.querySelectorAll("details:is(.menu, .unfolding)[open]")];
  for (const kind of ["click", "focusin"]) document.addEventListener(kind, ({ target }) => { for (const menu of menus()) if (!menu.contains(target)) menu.open = false; });
  document.addEventListener("keydown", (event) => {
    const menu = menus().find((each) => each.contains(document.activeElement)) || menus()[0];
    if (!menu) return;
    const items = [...menu.querySelectorAll("[role=menuitem]")].filter((each) => !each.hidden), at = items.indexOf(document.activeElement);
    if (event.key === "Escape") { event.preventDefault(); closeMenu(menu); return; }
    const next = { ArrowDown: items[(at + 1) % items.length], ArrowUp: items.at(at <= 0 ? -1 : at - 1), Home: items[0], End: items.at(-1) }[event.key];
    if (!next || !menu.contains(document.activeElement)) return;
    event.preventDefault();
    next.focus();
  });
}

export function closeMenu(menu) {
  const inside = menu.contains(document.activeElement);
  menu.open = false;
  if (inside) menu.querySelector("summary").focus();
}

// Without TLS browsers have no clipboard, but still the command.
export async function copyText(text) {
  if (navigator.clipboard && window.isSecureContext) {
    try { await navigator.clipboard.writeText(text); return true; } catch { /* not allowed: try the command */ }
  }
  const before = document.activeElement;
  const area = make("textarea", { class: "offscreen", "aria-hidden": "true", tabindex: "-1", readonly: true });
  area.value = text;
  (document.querySelector("dialog[open]") || document.body).append(area);
  area.select();
  let done = false;
  try { done = document.execCommand("copy"); } catch { /* not allowed */ }
  area.remove();
  if (before) before.focus({ preventScroll: true });
  return done;
}

// Shows a word on the button for a moment, and says it to screen readers.
const confirmed = new WeakMap();
export function confirmAt(button, text) {
  const label = button.querySelector(".label") || button;
  const earlier = confirmed.get(button);
  const before = earlier ? earlier.before : label.textContent;
  if (earlier) clearTimeout(earlier.timer);
  label.textContent = text;
  button.classList.add("confirmed");
  announce(text);
  const timer = setTimeout(() => {
    if (label.textContent === text) label.textContent = before;
    button.classList.remove("confirmed");
    confirmed.delete(button);
  }, 1600);
  confirmed.set(button, { before, timer });
}

// Replaces the children of `parent`. A button with a `data-key` keeps the focus if there is one with the same key again.
export function redraw(parent, nodes) {
  const key = parent.contains(document.activeElement) ? document.activeElement.dataset.key : "";
  parent.replaceChildren(...nodes);
  const again = key && [...parent.querySelectorAll("[data-key]")].find((node) => node.dataset.key === key);
  if (again) again.focus({ preventScroll: true });
}

export function announce(text) { $("announcer").textContent = text; }

export function save(name, type, content) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = make("a", { href: url, download: name, class: "offscreen" });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

// A name without control characters, and without those that reorder what is around them: `gnp.exe` must not look like `exe.png`.
export const plain = (name) => name.replace(/[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, "");
export const stem = (name) => name.replace(/\.[A-Za-z0-9]{1,5}$/, "") || "document";

// Of items that are too many to draw at once, draws some, and the others when a button is pressed.
export function inPortions(parent, items, one, moreText, size = 400) {
  let at = 0;
  const more = make("button", { type: "button", class: "second more", onclick: next });
  function next() {
    more.remove();
    parent.append(...items.slice(at, at + size).map((item, place) => one(item, at + place)).filter(Boolean));
    at += size;
    if (at < items.length) { more.textContent = moreText(items.length - at); parent.append(more); }
  }
  next();
  return { upTo(place) { while (at <= place && at < items.length) next(); } };
}
