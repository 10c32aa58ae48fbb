"""The database of jobs: connections, transactions in threads, and errors as the caller should take them."""

from __future__ import annotations

import math
import sqlite3
import stat
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Lock
from time import perf_counter
from typing import Generic, TypeVar

import anyio
import structlog
from sqlalchemy import (
    ColumnElement,
    Connection,
    Double,
    Engine,
    cast,
    create_engine,
    event,
    extract,
    func,
    inspect,
    literal,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DataError, DBAPIError, OperationalError, SQLAlchemyError

from inkgate.caller import Caller
from inkgate.errors import EngineFailed, InkgateError, Overloaded
from inkgate.installation import install_extra
from inkgate.jobs.store.postgres import limit_waits
from inkgate.jobs.store.tables import StoreTooNew, migrate, schema
from inkgate.serving.threads import FairThreads
from inkgate_client.concurrency import Threads, loop_time

log = structlog.get_logger(__name__)

T = TypeVar("T")
Clock = Callable[[], float]
_BUSY_S = 15.0
_RETRY_S = 5.0
_LONGEST_WAIT_S = 65.0
"""Maximum time to wait for the answer to one statement: longer than `statement_timeout` below."""
_LAST_WAIT_S = 3.0
"""The same while the service stops."""
_MAX_BATCH = 64
_FRESH_S = 2.0
_READERS = 4
_POSTGRES = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
    "options": " ".join(
        f"-c {setting}"
        for setting in (
            "statement_timeout=60000",
            "lock_timeout=15000",
            "idle_in_transaction_session_timeout=15000",
            "tcp_keepalives_idle=10",
            "tcp_keepalives_interval=5",
            "tcp_keepalives_count=3",
        )
    ),
}
"""Options by which a server that has gone is an error after seconds, not after the hours of TCP's defaults, and by
which the server ends the transaction of a process that was stopped or cut off, which has locked its jobs and its
tenants' turns."""

_QUIET = {"hide_parameters": True}
"""Keeps values, which may be passwords or text of documents, out of errors in the log."""


def database_url(configured: str, folder: Path) -> URL:
    """The URL of the settings for SQLAlchemy; for an empty one, SQLite in `folder`."""
    if not configured:
        return URL.create("sqlite", database=str(folder / "jobs.db"))
    url = make_url(configured)
    return url.set(drivername="postgresql+psycopg") if url.drivername.startswith("postgresql") else url


class _Write:
    """A function that waits to be run in a transaction, and what came of it."""

    def __init__(self, function: Callable[[Connection], object], first: Callable[[Connection], None] | None) -> None:
        self.function = function
        self.first = first
        self.requested_at = perf_counter()
        self.done = anyio.Event()
        self.error: Exception | None = None


def _run_all(connection: Connection, batch: Sequence[_Write]) -> None:
    for first in {write.first for write in batch if write.first is not None}:
        first(connection)
    for write in batch:
        write.function(connection)


class Database:
    """Runs functions in transactions, in threads. Use it as a context manager; methods from one event loop.

    Writes that wait for the one before are run together in one transaction: a commit costs a flush of the disk, or a
    round trip, whatever is in it. If one fails, all are rolled back, and each is run again in a transaction of its own.

    The tables are made before the first use, so that the service starts without the database, too.
    """

    def __init__(self, url: URL, clock: Clock) -> None:
        """`clock`: Unix time in seconds; used with SQLite only."""
        self.is_postgres = url.drivername.startswith("postgresql")
        self._url = url
        self._clock = clock
        self._writer: Engine | None = None
        self._reader: Engine | None = None
        self._write_threads = Threads("jobs_write", 1)
        self._readers = FairThreads(_READERS)
        self._opening = Lock()
        self._opened_file: tuple[int, int] | None = None
        self._runs = False
        self._wait_s = _LONGEST_WAIT_S
        self._refusals: dict[bool, tuple[float, Overloaded]] = {}
        """The last attempt that could not begin a transaction, by kind (writes or not): when, and why."""
        self._writes: deque[_Write] = deque()
        self._arrived = anyio.Event()
        self.transactions = 0
        """Write transactions so far."""
        self.trouble = ""
        """Why the database could not be used at the last attempt; empty if it could."""
        self.is_full = False
        """Whether `trouble` is a full disk: reads that succeed don't end it."""

    def now(self) -> ColumnElement[float]:
        """The time, as an expression: of the server on PostgreSQL, as nodes may differ."""
        if self.is_postgres:
            return cast(extract("epoch", func.clock_timestamp()), Double)
        return literal(self._clock(), Double)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Runs writes during the block. Writes that wait when it is left are refused."""
        try:
            async with anyio.create_task_group() as tasks:
                self._runs, self._wait_s = True, _LONGEST_WAIT_S
                tasks.start_soon(self._write_all, name="jobs_write")
                yield
                self._wait_s = _LAST_WAIT_S
                tasks.cancel_scope.cancel()
        finally:
            self._runs, self._wait_s = False, _LAST_WAIT_S
            self._dispose()

    async def exists(self) -> bool:
        """Whether the tables are there. Makes neither a file nor tables.

        Raises:
            Overloaded: "jobs_unavailable".
        """
        return await self._readers.run(Caller(), 1, self._exists)

    def _exists(self) -> bool:
        if not self.is_postgres and not Path(self._url.database or "").is_file():
            return False
        try:
            engine = self._postgres() if self.is_postgres else create_engine(self._url, **_QUIET)
        except ModuleNotFoundError as error:
            raise _no_driver() from error
        try:
            return inspect(engine).has_table(schema.name)
        except (SQLAlchemyError, OSError) as error:
            raise _as_inkgate_error(error) from error
        finally:
            engine.dispose()

    async def read(self, function: Callable[[Connection], T], tenant: str = "") -> T:
        """Returns `function(connection)`, which reads only. `tenant`: who asked, by default the service; they share the
        readers by time.

        Raises:
            Overloaded: "jobs_unavailable".
        """
        caller = Caller(tenant)
        return await self._readers.run(caller, 1, self._in_transaction, function, perf_counter(), writes=False)

    async def write(self, function: Callable[[Connection], T], first: Callable[[Connection], None] | None = None) -> T:
        """Returns `function(connection)` once it is committed. A cancelled caller's function may still be committed.
        `first`: called at the beginning of the transaction, before what else is run in it: takes locks.

        Raises:
            Overloaded: "jobs_unavailable".
            EngineFailed: "internal": the database can't hold a value.
            InkgateError, LookupError: raised by `function`, which is then rolled back.
        """
        if not self._runs:
            raise unavailable("The service is shutting down.")
        result: list[T] = []
        write = _Write(lambda connection: result.append(function(connection)), first)
        self._writes.append(write)
        self._arrived.set()
        await write.done.wait()
        if write.error is not None:
            raise write.error
        return result[-1]

    async def _write_all(self) -> None:
        batch: list[_Write] = []
        try:
            while True:
                await self._arrived.wait()
                self._arrived = anyio.Event()
                while self._writes:
                    batch = [self._writes.popleft() for _ in range(min(len(self._writes), _MAX_BATCH))]
                    try:
                        await self._write_threads.run(self._commit, batch)
                    except Exception:  # no thread can be started; that must not end the service
                        log.exception("jobs_write_failed")
                        for write in batch:
                            write.error = unavailable("The service can't write to the database of jobs.")
                    for write in batch:
                        write.done.set()
        finally:
            self._runs = False
            for write in (*batch, *self._writes):
                if not write.done.is_set():
                    write.error = write.error or unavailable("The service is shutting down.")
                    write.done.set()
            self._writes.clear()

    def _commit(self, batch: list[_Write]) -> None:
        """Runs the batch in one transaction; if that fails, each in its own. Blocking."""
        if len(batch) > 1:
            with suppress(Exception):  # one of them failed; which is found below
                self._in_transaction(partial(_run_all, batch=batch), writes=True)
                return
        for write in batch:
            try:
                self._in_transaction(partial(_run_all, batch=[write]), write.requested_at, writes=True)
            except Exception as error:  # noqa: BLE001 - raised in the caller's task
                write.error = error

    def _in_transaction(
        self, function: Callable[[Connection], T], requested_at: float = math.inf, *, writes: bool
    ) -> T:
        """`requested_at`: when the caller asked: if no transaction could be begun since, none is tried again. So
        callers that wait for each other don't each wait for a server that does not respond. Blocking.
        """
        tried_at, refusal = self._refusals.get(writes, (-math.inf, None))
        if refusal is not None and tried_at >= requested_at:
            raise Overloaded(refusal.code, refusal.detail, refusal.retry_after_s)
        now, begun = perf_counter(), False
        try:
            with self._engine(writes=writes).begin() as connection:
                self.transactions += writes
                begun = True
                result = function(connection)
        except StoreTooNew as error:
            self._note(str(error))
            raise unavailable(f"{error} Update inkgate.") from error
        except (SQLAlchemyError, OSError) as error:
            refused = _as_inkgate_error(error)
            if not begun and isinstance(refused, Overloaded):
                self._refusals[writes] = now, refused
            if isinstance(refused, Overloaded):
                self.is_full = _is_disk_full(error)
                self._note(refused.detail, _cause(error))
            raise refused from error
        if writes or not self.is_full:
            self.is_full = False
            self._note("")
        return result

    def _note(self, trouble: str, cause: str = "") -> None:
        """Logs that the database can't be used, or can be used again: when that changes, not each time."""
        if trouble != self.trouble:
            self.trouble = trouble
            if trouble:
                log.warning("jobs_unavailable", reason=trouble, cause=cause)
            else:
                log.info("jobs_available")

    def _engine(self, *, writes: bool) -> Engine:
        """The engine for writes or for reads; the tables are there. Blocking."""
        with self._opening:
            if self._writer is not None and self._file() != self._opened_file:
                log.error("jobs_database_replaced", path=self._url.database)  # else writes would go to a deleted file
                self._dispose()
                self._writer = self._reader = None
            if self._writer is None:
                self._writer = self._opened()
                self._opened_file = self._file()
            if writes or self.is_postgres:
                return self._writer
            if self._reader is None:
                self._reader = self._sqlite("BEGIN")
            return self._reader

    def _dispose(self) -> None:
        for engine in (self._writer, self._reader):
            if engine is not None:
                engine.dispose()

    def _file(self) -> tuple[int, int] | None:
        """Identifies SQLite's file; None for PostgreSQL, and if the file is gone."""
        if self.is_postgres:
            return None
        try:
            found = Path(self._url.database or "").stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _opened(self) -> Engine:
        # A write that began as a read could not wait for another process's write.
        try:
            engine = self._postgres() if self.is_postgres else self._sqlite("BEGIN IMMEDIATE")
        except ModuleNotFoundError as error:
            raise _no_driver() from error
        try:
            with engine.begin() as connection:
                migrate(connection)
        except BaseException:
            engine.dispose()
            raise
        return engine

    def _postgres(self) -> Engine:
        engine = create_engine(
            self._url, pool_size=_READERS + 1, max_overflow=0, pool_pre_ping=True, connect_args=_POSTGRES, **_QUIET
        )
        limit_waits(engine, lambda: self._wait_s)
        return engine

    def _sqlite(self, begin: str) -> Engine:
        path = Path(self._url.database or "")
        path.parent.mkdir(parents=True, exist_ok=True, mode=stat.S_IRWXU)
        if not path.exists():
            path.touch(mode=stat.S_IRUSR | stat.S_IWUSR)  # documents of all tenants are in it
        engine = create_engine(
            self._url, pool_size=_READERS, max_overflow=0, connect_args={"timeout": _BUSY_S}, **_QUIET
        )

        @event.listens_for(engine, "connect")
        def _connected(connection: sqlite3.Connection, _: object) -> None:
            connection.isolation_level = None  # transactions begin below, not where the driver guesses
            # FULL: what was committed survives a power failure, too.
            connection.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=OFF;")

        @event.listens_for(engine, "begin")
        def _begun(connection: Connection) -> None:
            connection.exec_driver_sql(begin)

        return engine


class Recent(Generic[T]):
    """A value that is read at most every two seconds, however many ask for it.

    Attributes:
        added: what the owner adds since the last reading, by tenant.
    """

    def __init__(self, read: Callable[[Connection], T], database: Database) -> None:
        self.added: Counter[str] = Counter()
        self._read = read
        self._database = database
        self._lock = anyio.Lock()
        self._value: tuple[T, float] | None = None

    async def value(self) -> T:
        """The value, at most two seconds old."""
        async with self._lock:
            if self._value is None or loop_time() - self._value[1] > _FRESH_S:
                self._value = await self._database.read(self._read), loop_time()
                self.added.clear()
            return self._value[0]


def unavailable(detail: str) -> Overloaded:
    """The error while the database can't be used."""
    return Overloaded("jobs_unavailable", detail, _RETRY_S)


def _no_driver() -> Overloaded:
    return unavailable(f"PostgreSQL needs {install_extra('postgres')}.")


def _cause(error: Exception) -> str:
    """The first line of the database's own message."""
    return next(iter(str(getattr(error, "orig", None) or error).splitlines()), type(error).__name__)


def _is_disk_full(error: Exception) -> bool:
    text = str(getattr(error, "orig", error)).lower()
    return "disk is full" in text or "no space left" in text or "disk full" in text


def _as_inkgate_error(error: Exception) -> InkgateError:
    if _is_disk_full(error):
        return Overloaded("storage_full", "No space is left for the database of jobs.", 60.0)
    if isinstance(error, OperationalError | OSError) or (
        isinstance(error, DBAPIError) and error.connection_invalidated
    ):
        return unavailable("The database of jobs does not respond.")
    log.error("jobs_database_failed", exc_info=error)
    if isinstance(error, DataError):  # it would be refused each time
        return EngineFailed("internal", "The database of jobs can't hold a value.")
    return unavailable("The database of jobs refused a statement; the log has more.")
