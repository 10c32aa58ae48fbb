"""A real PostgreSQL, which can be stopped, killed and started again on the same port."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import psycopg
import pytest

_START_S = 60.0
_USER = "inkgate"


class PostgresServer:
    """A server on its own port at loopback, with its defaults (fsync too), that trusts everybody."""

    def __init__(self, programs: Path, folder: Path) -> None:
        """`folder`: empty; belongs to the user that runs the server afterwards."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self._programs = programs
        self._folder = folder
        self._data = folder / "data"
        self._owner = _unprivileged()
        self._process: subprocess.Popen[bytes] | None = None
        self._names = count(1)

    def create(self) -> None:
        """Creates the files of the server's databases."""
        if self._owner is not None:
            os.chown(self._folder, self._owner.pw_uid, self._owner.pw_gid)
        options = ["--auth", "trust", "--username", _USER, "--encoding", "UTF8", "--no-locale", "--no-sync"]
        self._run("initdb", "-D", str(self._data), *options).wait(_START_S)

    def start(self) -> None:
        """Returns once it accepts connections."""
        options = ["-h", "127.0.0.1", "-p", str(self.port), "-k", str(self._folder)]
        self._process = self._run("postgres", "-D", str(self._data), *options)
        give_up = time.monotonic() + _START_S
        while True:
            try:
                psycopg.connect(self._dsn("postgres"), connect_timeout=5).close()
            except psycopg.OperationalError:
                log = (self._folder / "log").read_text(errors="replace")
                assert self._process.poll() is None, f"PostgreSQL ended:\n{log}"
                assert time.monotonic() < give_up, f"PostgreSQL does not accept connections:\n{log}"
                time.sleep(0.02)
            else:
                return

    def database(self) -> str:
        """URL for SQLAlchemy of a new, empty database."""
        name = f"db{next(self._names)}"
        with psycopg.connect(self._dsn("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return f"postgresql+psycopg://{_USER}@127.0.0.1:{self.port}/{name}"

    def stop(self) -> None:
        """Closes all connections and ends it."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """Ends all of its processes at once, as a power failure does; committed transactions survive."""
        self._end(signal.SIGQUIT)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """None of its processes runs during the block; they still have their connections."""
        assert self._process is not None
        first = self._process.pid
        processes = [first, *map(int, Path(f"/proc/{first}/task/{first}/children").read_text().split())]
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        try:
            yield
        finally:
            for process in processes:
                os.kill(process, signal.SIGCONT)

    def restore(self) -> None:
        """Makes it run, whatever was done to it."""
        if self._process is None:
            self.start()

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(_START_S)
            self._process = None

    def _dsn(self, name: str) -> str:
        return f"host=127.0.0.1 port={self.port} user={_USER} dbname={name}"

    def _run(self, program: str, *flags: str) -> subprocess.Popen[bytes]:
        owner = self._owner
        with (self._folder / "log").open("ab") as log:
            return subprocess.Popen(
                [self._programs / program, *flags],
                cwd=self._folder,
                stdout=log,
                stderr=log,
                user=None if owner is None else owner.pw_uid,
                group=None if owner is None else owner.pw_gid,
                extra_groups=None if owner is None else [],
            )


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """A running PostgreSQL. Skips the test if it is missing, unless INKGATE_REQUIRE_ALL is set."""
    programs = _programs()
    if programs is None:
        if os.environ.get("INKGATE_REQUIRE_ALL") == "1":
            pytest.fail("PostgreSQL is not installed")
        pytest.skip("PostgreSQL is not installed")
    # Not pytest's folder, which only its own user can enter: the server refuses to run as root.
    folder = Path(tempfile.mkdtemp(prefix="inkgate-postgres-"))
    server = PostgresServer(programs, folder)
    try:
        server.create()
        server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder)


def _programs() -> Path | None:
    """The folder of `initdb` and `postgres`; Debian keeps them out of the search path."""
    for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        if (folder / "initdb").exists():
            return folder
    found = shutil.which("initdb")
    return Path(found).parent if found else None


def _unprivileged() -> pwd.struct_passwd | None:
    """The user to run it as; None: the own one."""
    return pwd.getpwnam("nobody") if os.getuid() == 0 else None
