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
  const pages = [...document.querySelectorAll(".page")];
  const spans = [...document.querySelectorAll("[data-role]")].map((span) => {
    const page = span.closest(".page");
    const from = page.getBoundingClientRect();
    const box = span.getBoundingClientRect();
    return {
      role: span.dataset.role,
      text: span.textContent.replace(/\s+/g, " ").trim(),
      box: [box.left - from.left, box.top - from.top, box.right - from.left, box.bottom - from.top].map((x) => Math.round(x * 10) / 10),
      page: pages.indexOf(page),
    };
  });
  return { spans, overflow, height: first.scrollHeight, pages: pages.length };
}
