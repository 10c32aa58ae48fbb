"""Events of Feishu that were accepted and are not done, in a file: none is lost or done twice over a restart."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

KEPT_S: Final = 2 * 24 * 3600.0
"""How long the IDs of events that are done are kept. Feishu sends an event again for about seven hours."""
_MAX_CHATS = 10_000
_TABLES = """
CREATE TABLE IF NOT EXISTS waiting (
    id TEXT PRIMARY KEY, kind TEXT NOT NULL, sender TEXT NOT NULL, event BLOB NOT NULL, attempts INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS done (id TEXT PRIMARY KEY, at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS chats (id TEXT PRIMARY KEY, choice TEXT NOT NULL);
"""


class InboxFull(Exception):
    """The maximum number of events is waiting."""


@dataclass(frozen=True, slots=True)
class InboxItem:
    """An event to work on. `attempts`: how often it was begun, this time included."""

    id: str
    kind: str
    event: dict[str, Any]
    attempts: int


class FeishuInbox:
    """The events. Its methods are short, and may be called by several threads.

    Those that write raise sqlite3.Error, such as if the disk is full, and have changed nothing then.
    """

    def __init__(self, file: Path, now: Callable[[], float], most: int) -> None:
        """`now`: Unix time. `most`: events that may wait. Blocking.

        Raises:
            OSError, sqlite3.Error: the file can't be used, such as by another bot at the same time.
        """
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)  # it holds what people wrote
        self._now = now
        self._most = most
        self._lock = threading.Lock()
        self._begun: set[str] = set()
        self._rows = sqlite3.connect(file, isolation_level=None, check_same_thread=False, timeout=1)
        try:
            self._rows.execute("PRAGMA locking_mode=EXCLUSIVE")  # another bot with this file would do everything twice
            self._rows.execute("PRAGMA journal_mode=WAL")
            self._rows.executescript(_TABLES)
        except BaseException:
            self._rows.close()
            raise

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            self._rows.close()

    def accept(self, event_id: str, kind: str, sender: str, event: dict[str, Any]) -> bool:
        """Keeps an event; False if it is known.

        Raises:
            InboxFull: there is no room for it.
        """
        with self._lock:
            if self._has("SELECT 1 FROM done WHERE id = ?1 UNION SELECT 1 FROM waiting WHERE id = ?1", event_id):
                return False
            if self._rows.execute("SELECT count(*) FROM waiting").fetchone()[0] >= self._most:
                raise InboxFull
            row = (event_id, kind, sender, orjson.dumps(event))
            self._rows.execute("INSERT INTO waiting VALUES (?, ?, ?, ?, 0)", row)
            return True

    def waiting_of(self, sender: str) -> int:
        """How many events of a person wait."""
        with self._lock:
            ask = "SELECT count(*) FROM waiting WHERE sender = ?"
            return int(self._rows.execute(ask, (sender,)).fetchone()[0])

    def begin(self, kind: str) -> InboxItem | None:
        """The event that waits longest and that nobody works on; None if there is none."""
        with self._lock:
            rows = self._rows.execute("SELECT id, event, attempts FROM waiting WHERE kind = ? ORDER BY rowid", (kind,))
            found = next((row for row in rows if row[0] not in self._begun), None)
            rows.close()
            if found is None:
                return None
            event_id, event, attempts = found
            self._rows.execute("UPDATE waiting SET attempts = attempts + 1 WHERE id = ?", (event_id,))
            self._begun.add(event_id)
            return InboxItem(event_id, kind, orjson.loads(event), attempts + 1)

    def put_back(self, item: InboxItem) -> None:
        """The event is to be begun again."""
        with self._lock:
            self._begun.discard(item.id)

    def finish(self, item: InboxItem) -> None:
        """The event is done, and is not accepted again."""
        with self._lock:
            self._rows.execute("BEGIN")
            try:
                self._rows.execute("DELETE FROM waiting WHERE id = ?", (item.id,))
                self._rows.execute("INSERT OR REPLACE INTO done VALUES (?, ?)", (item.id, self._now()))
                self._rows.execute("DELETE FROM done WHERE at < ?", (self._now() - KEPT_S,))
                self._rows.execute("COMMIT")
            except BaseException:
                if self._rows.in_transaction:  # SQLite ends it itself on some errors
                    self._rows.execute("ROLLBACK")
                raise
            self._begun.discard(item.id)

    def choose(self, chat: str, choice: str) -> None:
        """Keeps what a chat wants of its documents."""
        with self._lock:
            self._rows.execute("DELETE FROM chats WHERE id = ?", (chat,))
            self._rows.execute("INSERT INTO chats VALUES (?, ?)", (chat, choice))
            oldest = "SELECT rowid FROM chats ORDER BY rowid DESC LIMIT -1 OFFSET ?"
            self._rows.execute(f"DELETE FROM chats WHERE rowid IN ({oldest})", (_MAX_CHATS,))  # noqa: S608 - constants

    def choice(self, chat: str) -> str | None:
        """What the chat wants of its documents; None: it never said."""
        with self._lock:
            row = self._rows.execute("SELECT choice FROM chats WHERE id = ?", (chat,)).fetchone()
            return None if row is None else str(row[0])

    def _has(self, ask: str, event_id: str) -> bool:
        return self._rows.execute(ask, (event_id,)).fetchone() is not None
