// Many files in one: a ZIP without compression. The names come from visitors' files, so no path gets in.
const TABLE = Uint32Array.from({ length: 256 }, (_, value) => { for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1; return value >>> 0; });
const UTF8 = 0x0800, VERSION = 20, DAY_OF_1980 = 0x21, MOST = 0xffffffff;

function crcOf(bytes) {
  let crc = MOST;
  for (const byte of bytes) crc = (crc >>> 8) ^ TABLE[(crc ^ byte) & 255];
  return (crc ^ MOST) >>> 0;
}

// `fields`: [bytes, value] in their order.
function record(fields) {
  const view = new DataView(new ArrayBuffer(fields.reduce((sum, [size]) => sum + size, 0)));
  let at = 0;
  for (const [size, value] of fields) { if (size === 2) view.setUint16(at, value, true); else view.setUint32(at, value, true); at += size; }
  return view.buffer;
}

// A name without folders that no other file has.
export function nameIn(taken, name) {
  const plain = name.replace(/[\u0000-\u001f\u007f<>:"/\\|?*\u202a-\u202e\u2066-\u2069]/g, "_").replace(/^[. ]+/, "").slice(-200) || "document";
  const dot = plain.indexOf(".", 1);
  const [head, tail] = dot < 0 ? [plain, ""] : [plain.slice(0, dot), plain.slice(dot)];
  let found = plain;
  for (let turn = 2; taken.has(found.toLowerCase()); turn += 1) found = `${head}-${turn}${tail}`;
  taken.add(found.toLowerCase());
  return found;
}

// `files`: [{name, content, folder}], content a Blob, bytes or text; `folder` is the page's own, such as "images/". A Blob.
export async function zipOf(files) {
  const parts = [], index = [], taken = new Set();
  let at = 0;
  for (const { name, content, folder = "" } of files) {
    const blob = new Blob([content]), title = new TextEncoder().encode(folder + nameIn(taken, name));
    const crc = crcOf(new Uint8Array(await blob.arrayBuffer()));
    const common = [[2, VERSION], [2, UTF8], [2, 0], [2, 0], [2, DAY_OF_1980], [4, crc], [4, blob.size], [4, blob.size], [2, title.length], [2, 0]];
    parts.push(record([[4, 0x04034b50], ...common]), title, blob);
    index.push(record([[4, 0x02014b50], [2, VERSION], ...common, [2, 0], [2, 0], [2, 0], [4, 0], [4, at]]), title);
    at += 30 + title.length + blob.size;
  }
  const size = index.reduce((sum, part) => sum + part.byteLength, 0);
  const end = record([[4, 0x06054b50], [2, 0], [2, 0], [2, files.length], [2, files.length], [4, size], [4, at], [2, 0]]);
  return new Blob([...parts, ...index, end], { type: "application/zip" });
}
