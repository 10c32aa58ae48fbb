"""Documents of `inkgate read` one after another or several at once, written in their order, with a progress bar."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import anyio
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from inkgate.cli.inputs import InputDocument
from inkgate.cli.read_command import DocumentRead, ReadCommand, ReadTally
from inkgate.concurrency import single_error

Advance = Callable[[int, int], None]
"""Shows the pages of a document that are read, and their total."""


async def read_each(
    order: ReadCommand,
    read_one: Callable[[InputDocument, Advance], Awaitable[DocumentRead | str]],
    tally: ReadTally | None = None,
) -> ReadTally:
    """Reads the documents with `read_one`, which returns why there is no result. They are written in their order, and
    no more than `order.at_once` are read or wait to be written. `tally`: counts them, also if an error ends all.

    Raises:
        BrokenPipeError: the reader of standard output has closed it.
    """
    tally, count = tally or ReadTally(), len(order.sources)
    slots = anyio.Semaphore(order.at_once)
    turns = [anyio.Event() for _ in range(count + 1)]
    turns[0].set()

    async def one(at: int) -> None:
        source = order.sources[at]
        found = await read_one(source, _nothing)
        await turns[at].wait()
        tally.take(order, source, found)
        turns[at + 1].set()
        slots.release()

    if order.at_once == 1:
        for at, source in enumerate(order.sources):
            title = source.name if count == 1 else f"[{at + 1}/{count}] {source.name}"
            with bar(title, "pages") as advance:
                found = await read_one(source, advance)
            tally.take(order, source, found)
        return tally
    with single_error(), bar(f"Reading {order.at_once} at once", "documents") as shown:
        async with anyio.create_task_group() as tasks:
            for at in range(count):
                await slots.acquire()
                shown(at, count)
                tasks.start_soon(one, at)
    return tally


def _nothing(done: int, total: int) -> None:
    """Several documents are read at once: their pages are not shown."""


@contextmanager
def bar(title: str, unit: str) -> Iterator[Advance]:
    """A progress bar over the pages of one document or over documents (`unit`), on a terminal only, removed at the end.
    Yields a function of the number done and the total.
    """
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(title, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


@contextmanager
def status(text: str) -> Iterator[None]:
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(text):
        yield
