"""Reads several files ahead of whoever takes their texts."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread

from inkgate_client.loaders.options import LoadedText, LoaderOptions
from inkgate_client.loaders.readers import Calls
from inkgate_client.loaders.sources import SourceFile
from inkgate_client.loaders.texts import loaded_texts

_Item = LoadedText | BaseException | None
"""A text, what ended its file, or None: it has no more."""


class ReadAhead:
    """Texts of files in order, of which at most `options.concurrency` are being read, each in a thread of its own.

    A file is read to its end even if nobody takes its first text yet: a service gives up on a client that pauses. So
    the texts of these files are kept, without pictures and places; a service bounds their pages. For one consumer;
    close it.
    """

    def __init__(self, files: Iterable[SourceFile], options: LoaderOptions, changed: Callable[[], None]) -> None:
        """`changed`: called by other threads when there may be another text."""
        self._files = iter(files)
        self._options = options
        self._changed = changed
        self._calls = Calls()
        self._begun: deque[SimpleQueue[_Item]] = deque()

    def take(self, *, block: bool) -> LoadedText | None:
        """The next text; None after the last. Raises what ended a file, and Empty if there is none yet."""
        while self._fill():
            item = self._begun[0].get(block)
            if isinstance(item, LoadedText):
                return item
            self._begun.popleft()
            if item is not None:
                raise item
        return None

    def close(self) -> None:
        """Begins no other file, and cancels the others. Does not wait."""
        self._calls.end()

    def _fill(self) -> bool:
        while len(self._begun) < self._options.concurrency and (file := next(self._files, None)) is not None:
            texts: SimpleQueue[_Item] = SimpleQueue()
            self._begun.append(texts)
            # daemon: a program that ends does not wait for the rest of a long document
            Thread(target=self._read, args=(file, texts), name="inkgate-load", daemon=True).start()
        return bool(self._begun)

    def _read(self, file: SourceFile, texts: SimpleQueue[_Item]) -> None:
        ended: _Item = None
        try:
            for text in loaded_texts(file, self._options, self._calls):
                texts.put(text)
                self._changed()
                if self._calls.ended:
                    break
        except BaseException as error:  # noqa: BLE001 - raised by `take`
            ended = error
        texts.put(ended)
        self._changed()


def load(files: Iterable[SourceFile], options: LoaderOptions) -> Iterator[LoadedText]:
    """The texts of files in order, as they are read. Raises LoadFailed."""
    ahead = ReadAhead(files, options, lambda: None)
    try:
        while (text := ahead.take(block=True)) is not None:
            yield text
    finally:
        ahead.close()


async def load_awaited(files: Iterable[SourceFile], options: LoaderOptions) -> AsyncGenerator[LoadedText, None]:
    """Loads documents like `load`, for async code on asyncio. Close it: contextlib.aclosing."""
    loop, changed = asyncio.get_running_loop(), asyncio.Event()
    ahead = ReadAhead(files, options, partial(_tell, loop, changed))
    try:
        while True:
            changed.clear()
            try:
                text = ahead.take(block=False)
            except Empty:
                await changed.wait()
                continue
            if text is None:
                return
            yield text
    finally:
        ahead.close()


def _tell(loop: asyncio.AbstractEventLoop, changed: asyncio.Event) -> None:
    try:
        loop.call_soon_threadsafe(changed.set)
    except RuntimeError:  # the loop has ended, and with it whoever waited
        return
