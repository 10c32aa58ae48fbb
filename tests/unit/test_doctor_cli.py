"""`inkgate doctor` as it is called: a service's address, a file of settings, and what is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from pydantic import TypeAdapter
from typer.testing import CliRunner

from inkgate.cli.app import app
from inkgate_client.telemetry.state import State
from support.states import embedded_state

runner = CliRunner()
KEY = "inkgate_of_a_test"


@contextmanager
def service(state: State | None) -> Iterator[str]:
    """The address of a server that says `state` to who has the key, or, for None, that it has no such address."""
    body = b'{"title": "nothing"}' if state is None else TypeAdapter(State).dump_json(state)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            allowed = self.headers.get("Authorization") == f"Bearer {KEY}"
            status = 404 if state is None else 200 if allowed and self.path == "/state" else 401
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the library
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


def test_a_healthy_service_ends_with_status_0() -> None:
    with service(embedded_state()) as url:
        ended = runner.invoke(app, ["doctor", url, "--key", KEY])
    assert ended.exit_code == 0
    assert ended.stdout.splitlines()[-1] == "No problems found."


def test_a_fault_ends_with_status_1_and_notes_alone_do_not() -> None:
    with service(embedded_state({"limits": {"time_s": 5}})) as url:
        ended = runner.invoke(app, ["doctor", url, "--key", KEY, "--json"])
    assert ended.exit_code == 1
    assert [finding["code"] for finding in json.loads(ended.stdout)["findings"]] == ["timeouts-short"]
    with service(embedded_state({"cache": {"enabled": False}})) as url:
        noted = runner.invoke(app, ["doctor", url], env={"INKGATE_API_KEY": KEY})
    assert (noted.exit_code, "NOTE: The cache is off" in noted.stdout) == (0, True)


def test_a_service_that_cannot_be_asked_ends_with_status_3_and_says_why() -> None:
    with service(embedded_state()) as url:
        refused = runner.invoke(app, ["doctor", url])
        stopped = url
    with service(None) as url:
        older = runner.invoke(app, ["doctor", url])
    gone = runner.invoke(app, ["doctor", stopped])
    assert [refused.exit_code, older.exit_code, gone.exit_code] == [3, 3, 3]
    assert "API key" in refused.stderr
    assert "older inkgate" in older.stderr
    assert "can't be reached" in gone.stderr


@pytest.mark.parametrize("url", ["nowhere", "ftp://host", "http://[bad"])
def test_what_is_no_address_is_misuse(url: str) -> None:
    ended = runner.invoke(app, ["doctor", url])
    assert ended.exit_code == 2
    assert "is not an address" in ended.stderr


def test_settings_are_judged_before_anything_is_started(tmp_path: Path) -> None:
    file = tmp_path / "inkgate.toml"
    file.write_text("[limits]\ntime_s = 20\n[cache]\nenabled = false\n", encoding="utf-8")
    ended = runner.invoke(app, ["doctor", "--config", str(file), "--json"])
    found = json.loads(ended.stdout)
    assert ended.exit_code == 1
    assert [finding["code"] for finding in found["findings"]] == ["timeouts-short", "cache-small"]
    assert found["running"] is False


def test_an_engine_that_does_not_exist_can_not_start(tmp_path: Path) -> None:
    file = tmp_path / "inkgate.toml"
    file.write_text('[engine]\nname = "nothing"\n', encoding="utf-8")
    ended = runner.invoke(app, ["doctor", "--config", str(file)])
    assert ended.exit_code == 1
    assert "CRITICAL: The service can't start with these settings." in ended.stdout


def test_a_state_of_a_newer_service_is_read_as_far_as_it_is_known() -> None:
    newer = replace(embedded_state(), degradation_level=0)
    body = json.loads(TypeAdapter(State).dump_json(newer)) | {"added_later": 1}
    assert TypeAdapter(State).validate_json(json.dumps(body)) == newer
