"""Files as texts for loaders, read by any reader."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue

import pytest
from anyio.from_thread import start_blocking_portal

from inkgate_client.loaders.options import LoaderOptions
from inkgate_client.loaders.readers import Calls, PortalReader
from inkgate_client.loaders.sources import source_files
from inkgate_client.loaders.texts import loaded_texts
from inkgate_client.reading import MemoryReader
from inkgate_client.types import DocumentResult, PageResult

PAGES = (PageResult(0, text="first"), PageResult(1, text="second"))


class EndFirst(SimpleQueue[PageResult | None]):
    """A queue that lets its other thread go on when the end was put."""

    def put(self, item: PageResult | None, block: bool = True, timeout: float | None = None) -> None:
        super().put(item, block, timeout)
        if item is None:
            time.sleep(0.05)


@contextmanager
def reader(_: LoaderOptions) -> Iterator[PortalReader]:
    with start_blocking_portal() as portal:
        results = {"document": DocumentResult("document", "image/png", 1, 2, "engine", PAGES)}
        yield PortalReader(portal, MemoryReader(results))


def test_a_document_ends_after_its_last_page_whichever_thread_is_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inkgate_client.loaders.texts.portal_reader", reader)
    monkeypatch.setattr("inkgate_client.loaders.texts.SimpleQueue", EndFirst)
    (file,) = source_files(b"png")
    assert [text.text for text in loaded_texts(file, LoaderOptions(), Calls())] == ["first", "second"]
