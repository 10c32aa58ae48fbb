// Move what doesn't fit the first page to a second, then read the boxes of all marked values.
(height) => {
  const bottom = (page) => {
    const foot = page.querySelector(":scope > .foot, :scope > .slip");
    return page.getBoundingClientRect().top + (foot ? foot.offsetTop - 10 : page.clientHeight - 36);
  };
  const end = (page) => page.querySelector(".flow").getBoundingClientRect().bottom;
  const first = document.querySelector(".page");
  let overflow = false;
  if (height && end(first) > bottom(first)) {
    const second = first.cloneNode(false);
    const foot = first.querySelector(":scope > .foot, :scope > .slip");
    const flow = document.createElement("div");
    flow.className = "flow";
    second.append(flow);
    if (foot && foot.classList.contains("slip")) second.append(foot);
    first.after(second);
    const table = first.querySelector("table.items");
    const parts = [...first.querySelectorAll(".part")];
    while (parts.length > 1 && end(first) > bottom(first)) flow.prepend(parts.pop());
    if (end(first) > bottom(first) && table) {
      const rest = table.cloneNode(true);
      rest.querySelector("tbody").replaceChildren();
      flow.prepend(rest);
      const rows = [...table.querySelectorAll("tbody tr")];
      const last = rows.length - 1;
      for (let i = last; i > 1 && (end(first) > bottom(first) || i > last - 2 || rows[i].classList.contains("sumrow")); i--)
        rest.querySelector("tbody").prepend(rows[i]);
    }
    overflow = end(first) > bottom(first) || end(second) > bottom(second);
  }
  // A value that wraps is one span, or one for each of its lines where the body asks for lines.
  const lines = (span) => {
    const text = span.firstChild;
    const whole = [{ text: span.textContent, box: span.getBoundingClientRect() }];
    if (document.body.dataset.lines === undefined || span.getClientRects().length < 2 || !text.data) return whole;
    const found = [];
    for (const word of text.data.matchAll(/[\u3000-\uffff]|[^\s\u3000-\uffff]+/g)) {
      const range = document.createRange();
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      const box = range.getBoundingClientRect();
      const last = found.at(-1);
      if (last && Math.abs(last.box.top - box.top) < box.height / 2) {
        last.text = text.data.slice(last.start, word.index + word[0].length);
        last.box = { left: last.box.left, top: last.box.top, right: box.right, bottom: Math.max(last.box.bottom, box.bottom) };
      } else found.push({ start: word.index, text: word[0], box });
    }
    return found;
  };
  const pages = [...document.querySelectorAll(".page")];
  const spans = [...document.querySelectorAll("[data-role]")].flatMap((span) => {
    const page = span.closest(".page");
    const from = page.getBoundingClientRect();
    return lines(span).map(({ text, box }) => ({
      role: span.dataset.role,
      text: text.replace(/\s+/g, " ").trim(),
      box: [box.left - from.left, box.top - from.top, box.right - from.left, box.bottom - from.top].map((x) => Math.round(x * 10) / 10),
      page: pages.indexOf(page),
    }));
  });
  return { spans, overflow, height: first.scrollHeight, pages: pages.length };
}
