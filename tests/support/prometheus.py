"""A real Prometheus and a real Alertmanager, with the files of deploy/monitoring and short intervals."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import yaml

from support.monitoring import MONITORING, RULES, Json, program
from support.waiting import AT_MOST_S, until

JOB = "inkgate"
START_S = 60.0


@dataclass
class AlertReceiver:
    """A server that receives alerts by POST, and serves `exposition` at GET /metrics."""

    exposition: str = ""
    url: str = ""
    alerts: list[Json] = field(default_factory=list)

    def firing(self, name: str) -> list[Json]:
        """The notifications of this alert while it was firing."""
        return [alert for alert in self.alerts if alert["labels"]["alertname"] == name and alert["status"] == "firing"]


@contextmanager
def alert_receiver(exposition: str = "") -> Iterator[AlertReceiver]:
    """The server, listening."""
    receiver = AlertReceiver(exposition)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            receiver.alerts += json.loads(self.rfile.read(int(self.headers["Content-Length"])))["alerts"]
            self._say(b"")

        def do_GET(self) -> None:
            self._say(receiver.exposition.encode())

        def _say(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of what is overridden
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()


class Prometheus:
    """A running Prometheus."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def query(self, expr: str) -> list[Json]:
        """The series that it returns now, with labels (`metric`) and `value`."""
        answer = self._client.post("/api/v1/query", data={"query": expr}).json()
        assert answer["status"] == "success", (expr, answer)
        found: list[Json] = answer["data"]["result"]
        return found

    def numbers(self, expr: str) -> list[float]:
        """The values that are numbers."""
        return [number for series in self.query(expr) if (number := float(series["value"][1])) == number]

    def wait_for(self, expr: str, seconds: float = AT_MOST_S) -> list[Json]:
        """Returns the series once there are any."""
        until(lambda: bool(self.query(expr)), expr, seconds)
        return self.query(expr)


@contextmanager
def running_prometheus(
    folder: Path, targets: Sequence[str], webhook: str, *, hurried: bool = True
) -> Iterator[Prometheus]:
    """Prometheus, which scrapes the `targets` every second, and Alertmanager, which sends alerts to `webhook` at once.

    Configured as in deploy/monitoring, except for addresses and, in `hurried` files, shorter intervals and durations of
    alerts.
    """
    prometheus, alertmanager = _free_port(), _free_port()
    (folder / "prometheus.yml").write_text(_configuration(folder, targets, alertmanager, hurried), encoding="utf-8")
    (folder / "alertmanager.yml").write_text(_routes(webhook), encoding="utf-8")
    with (
        _running(
            [
                program("prometheus-alertmanager"),
                f"--config.file={folder}/alertmanager.yml",
                f"--storage.path={folder}/alerts",
                "--cluster.listen-address=",
            ],
            alertmanager,
        ),
        _running(
            [program("prometheus"), f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/series"],
            prometheus,
        ) as client,
    ):
        yield Prometheus(client)


def _configuration(folder: Path, targets: Sequence[str], alertmanager: int, hurried: bool) -> str:
    found: dict[str, Any] = yaml.safe_load((MONITORING / "prometheus.yml").read_text(encoding="utf-8"))
    if hurried:
        found["global"] = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
    found["alerting"]["alertmanagers"][0]["static_configs"][0]["targets"] = [f"127.0.0.1:{alertmanager}"]
    (job,) = [each for each in found["scrape_configs"] if each["job_name"] == JOB]
    job["static_configs"] = [{"targets": list(targets)}]
    found["scrape_configs"] = [job]
    for path in RULES:
        text = path.read_text(encoding="utf-8")
        text = re.sub(r"^( +for:) .*$", r"\1 1s", text, flags=re.MULTILINE) if hurried else text
        (folder / path.name).write_text(text, encoding="utf-8")
    found["rule_files"] = [path.name for path in RULES]
    return yaml.safe_dump(found)


def _routes(webhook: str) -> str:
    text = (MONITORING / "alertmanager.yml").read_text(encoding="utf-8")
    found: Mapping[str, Any] = yaml.safe_load(re.sub(r"(group_wait|group_interval): \w+", r"\1: 1s", text))
    found["receivers"][0]["webhook_configs"][0]["url"] = webhook
    return yaml.safe_dump(found)


@contextmanager
def _running(command: list[str], port: int) -> Iterator[httpx.Client]:
    with (
        subprocess.Popen(
            [*command, f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        ) as process,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=10) as client,
    ):
        try:
            until(lambda: _ready(client, process), command[0], START_S)
            yield client
        finally:
            process.terminate()
            process.communicate(timeout=START_S)


def _ready(client: httpx.Client, process: subprocess.Popen[bytes]) -> bool:
    if process.poll() is not None:
        assert process.stderr is not None
        raise AssertionError(process.stderr.read().decode())
    try:
        return client.get("/-/ready").status_code == 200
    except httpx.TransportError:
        return False


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
