// Doubtful words, and corrections of a page that was read: its words, lines, cells, blocks and texts stay consistent.
export const DOUBTFUL = 0.9; // as in formats/marks.py

export const isDoubtful = (item) => item.confidence !== null && item.confidence !== undefined && item.confidence < DOUBTFUL;

// Words of lines, in order: [{word, line, place}], with the line's index and the word's place in it.
export function wordsOf(page, lines) {
  return lines.flatMap((line) => ((page.lines[line] || {}).words || []).map((word, place) => ({ word, line, place })));
}

export function doubtsOf(page) {
  return page.lines.flatMap((line, index) => (line.words || []).map((word, place) => ({ word, line: index, place }))).filter(({ word }) => isDoubtful(word));
}

// Where each of `words` stands in `texts`, searching forwards only: [{at, begin, end, item}]. A word that is not found near is left out.
export function located(texts, words) {
  const found = [];
  let at = 0, from = 0;
  for (const item of words) {
    const text = item.word.text;
    if (!text) continue;
    for (let ahead = 0; ahead < 4 && at + ahead < texts.length; ahead += 1) {
      const begin = texts[at + ahead].indexOf(text, ahead ? 0 : from);
      if (begin < 0) continue;
      at += ahead;
      from = begin + text.length;
      found.push({ at, begin, end: from, item });
      break;
    }
  }
  return found;
}

function replaced(text, words, target, by) {
  if (text === null || text === undefined) return text;
  const place = located([text], words).find(({ item }) => item.line === target.line && item.place === target.place);
  return place ? text.slice(0, place.begin) + by + text.slice(place.end) : text;
}

const swap = (text, before, after) => (text && before ? text.replace(before, () => after) : text);

function changeBlocks(page, line, change) {
  for (const block of page.blocks || []) {
    if (!block.lines.includes(line)) continue;
    const { text, markdown } = block;
    change(block, block.lines);
    for (const cell of (block.table || { cells: [] }).cells) if (cell.lines.includes(line)) change(cell, cell.lines);
    page.text = swap(page.text, text, block.text);
    page.markdown = swap(page.markdown, markdown, block.markdown);
    return true;
  }
  return false;
}

export function correctWord(page, target, by) {
  const own = page.lines[target.line];
  if (by === own.words[target.place].text) return sure(own.words[target.place]);
  const change = (holder, lines) => {
    const words = wordsOf(page, lines);
    holder.text = replaced(holder.text, words, target, by);
    if ("markdown" in holder) holder.markdown = replaced(holder.markdown, words, target, by);
  };
  const before = own.text;
  const inBlock = changeBlocks(page, target.line, change);
  change(own, [target.line]);
  if (!inBlock) { page.text = swap(page.text, before, own.text); page.markdown = swap(page.markdown, before, own.text); }
  own.words[target.place].text = by;
  sure(own.words[target.place]);
}

export function correctLine(page, line, by) {
  const own = page.lines[line], before = own.text;
  if (by === before) return;
  const change = (holder) => {
    holder.text = swap(holder.text, before, by);
    if ("markdown" in holder) holder.markdown = swap(holder.markdown, before, by);
  };
  if (!changeBlocks(page, line, change)) { page.text = swap(page.text, before, by); page.markdown = swap(page.markdown, before, by); }
  own.text = by;
  const words = by.split(/\s+/).filter(Boolean);
  own.words = words.length === (own.words || []).length
    ? own.words.map((word, place) => ({ ...word, text: words[place], confidence: 1 }))
    : words.length ? [{ text: by, quad: own.quad, confidence: 1 }] : [];
  sure(own);
}

// Makes a correction again, after a reload: {line, place, before, by}; `place` is null for a whole line. False: the text is another one.
export function correctAgain(page, { line, place, before, by }) {
  const own = page.lines[line], item = own && place !== null ? (own.words || [])[place] : own;
  if (!item || item.text !== before) return false;
  if (place === null) correctLine(page, line, by); else correctWord(page, { line, place }, by);
  return true;
}

function sure(item) { item.confidence = 1; }
