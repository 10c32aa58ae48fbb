"""A service as a child process of a load test: real processes."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import anyio
import psutil
import pytest

from inkgate_bench.load.service import Serve, ServiceNotStarted, last_words, serving
from inkgate_client import AsyncInkgateClient, ServiceError

pytestmark = pytest.mark.anyio


async def test_it_answers_with_the_settings_that_were_asked_for_and_is_gone_afterwards(tmp_path: Path) -> None:
    config = tmp_path / "inkgate.toml"
    config.write_text(
        f'[limits]\nmax_in_flight = 7\nmax_pages = 3\n[auth]\nkey_hashes = ["{"a" * 64}"]\n', encoding="utf-8"
    )
    async with (
        serving(Serve({"limits.max_in_flight": 9, "engine.ppocr.threads": 1}, config)) as service,
        AsyncInkgateClient(service.url) as client,
    ):
        settings = (await client.state()).settings
        assert (settings["limits"]["max_in_flight"], settings["limits"]["max_pages"]) == (9, 3)
        assert not settings["cache"]["enabled"]
        assert service.pid is not None
        below = psutil.Process(service.pid).children(recursive=True)
    assert not any(process.is_running() for process in below)
    assert not psutil.pid_exists(service.pid)
    assert service.status == 0


async def test_its_death_is_told() -> None:
    async with serving(Serve({"engine.ppocr.threads": 1})) as service:
        assert service.pid is not None
        os.kill(service.pid, signal.SIGKILL)
        with anyio.fail_after(60):
            await service.ended.wait()
        assert service.status == -signal.SIGKILL
        async with AsyncInkgateClient(service.url) as client:
            with pytest.raises(ServiceError):
                await client.engine()


async def test_why_it_did_not_start_is_told_in_its_own_words() -> None:
    with pytest.raises(ServiceNotStarted, match=r"status 2.*nobody"):
        async with serving(Serve({"engine.name": "nobody"})):
            pass


def test_the_last_words_are_plain_lines_and_errors() -> None:
    said = ['{"event": "model_server_died", "level": "error", "reason": "out of memory"}', '{"event": "bye"}', ""]
    assert last_words(said) == "model_server_died out of memory"
    assert last_words(["A plain line.", '{"event": "bye"}']) == "A plain line."
    assert last_words(['{"event": "bye", "level": "info"}']) == ""
