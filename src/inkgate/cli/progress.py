"""What a command shows on a terminal while it reads; removed at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


class ReadProgress:
    """A bar over documents, or over the pages of one document after another."""

    def __init__(self, bar: Progress, documents: int, at_once: int) -> None:
        self._bar = bar
        self._documents = documents
        self._by_page = at_once == 1
        self._begun = self._done = 0
        title = "" if self._by_page else f"Reading {at_once} at once"
        total = None if self._by_page else documents
        self._task = bar.add_task(title, total=total, unit="pages" if self._by_page else "documents")

    def begin(self, name: str) -> None:
        """A document is read now."""
        self._begun += 1
        if self._by_page:
            title = name if self._documents == 1 else f"[{self._begun}/{self._documents}] {name}"
            self._bar.reset(self._task, description=title, total=None)

    async def pages(self, done: int, total: int) -> None:
        """Shows how many pages of a document are read."""
        if self._by_page:
            self._bar.update(self._task, completed=done, total=total)

    def end(self) -> None:
        """A document was read."""
        if not self._by_page:
            self._bar.advance(self._task)


@contextmanager
def reading_bar(documents: int, at_once: int) -> Iterator[ReadProgress]:
    """Shows how the reading of documents goes on, on a terminal only."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[unit]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        yield ReadProgress(progress, documents, at_once)


@contextmanager
def status(text: str) -> Iterator[None]:
    """Shows what is done, on a terminal only."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(text):
        yield
