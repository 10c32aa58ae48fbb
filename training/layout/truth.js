// Runs inside the page. fitFlows() cuts what does not fit; readTruth() gives every block with its lines and words in CSS pixels.
() => {
  const CJK = /[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]/;
  const SHY = "\u00ad";

  function outside(rect, box) {
    return rect.bottom > box.bottom + 1 || rect.right > box.right + 3 || rect.left < box.left - 3;
  }

  function textNodes(element) {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    const found = [];
    while (walker.nextNode()) found.push(walker.currentNode);
    return found;
  }

  // Cut the element's text behind the last character inside the box. False: too little would be left.
  function cutText(element, box) {
    const range = document.createRange();
    for (const node of textNodes(element)) {
      range.selectNodeContents(node);
      if (![...range.getClientRects()].some((rect) => outside(rect, box))) continue;
      let low = 0, high = node.data.length;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        range.setStart(node, 0);
        range.setEnd(node, middle);
        if ([...range.getClientRects()].some((rect) => outside(rect, box))) high = middle - 1;
        else low = middle;
      }
      const kept = node.data.slice(0, low);
      const end = CJK.test(kept) ? low : Math.max(kept.lastIndexOf(" "), kept.lastIndexOf(SHY));
      node.data = kept.slice(0, Math.max(0, end)).trimEnd() + (kept[end] === SHY ? "-" : "");
      range.setStartAfter(node);
      range.setEnd(element, element.childNodes.length);
      range.deleteContents();
      break;
    }
    return element.textContent.trim().length > 60;
  }

  function fitFlows() {
    for (const flow of document.querySelectorAll(".flow")) {
      const box = flow.getBoundingClientRect();
      while (flow.lastElementChild) {
        const last = flow.lastElementChild;
        const rects = [...last.getClientRects()];
        if (!rects.length && last.tagName !== "STYLE") { last.remove(); continue; }
        if (last.tagName === "STYLE") { flow.before(last); continue; }
        if (last.dataset.t === "title") { last.remove(); continue; }
        if (rects.every((rect) => rect.left > box.right + 3 || rect.right < box.left - 3)) { last.remove(); continue; }
        const inner = [...last.querySelectorAll("*")].flatMap((item) => [...item.getClientRects()]);
        if (!rects.concat(inner).some((rect) => outside(rect, box))) break;
        if (["text", "reference"].includes(last.dataset.t) && rects.some((rect) => !outside({ ...rect.toJSON(), bottom: rect.top + 30 }, box))
            && !last.dataset.whole && cutText(last, box)) {
          if ([...last.getClientRects()].some((rect) => outside(rect, box))) last.remove();
          else last.style.textAlignLast = getComputedStyle(last).textAlign === "justify" ? "justify" : "";
          if (last.isConnected) break;
          continue;
        }
        const items = last.querySelectorAll(":scope > .item");
        if (items.length > 1 && !rects.every((rect) => outside(rect, box))) { items[items.length - 1].remove(); continue; }
        last.remove();
      }
    }
    for (const empty of document.querySelectorAll("[data-t]")) if (!empty.textContent.trim() && empty.dataset.t !== "figure") empty.remove();
  }

  // A figure waiting in a template before a flow goes on top of a column, into the paragraph that runs on there.
  function interrupt(template) {
    const flow = template.nextElementSibling;
    const range = document.createRange();
    for (const paragraph of flow.querySelectorAll(":scope > .p")) {
      const frames = paragraph.getClientRects();
      if (frames.length !== 2 || paragraph.querySelector(".drop") || frames[0].height < 40 || frames[1].height < 40) continue;
      for (const node of textNodes(paragraph)) {
        for (let i = 0; i < node.data.length; i++) {
          range.setStart(node, i);
          range.setEnd(node, i + 1);
          const shown = [...range.getClientRects()].filter((r) => r.width > 0.01).pop();
          if (!shown || node.data[i] === SHY || shown.top >= frames[0].top - 1 && Math.abs(shown.left - frames[0].left) < frames[0].width) continue;
          range.setStart(node, i);
          range.setEnd(paragraph, paragraph.childNodes.length);
          const rest = paragraph.cloneNode(false);
          rest.append(range.extractContents());
          rest.dataset.on = "1";
          rest.style.textIndent = "0";
          const last = textNodes(paragraph).pop();
          last.data = last.data.endsWith(SHY) ? last.data.slice(0, -1) + "-" : last.data.trimEnd();
          paragraph.style.marginBottom = "0";
          if (getComputedStyle(paragraph).textAlign === "justify") paragraph.style.textAlignLast = "justify";
          paragraph.after(rest);
          const figure = template.content.firstElementChild;
          figure.dataset.interrupts = "1";
          paragraph.after(figure);
          return;
        }
      }
    }
  }

  const box4 = (r) => [r.left, r.top, r.right, r.bottom];
  const union = (a, b) => [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[2], b[2]), Math.max(a[3], b[3])];
  function joinRects(rects) {
    let box = null;
    for (const r of rects) if (r.width > 0.01) box = box ? union(box, box4(r)) : box4(r);
    return box;
  }

  // Pieces of text that stand on one line each: {text, box, space, key, item, drop}.
  function pieces(element) {
    const found = [];
    const range = document.createRange();
    let space = true, lastBlock = null;
    for (const node of textNodes(element)) {
      const parent = node.parentElement;
      if (!parent.getClientRects().length) continue;
      const key = parent.closest("td,th,[data-line],text") || element;
      const item = parent.closest(".item");
      const drop = !!parent.closest(".drop");
      let block = parent;
      while (block !== element && getComputedStyle(block).display.startsWith("inline")) block = block.parentElement;
      if (block !== lastBlock) space = true;
      lastBlock = block;
      const tokens = node.data.matchAll(/[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]|[^\s\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]+|\s+/g);
      for (const token of tokens) {
        if (/^\s+$/.test(token[0])) { space = true; continue; }
        range.setStart(node, token.index);
        range.setEnd(node, token.index + token[0].length);
        const rects = [...range.getClientRects()].filter((r) => r.width > 0.01);
        if (!rects.length) continue;
        const first = rects[0];
        if (rects.every((r) => Math.abs(r.top - first.top) < first.height / 2 && Math.abs(r.left - first.left) < 2000)) {
          found.push({ text: token[0].replaceAll(SHY, ""), box: joinRects(rects), space, key, item, drop });
        } else {
          let part = null;
          for (let i = 0; i < token[0].length; i++) {
            range.setStart(node, token.index + i);
            range.setEnd(node, token.index + i + 1);
            const shown = [...range.getClientRects()].filter((r) => r.width > 0.01);
            if (!shown.length) continue;
            const box = box4(shown[shown.length - 1]); // before it: the hyphen printed for a soft hyphen
            const character = token[0][i] === SHY ? "-" : token[0][i];
            if (part && Math.abs(box[1] - part.box[1]) < (part.box[3] - part.box[1]) / 2) {
              part.text += character;
              part.box = union(part.box, box);
            } else {
              part = { text: character, box, space: part ? true : space, key, item, drop };
              found.push(part);
            }
          }
        }
        space = false;
      }
    }
    return found;
  }

  function sameLine(line, piece, rtl) {
    const last = line.pieces[line.pieces.length - 1];
    if (last.key !== piece.key || last.drop !== piece.drop) return false;
    const core = line.core, box = piece.box;
    const shared = Math.min(core[3], box[3]) - Math.max(core[1], box[1]);
    if (shared < 0.5 * Math.min(core[3] - core[1], box[3] - box[1])) return false;
    if (rtl) return box[0] < line.box[2] + 2;
    return box[0] >= last.box[2] - 0.6 * (last.box[3] - last.box[1]);
  }

  function linesOf(element, rtl) {
    const lines = [];
    for (const piece of pieces(element)) {
      let line = lines[lines.length - 1];
      if (line && sameLine(line, piece, rtl)) {
        line.pieces.push(piece);
        line.box = union(line.box, piece.box);
        if (piece.box[3] - piece.box[1] > line.core[3] - line.core[1]) line.core = piece.box;
      } else {
        line = { pieces: [piece], box: piece.box, core: piece.box, itemElement: piece.item, key: piece.key };
        lines.push(line);
      }
    }
    let lastItem = null;
    return lines.map((line) => {
      const words = [];
      for (const piece of line.pieces) {
        const word = words[words.length - 1];
        if (word && !piece.space) {
          word.text += piece.text;
          word.box = union(word.box, piece.box);
        } else words.push({ text: piece.text, box: piece.box });
      }
      const made = { text: words.map((word) => word.text).join(" "), box: line.box, words, key: line.key };
      if (line.itemElement && line.itemElement !== lastItem) made.item = true;
      if (line.pieces[0].drop) made.drop_cap = true;
      lastItem = line.itemElement;
      return made;
    });
  }

  function cellsOf(table) {
    const cells = [], taken = new Set();
    [...table.rows].forEach((row, r) => {
      let c = 0;
      for (const cell of row.cells) {
        while (taken.has(r + "," + c)) c++;
        for (let i = 0; i < cell.rowSpan; i++) for (let j = 0; j < cell.colSpan; j++) taken.add(r + i + "," + (c + j));
        const text = linesOf(cell, false).map((line) => line.text).join(" ");
        cells.push({ row: r, column: c, row_span: cell.rowSpan, column_span: cell.colSpan, header: cell.tagName === "TH",
          box: box4(cell.getBoundingClientRect()), text });
        c += cell.colSpan;
      }
    });
    return cells;
  }

  // Parts of a block's lines that stand in one column each.
  function columnsOf(element, lines) {
    const whole = element.matches("table,.whole,svg") || !element.closest(".flow") || element.querySelector("table,svg");
    if (whole || !lines.length) return [lines];
    const parts = [[lines[0]]];
    for (let i = 1; i < lines.length; i++) {
      const before = lines[i - 1].drop_cap ? null : lines[i - 1].box;
      if (before && lines[i].box[1] < before[1] - (before[3] - before[1])) parts.push([]);
      parts[parts.length - 1].push(lines[i]);
    }
    return parts;
  }

  function readTruth() {
    const rtl = document.documentElement.dir === "rtl";
    const blocks = [];
    for (const element of document.querySelectorAll("[data-t]")) {
      if (element.parentElement.closest("[data-t]")) continue;
      const lines = linesOf(element, rtl);
      const type = element.dataset.t;
      if (!lines.length && type !== "figure") continue;
      columnsOf(element, lines).forEach((part, index) => {
        const block = { type };
        if (element.dataset.level) block.level = +element.dataset.level;
        if (index || element.dataset.on) block.goes_on = true;
        block.box = part.length ? part.map((line) => line.box).reduce(union) : null;
        if (type === "figure" || type === "table") {
          const own = box4(element.getBoundingClientRect());
          block.box = block.box ? union(own, block.box) : own;
        }
        block.lines = part.map(({ key, ...line }) => line);
        const table = element.matches("table") ? element : element.querySelector("table");
        if (type === "table" && table) block.cells = cellsOf(table);
        const order = element.closest("[data-o]");
        block.order = order ? +order.dataset.o : 0;
        block.floats = !!element.closest(".float");
        block.interrupts = !!element.closest("[data-interrupts]");
        const frames = [...element.getClientRects()].map(box4);
        block.frames = index < frames.length && frames.length > 1 ? [frames[index]] : frames;
        const flow = element.closest(".flow");
        block.flow = flow ? [...document.querySelectorAll(".flow")].indexOf(flow) : -1;
        blocks.push(block);
      });
    }
    return { blocks, overflow: document.documentElement.scrollWidth > window.innerWidth + 1 };
  }

  fitFlows();
  for (const template of document.querySelectorAll("template")) interrupt(template);
  fitFlows();
  return readTruth();
}
