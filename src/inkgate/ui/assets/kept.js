// What a reload keeps of a tab: its documents and results, in IndexedDB under the tab's id, which only the tab's sessionStorage has.
// Closing the tab forgets: nothing reads its rows again, and the next tab that starts removes them.
import { home } from "./api.js";
import { session } from "./words.js";

const NAME = "inkgate " + home.pathname; // services below one host share no rows
const STORES = ["tabs", "documents", "files", "pages"];
const LOCK = NAME + " tab ";
const TAB = "inkgate-tab", LEFT = "inkgate-left", UNSAVED = "inkgate-unsaved";
const MAX_DOCUMENTS = 200, MAX_BYTES = 200e6;
const RENEWED_MS = 60_000;
const AWAY_MS = 60_000; // a reload takes less; a closed tab that is opened again later has forgotten
const GONE_MS = 180_000, GONE_UNLOCKED_MS = 3_600_000; // with and without locks, which only pages with TLS or on localhost have
const HANDED_OVER_MS = 1000;

const locks = () => (typeof navigator.locks === "object" && window.isSecureContext ? navigator.locks : null);
const result = (asked) => new Promise((resolve, reject) => { asked.onsuccess = () => resolve(asked.result); asked.onerror = () => reject(asked.error); });
const of = (...key) => IDBKeyRange.bound(key, [...key, []]); // arrays come after numbers and texts

function opened() {
  return new Promise((resolve, reject) => {
    const asked = indexedDB.open(NAME, 1);
    asked.onupgradeneeded = () => { for (const name of STORES) asked.result.createObjectStore(name); };
    asked.onsuccess = () => { asked.result.onversionchange = () => asked.result.close(); resolve(asked.result); };
    asked.onerror = () => reject(asked.error);
    asked.onblocked = () => reject(new Error("blocked"));
  });
}

export class Kept {
  // `onTrouble()`: something will not survive a reload.
  constructor(onTrouble) {
    Object.assign(this, { onTrouble, db: null, tab: "", leaving: false, sizes: new Map(), unsaved: [], letGo: () => {} });
    this.ready = new Promise((resolve) => { this.started = resolve; });
    addEventListener("pagehide", () => { this.leaving = true; session.set(LEFT, String(Date.now())); this.letGo(); });
    addEventListener("pageshow", (event) => { if (event.persisted) { this.leaving = false; session.set(LEFT, ""); this.hold(this.tab); } });
  }

  get works() { return Boolean(this.db); }

  // The rows of this tab, in order: [{row, file, pages}]. None where the browser keeps nothing.
  async start() {
    let found = [];
    try {
      this.db = await opened();
      await this.claim();
      found = await this.rows();
      this.sweep().catch(() => {});
      setInterval(() => this.renew().catch(() => {}), RENEWED_MS);
    } catch { this.db = null; }
    this.started();
    return found;
  }

  // The tab's id. A duplicated tab has a copy of the other's: it takes a new one.
  async claim() {
    const before = session.get(TAB), left = Number(session.get(LEFT));
    session.set(LEFT, "");
    const late = left && Date.now() - left > AWAY_MS;
    const own = before && !late && (locks() ? await this.hold(before) : left || document.wasDiscarded);
    this.tab = own ? before : fresh();
    session.set(TAB, this.tab);
    if (own) try { this.unsaved = JSON.parse(session.get(UNSAVED) || "[]"); } catch { /* nothing was noted */ }
    else { session.set(UNSAVED, ""); await this.hold(this.tab); }
    await this.write(["tabs"], (store) => store("tabs").put({ seen: Date.now() }, this.tab));
    if (late) await this.remove(before);
  }

  // Takes the tab's lock; the page before a reload may need a moment to let go. False: another tab has it.
  hold(tab) {
    if (!locks()) return true;
    return new Promise((resolve) => {
      locks().request(LOCK + tab, { signal: AbortSignal.timeout(HANDED_OVER_MS) }, () => {
        resolve(true);
        return new Promise((release) => { this.letGo = release; });
      }).catch(() => resolve(false));
    });
  }

  write(stores, action) {
    return new Promise((resolve, reject) => {
      const work = this.db.transaction(stores, "readwrite");
      work.oncomplete = () => resolve();
      work.onabort = () => reject(work.error);
      action((name) => work.objectStore(name));
    });
  }

  async rows() {
    const work = this.db.transaction(STORES), range = of(this.tab);
    const [keys, heads, fileKeys, files, pageKeys, pages] = await Promise.all([
      result(work.objectStore("documents").getAllKeys(range)), result(work.objectStore("documents").getAll(range)),
      result(work.objectStore("files").getAllKeys(range)), result(work.objectStore("files").getAll(range)),
      result(work.objectStore("pages").getAllKeys(range)), result(work.objectStore("pages").getAll(range))]);
    const fileOf = new Map(fileKeys.map(([, id], place) => [id, files[place]]));
    const pagesOf = new Map(keys.map(([, id]) => [id, []]));
    for (const [place, [, id]] of pageKeys.entries()) if (pagesOf.has(id)) pagesOf.get(id).push(pages[place]);
    return keys.map(([, id], place) => {
      const file = fileOf.get(id) || null, own = pagesOf.get(id);
      this.sizes.set(id, (file ? file.size : 0) + own.reduce((sum, text) => sum + text.length, 0));
      return { row: { ...heads[place], id }, file, pages: own.map((text) => JSON.parse(text)) };
    });
  }

  async renew() {
    if (this.db && !this.leaving) await this.write(["tabs"], (store) => store("tabs").put({ seen: Date.now() }, this.tab));
  }

  // Removes the rows of tabs that are gone.
  async sweep() {
    const work = this.db.transaction(["tabs"]);
    const [tabs, seen] = await Promise.all([result(work.objectStore("tabs").getAllKeys()), result(work.objectStore("tabs").getAll())]);
    const held = locks() && new Set((await locks().query()).held.map((lock) => lock.name));
    for (const [place, tab] of tabs.entries()) {
      const age = Date.now() - seen[place].seen;
      if (tab !== this.tab && (held ? !held.has(LOCK + tab) && age > GONE_MS : age > GONE_UNLOCKED_MS)) await this.remove(tab);
    }
  }

  remove(tab) {
    return this.write(STORES, (store) => { store("tabs").delete(tab); for (const name of STORES.slice(1)) store(name).delete(of(tab)); });
  }

  // Keeps a document that is to be read, or whose reading ended. `row`: what is small of it.
  async put({ id, ...row }, file, pages) {
    const texts = pages.map((page) => JSON.stringify(page)), noted = this.unsavedOf(id);
    await this.ready;
    if (!this.db || this.leaving) return;
    const size = (file ? file.size : 0) + texts.reduce((sum, text) => sum + text.length, 0);
    const others = [...this.sizes].reduce((sum, [other, bytes]) => sum + (other === id ? 0 : bytes), 0);
    if (size + others > MAX_BYTES || (!this.sizes.has(id) && this.sizes.size >= MAX_DOCUMENTS)) { this.drop(id); this.onTrouble(); return; }
    const known = this.sizes.has(id);
    this.sizes.set(id, size);
    try {
      await this.write(STORES.slice(1), (store) => {
        store("documents").put(row, [this.tab, id]);
        if (file && !known) store("files").put(file, [this.tab, id]);
        store("pages").delete(of(this.tab, id));
        for (const [place, text] of texts.entries()) store("pages").put(text, [this.tab, id, place]);
      });
      if (texts.length) this.settle(noted);
    } catch { if (!this.leaving) { this.drop(id); this.onTrouble(); } }
  }

  // Corrections that may not be stored yet: [{id, at, correction}], with the page's place. A transaction ends some time later, and the page
  // may be left before: so they are noted at once, where a reload finds them.
  unsavedOf(id) { return this.unsaved.filter((one) => one.id === id); }

  note(one) { this.unsaved = [...this.unsaved, one]; session.set(UNSAVED, JSON.stringify(this.unsaved)); }

  settle(some) {
    this.unsaved = this.unsaved.filter((one) => !some.includes(one));
    session.set(UNSAVED, this.unsaved.length ? JSON.stringify(this.unsaved) : "");
  }

  // Keeps one page again, after a correction; not without the others, if another tab took this one for gone while the machine slept.
  async putPage({ id, ...row }, page, place, correction) {
    const text = JSON.stringify(page), noted = { id, at: place, correction };
    this.note(noted);
    await this.ready;
    if (!this.db || !this.sizes.has(id)) { this.settle([noted]); return; }
    if (this.leaving) return;
    await this.write(["documents", "pages"], (store) => {
      const known = store("documents").count([this.tab, id]);
      known.onsuccess = () => {
        if (!known.result) { this.sizes.delete(id); this.onTrouble(); return; }
        store("documents").put(row, [this.tab, id]);
        store("pages").put(text, [this.tab, id, place]);
      };
    }).then(() => this.settle([noted]), () => this.onTrouble());
  }

  async drop(id) {
    await this.ready;
    this.sizes.delete(id);
    this.settle(this.unsavedOf(id));
    if (this.db) await this.write(STORES.slice(1), (store) => { for (const name of STORES.slice(1)) store(name).delete(of(this.tab, id)); }).catch(() => {});
  }

  // Forgets all of the tab, whatever the browser says of the rows: their id is gone. The page is to be loaded again then.
  async forget() {
    this.leaving = true;
    session.set(TAB, "");
    session.set(UNSAVED, "");
    await Promise.race([this.ready, new Promise((resolve) => setTimeout(resolve, HANDED_OVER_MS))]);
    if (this.db) await this.remove(this.tab).catch(() => {});
  }
}

const fresh = () => [...crypto.getRandomValues(new Uint32Array(4))].map((part) => part.toString(36)).join("-");
