"""Runs a service for a demo, shows what it does, and keeps it until Ctrl-C."""

from __future__ import annotations

import asyncio
import hashlib
import signal
import sqlite3
import tomllib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from types import FrameType

import anyio
import typer
from anyio.abc import TaskGroup

from inkgate.cli.configure import configured, logs_of_command
from inkgate.cli.demo.folder import DemoFolder
from inkgate.cli.inputs import InputDocument
from inkgate.cli.messages import INTERRUPTED, failure, say
from inkgate.cli.plain_tables import wide_console
from inkgate.cli.serve import check_address, run_until_stopped
from inkgate.operating_system import STOP_SIGNALS
from inkgate.settings import AuthSettings, MetricsSettings, ServerSettings, Settings
from inkgate_client import AsyncInkgateClient, AsyncJobHandle, JobAs, ServiceError
from inkgate_client.concurrency import Threads, single_error

_HEAD = """\
# Written by `inkgate demo` at each start. The same service by hand: inkgate serve --config {file}
"""


@dataclass(frozen=True, slots=True)
class DemoRun:
    """`port`: 0: any that is free. `once`: end after the summary."""

    folder: DemoFolder
    port: int
    once: bool


@dataclass(frozen=True, slots=True)
class RunningDemo:
    """A service that runs, and its client. `background`: tasks that run until the service stops."""

    url: str
    client: AsyncInkgateClient
    folder: DemoFolder
    background: TaskGroup


Show = Callable[[RunningDemo], Awaitable[None]]


def write_settings(run: DemoRun, toml: str) -> Settings:
    """Writes the settings file of the demo's service, and reads it. The environment may choose the engine, but no
    address, key, or database: those of the demo are its own.

    Raises:
        typer.Exit: the environment has a wrong setting.
        OSError: the file can't be written.
    """
    file = run.folder.settings_file
    run.folder.write(file.name, (_HEAD.format(file=run.folder.said(file.name)) + toml).encode())
    own = tomllib.loads(toml)
    settings = configured(file, own)
    kept = {branch: {name: getattr(settings, branch)[name] for name in own.get(branch, ())} for branch in _JOINED}
    return settings.model_copy(
        update={
            **kept,
            "server": ServerSettings(host="127.0.0.1", port=run.port, drain_s=_DRAIN_S),
            "auth": AuthSettings(),
            "metrics": MetricsSettings(enabled=False),
            "log": logs_of_command(settings),
        }
    )


_JOINED = ("pipelines", "sinks", "intake")
_DRAIN_S = 5.0
"""Ctrl-C waits so long for what the demo itself asked for."""


def jobs_settings(folder: DemoFolder) -> str:
    """The settings of jobs that belong to the demo alone, and are kept until its folder is removed."""
    return f"""\
[jobs]
enabled = true
work = true
folder = {toml_text(str(folder.path / "jobs"))}
database = ""  # SQLite, in this folder
uploads = ""
retention_days = 3650.0
poll_s = 0.2
"""


def toml_text(text: str) -> str:
    """The text as a string of TOML."""
    escaped = "".join(f"\\u{ord(c):04x}" if c < " " or c in '\x7f"\\' else c for c in text)
    return f'"{escaped}"'


def run_demo(run: DemoRun, settings: Settings, show: Show) -> None:
    """Starts the service, awaits `show`, and runs until Ctrl-C or, with `once`, to the end of `show`.

    Raises:
        typer.Exit: the port is taken, the service did not start, something failed, or Ctrl-C came before the end.
    """
    if run.port:
        check_address("127.0.0.1", run.port)
    lines = wide_console()
    lines.print("Starting inkgate. The models take some seconds to load.")
    ended = False

    async def main() -> None:
        from inkgate import bootstrap

        urls: list[str] = []
        ready, showing = anyio.Event(), anyio.CancelScope()

        def listens(url: str) -> None:
            _call_when_stopped(showing.cancel)
            urls.append(url)
            ready.set()

        async def shown() -> None:
            await ready.wait()
            with showing:
                await show_all()

        async def show_all() -> None:
            nonlocal ended
            async with AsyncInkgateClient(urls[0]) as client, anyio.create_task_group() as background:
                await show(RunningDemo(urls[0], client, run.folder, background))
                ended = True
                if run.once:
                    signal.raise_signal(signal.SIGTERM)
                else:
                    lines.print(f"\nThe service runs on at {urls[0]}. Ctrl-C stops it.")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(shown)
            await bootstrap.serve(settings, listens)
            tasks.cancel_scope.cancel()

    with _problems():
        run_until_stopped(settings, main)
    if not ended:
        say(f"stopped. What was written until then is in {run.folder.shown}.")
        raise typer.Exit(INTERRUPTED)


async def submitted(demo: RunningDemo, source: InputDocument, job_as: JobAs) -> AsyncJobHandle | str:
    """The job for a document, or why there is none. One that was sent before in the same way has its job already.

    Raises:
        ServiceError: the service can't be used.
    """
    try:
        data = await Threads("demo_files", 1).run(source.data)
        what = b"\0".join((source.name.encode("utf-8", "surrogateescape"), repr(job_as).encode(), data))
        job_as = replace(job_as, key=hashlib.sha256(what).hexdigest())
        return await demo.client.jobs.submit(data, job_as=job_as, name=source.relative.name)
    except OSError as error:
        return f"{error.strerror or error}."
    except ServiceError as error:
        if not error.code:
            raise
        return f"{error.title}. {error.detail}"


def _call_when_stopped(call: Callable[[], object]) -> None:
    """Has the signals that stop the service call `call`, too, so that what the demo itself asked for is not waited for.
    The server, which is running, restores the handlers that were there before its own.
    """
    loop = asyncio.get_running_loop()

    def after(handler: Callable[[int, FrameType | None], object], number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(call)
        handler(number, frame)

    for number in STOP_SIGNALS:
        handler = signal.getsignal(number)
        if callable(handler):
            signal.signal(number, partial(after, handler))


@contextmanager
def _problems() -> Iterator[None]:
    """Raises typer.Exit: the service can't be used, or a file can't be written."""
    try:
        with single_error():
            yield
    except ServiceError as error:
        raise failure(str(error)) from error
    except sqlite3.Error as error:
        raise failure(f"A database of the demo can't be used: {error}.") from error
    except OSError as error:
        raise failure(f"{error.filename or 'A file'}: {error.strerror or error}.") from error


def print_heading(text: str) -> None:
    """A line in bold, with an empty one before it."""
    wide_console().print(f"\n[bold]{text}[/bold]")


def print_removal(folder: DemoFolder) -> None:
    """Prints where everything is, and how to remove it."""
    said = f"\nEverything is in {folder.shown}. To remove it: rm -r {folder.said()}"
    wide_console().print(said, markup=False, soft_wrap=True)


def print_commands(*commands: str) -> None:
    """Commands to copy: never broken into lines."""
    for command in commands:
        wide_console().print(f"  {command}", markup=False, soft_wrap=True)
