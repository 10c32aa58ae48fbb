"""examples/locustfile.py against a real server, with a stand-in for Locust."""

from __future__ import annotations

import argparse
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support import stand_in_locust
from support.api_client import png
from support.server import SERVE_FAKE_ENGINE, Server, running_server

FILE = Path(__file__).parents[2] / "examples" / "locustfile.py"
PATHS = {"PYTHONPATH": str(FILE.parents[1] / "tests")}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_server(program=SERVE_FAKE_ENGINE, environment=PATHS) as started:
        yield started


@pytest.fixture
def locustfile(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names in it."""
    monkeypatch.setitem(sys.modules, "locust", stand_in_locust)
    return runpy.run_path(str(FILE))


class Parser(argparse.ArgumentParser):
    """Knows `env_var`, as Locust's does."""

    def add_argument(self, *names: Any, env_var: str = "", **options: Any) -> argparse.Action:  # noqa: ANN401 - argparse's
        assert env_var in {"", "LOCUST_PAGES", "LOCUST_FORM"}
        return super().add_argument(*names, **options)


def user(locustfile: dict[str, Any], host: str, *arguments: str) -> Any:  # noqa: ANN401 - a class of a loaded file
    """A user who has started."""
    parser = Parser()
    locustfile["add_options"](parser)
    found = locustfile["Reader"](host, parser.parse_args(arguments))
    found.on_start()
    return found


@pytest.mark.parametrize("form", ["json", "multipart"])
def test_every_page_of_a_folder_is_read_in_turn(
    server: Server, locustfile: dict[str, Any], tmp_path: Path, form: str
) -> None:
    (tmp_path / "a.png").write_bytes(png())
    (tmp_path / "b.PNG").write_bytes(png(100, 80))
    (tmp_path / "a.txt").write_text("no page", encoding="utf-8")
    client = user(locustfile, server.url, "--pages", str(tmp_path), "--form", form)
    for _ in range(3):
        client.read()
    seen = client.client.seen
    assert [name for name, _ in seen] == [f"/ocr {form}"] * 3
    assert [(answer.status_code, answer.failures) for _, answer in seen] == [(200, [])] * 3
    assert b"Hello page 0" in seen[0][1].content
    assert client.wait_time() == 0


def test_an_answer_that_says_no_is_a_failure_by_its_code(
    server: Server, locustfile: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "broken.png").write_bytes(b"no picture")
    client = user(locustfile, server.url, "--pages", str(tmp_path))
    client.read()
    ((_, answer),) = client.client.seen
    assert answer.failures == ["415 type_unsupported"]


def test_who_is_refused_waits_as_long_as_was_asked(locustfile: dict[str, Any]) -> None:
    judge = locustfile["judge"]
    assert judge(503, {"Retry-After": "7"}, b'{"code": "service_full"}') == ("503 service_full", 7.0)
    assert judge(200, {}, b'{"status": "partial"}') == ("200 partial", 0.0)
    assert judge(502, {}, b"<html>") == ("502 without JSON", 0.0)


def test_a_folder_without_pages_is_told(locustfile: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no image"):
        locustfile["bodies"](tmp_path, "json")
