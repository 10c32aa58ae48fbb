// Texts: sets every element with data-word, data-label or data-hint in the chosen language.
const $ = (id) => element.querySelector("#ink-" + id);
const session = { get: (name) => { try { return sessionStorage.getItem(name) || ""; } catch { return ""; } },
  set: (name, value) => { try { value ? sessionStorage.setItem(name, value) : sessionStorage.removeItem(name); } catch { /* the tab forgets */ } } };
let language = session.get("inkgate-language") || "en";
const rewriters = [];

function word(name, values) {
  const text = (props.words[language] || props.words.en)[name] || name;
  return text.replace(/\{(\w+)\}/g, (whole, key) => (values && key in values ? values[key] : whole));
}

function setLanguage(code) {
  language = props.words[code] ? code : "en";
  document.documentElement.lang = language === "zh" ? "zh-CN" : language;
  for (const node of element.querySelectorAll("[data-word]")) node.textContent = word(node.dataset.word);
  for (const node of element.querySelectorAll("[data-label]")) {
    node.setAttribute("aria-label", word(node.dataset.label));
    if (node.tagName === "BUTTON") node.title = word(node.dataset.label);
  }
  for (const node of element.querySelectorAll("[data-tip]")) node.title = word(node.dataset.tip);
  for (const node of element.querySelectorAll("[data-hint]")) node.placeholder = word(node.dataset.hint);
  $("language").value = language;
  for (const rewrite of rewriters) rewrite();
}

for (const [code, name] of Object.entries(props.languages)) $("language").add(new Option(name, code));
$("language").addEventListener("change", (event) => {
  session.set("inkgate-language", event.target.value);
  setLanguage(event.target.value);
});

function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// Tabs as in WAI-ARIA: arrow keys move, there is one tab stop, each tab shows its panel.
function tabs(list, onShow) {
  const all = [...list.querySelectorAll("[role=tab]")];
  const show = (tab) => {
    for (const each of all) {
      const chosen = each === tab;
      each.setAttribute("aria-selected", chosen);
      each.tabIndex = chosen ? 0 : -1;
      element.querySelector("#" + each.getAttribute("aria-controls")).hidden = !chosen;
    }
    onShow(tab.id.slice(8));
  };
  for (const [place, tab] of all.entries()) {
    tab.addEventListener("click", () => show(tab));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = all[(place + step + all.length) % all.length];
      next.focus();
      show(next);
    });
  }
}
