"""A full-text index over the results of a watched folder: SQLite's FTS5, a row a page."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from inkgate.cli.messages import failure
from inkgate.cli.result_names import FIELDS_SUFFIX
from inkgate_client.codec import parse_document

_TABLES = """\
CREATE TABLE IF NOT EXISTS results (path TEXT PRIMARY KEY, changed INTEGER, document TEXT, pages INTEGER);
CREATE VIRTUAL TABLE IF NOT EXISTS pages USING fts5(
  text, path UNINDEXED, document UNINDEXED, page UNINDEXED, tokenize = 'unicode61 remove_diacritics 2'
);
"""
_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_BEFORE = re.compile(f"(?<=[{_IDEOGRAPHS}])(?=\\w)|(?<=\\w)(?=[{_IDEOGRAPHS}])")
_BETWEEN = re.compile(
    f"(?<=[{_IDEOGRAPHS}]) (?=[\\[\\]]?[{_IDEOGRAPHS}])|(?<=[{_IDEOGRAPHS}][\\[\\]]) (?=\\[?[{_IDEOGRAPHS}])"
)
_WORDS = re.compile(r"\w+")
_MAX_HITS = 50


@dataclass(frozen=True, slots=True)
class PageHit:
    """A page that has all words. `page`: from 1; `text`: around the words, which stand in brackets."""

    document: str
    page: int
    text: str


@dataclass(frozen=True, slots=True)
class IndexedDocument:
    """A document of the index, with the beginning of its text."""

    name: str
    pages: int
    beginning: str


class PageIndex:
    """The index in `file`. Blocking; each call opens the file, so any thread may call, and other processes too."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def update(self, results: Path) -> None:
        """Takes in the JSON results in a folder that are new or have changed, and leaves out those that are gone.

        Raises:
            typer.Exit: this Python's SQLite has no FTS5.
            OSError
        """
        found = {
            path.relative_to(results).as_posix(): path
            for path in results.rglob("*.json")
            if not path.name.endswith(FIELDS_SUFFIX) and not path.name.startswith(".")
        }
        with self._open() as index, index:
            known = dict(index.execute("SELECT path, changed FROM results"))
            for gone in known.keys() - found.keys():
                _remove(index, gone)
            for name, path in found.items():
                changed = path.stat().st_mtime_ns
                if known.get(name) != changed:
                    _take_in(index, name, path, changed)

    def documents(self) -> list[IndexedDocument]:
        """The documents by name."""
        with self._open() as index:
            rows = index.execute(
                "SELECT results.document, results.pages, pages.text FROM results LEFT JOIN pages"
                " ON pages.path = results.path AND pages.page = 1 ORDER BY results.document"
            )
            return [IndexedDocument(name, pages, _joined((text or "")[:80])) for name, pages, text in rows]

    def search(self, words: str) -> list[PageHit]:
        """The pages that have all words, the best first. A word may go on: `lamp` finds lamps. Chinese and Japanese
        words are found wherever they stand.
        """
        wanted = " ".join(f'"{_apart(word)}"*' for word in _WORDS.findall(words))
        if not wanted:
            return []
        with self._open() as index:
            rows = index.execute(
                "SELECT document, page, snippet(pages, 0, '[', ']', ' ... ', 12) FROM pages WHERE pages MATCH ?"
                " ORDER BY rank LIMIT ?",
                (wanted, _MAX_HITS),
            )
            return [PageHit(name, page, _joined(text)) for name, page, text in rows]

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._file)) as index:
            try:
                index.executescript(_TABLES)
            except sqlite3.OperationalError as error:
                if "fts5" in str(error):
                    raise failure("The SQLite of this Python has no full-text search (FTS5).") from error
                raise
            yield index


def _remove(index: sqlite3.Connection, name: str) -> None:
    index.execute("DELETE FROM pages WHERE path = ?", (name,))
    index.execute("DELETE FROM results WHERE path = ?", (name,))


def _take_in(index: sqlite3.Connection, name: str, path: Path, changed: int) -> None:
    """Puts the pages of a result into the index; JSON of others is left out. Raises OSError."""
    _remove(index, name)
    try:
        document = parse_document(path.read_bytes())
    except ValueError:
        return
    index.execute("INSERT INTO results VALUES (?, ?, ?, ?)", (name, changed, document.name, len(document.pages)))
    index.executemany(
        "INSERT INTO pages (text, path, document, page) VALUES (?, ?, ?, ?)",
        [(_apart(page.text), name, document.name, page.index + 1) for page in document.pages],
    )


def _apart(text: str) -> str:
    """The text with spaces between ideographs, each of which is a word of the index then."""
    return "\n".join(" ".join(_BEFORE.sub(" ", line).split()) for line in text.splitlines())


def _joined(text: str) -> str:
    """Joins the text in one line, without the spaces of `_apart`."""
    return " ".join(_BETWEEN.sub("", text).split())
