"""Telemetry that fails costs nothing but itself."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from inkgate.caller import NO_CALLER
from inkgate.documents.open import Opener
from inkgate.service.reader import CheckedOptions, Reader
from inkgate.settings import LimitSettings, PdfSettings
from inkgate.telemetry.observer import Observer, SafeObserver
from inkgate_client.types import Document, PageResult, Task
from support.clock import Clock
from support.fake_engine import FakeEngine
from support.images import corners, encoded


class BrokenObserver(Observer):
    """Raises on every event of pages and stages."""

    def stage(self, stage: str, seconds: float) -> None:
        raise OSError("no room for another measure")

    def page(self, result: PageResult, task: Task, seconds: float) -> None:
        raise ValueError("an unknown label")


@pytest.mark.anyio
async def test_a_document_is_read_while_every_measure_fails() -> None:
    observer = SafeObserver(BrokenObserver())
    limits = LimitSettings()
    async with Opener(limits, PdfSettings(warm_workers=0)) as opener:
        reader = Reader(opener, FakeEngine(), limits, observer=observer)
        with capture_logs():
            async with reader.read(
                Document(encoded(corners(), "PNG"), "a.png"), CheckedOptions(), NO_CALLER
            ) as reading:
                result = await reading.all()
    assert [page.error for page in result.pages] == [None]
    assert observer.failures >= 3


def test_failures_of_telemetry_are_logged_once_a_minute() -> None:
    clock = Clock()
    observer = SafeObserver(BrokenObserver(), clock=clock)
    with capture_logs() as lines:
        for _ in range(3):
            observer.stage("open", 1.0)
        clock.goes_on(60.0)
        observer.stage("open", 1.0)
        observer.upload(1)
    assert [(line["event"], line["failures"]) for line in lines] == [("telemetry_failed", 1), ("telemetry_failed", 4)]


def test_an_observer_gets_the_events_that_fail_for_another() -> None:
    seen: list[str] = []

    class Recorder(Observer):
        """Records stages."""

        def stage(self, stage: str, seconds: float) -> None:
            seen.append(stage)

    observer = SafeObserver(BrokenObserver(), Recorder())
    with capture_logs():
        observer.stage("open", 1.0)
    assert (seen, observer.failures) == (["open"], 1)
