"""A real server, started and stopped as users do."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner

from inkgate.cli.commands import build

START_S = 300.0
STOP_S = 60.0


def clean_environment(**extra: str) -> dict[str, str]:
    """This process's environment variables without inkgate's settings, and `extra`."""
    return {name: value for name, value in os.environ.items() if not name.startswith("INKGATE_")} | extra


def inkgate(
    *arguments: str, data: bytes = b"", environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Runs the command to its end; `data` is its standard input."""
    return subprocess.run(
        [sys.executable, "-m", "inkgate", *arguments],
        input=data,
        capture_output=True,
        env=clean_environment(**(environment or {})),
        timeout=START_S,
        check=False,
    )


def inkgate_here(*arguments: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
    """As `inkgate`, in this process, which saves a start: for commands that end before they load anything."""
    others: dict[str, str | None] = {name: None for name in os.environ if name.startswith("INKGATE_")}
    done = CliRunner().invoke(
        build([arguments[0]]), list(arguments), env=others | dict(environment or {}), prog_name="inkgate"
    )
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return subprocess.CompletedProcess(arguments, done.exit_code, done.stdout_bytes, done.stderr_bytes)


@dataclass(frozen=True, slots=True)
class Server:
    """A running server. `url` has no trailing slash."""

    url: str
    process: subprocess.Popen[bytes]
    log: Path

    def stop(self) -> int:
        """Sends SIGTERM; returns the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(STOP_S)

    def log_text(self) -> str:
        return self.log.read_text(encoding="utf-8")

    @property
    def metrics_url(self) -> str:
        """The URL that Prometheus would scrape."""
        [url] = re.findall(r'"url": "(http://[^"]*/metrics)"', self.log_text())
        return str(url)


SERVE = ("-m", "inkgate", "serve", "--port", "0")
SERVE_FAKE_ENGINE = ("-m", "support.fake_server")


@contextmanager
def running_server(
    *flags: str,
    environment: Mapping[str, str] | None = None,
    program: tuple[str, ...] = SERVE,
    start_s: float = START_S,
    python: str = sys.executable,
    log_folder: Path | None = None,
) -> Iterator[Server]:
    """`inkgate serve --port 0` with `flags`, ready for requests; stopped at the end if it still runs."""
    with tempfile.TemporaryDirectory(dir=log_folder) as folder:
        log = Path(folder) / "server.log"
        # The web page takes seconds of CPU to load; its tests enable it.
        quiet = {"INKGATE_LOG__FORMAT": "json", "INKGATE_UI__ENABLED": "false", "INKGATE_METRICS__PORT": "0"}
        quiet["INKGATE_JOBS__FOLDER"] = f"{folder}/jobs"
        variables = clean_environment(**quiet | dict(environment or {}))
        command = [python, *program, *flags]
        with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out, env=variables) as process:
            try:
                yield Server(_wait_for_url(process, log, start_s), process, log)
            finally:
                if process.poll() is None:
                    process.terminate()
                    try:
                        process.wait(STOP_S)
                    except subprocess.TimeoutExpired:
                        process.kill()


def _wait_for_url(process: subprocess.Popen[bytes], log: Path, start_s: float) -> str:
    give_up = time.monotonic() + start_s
    while time.monotonic() < give_up and process.poll() is None:
        for line in log.read_text(encoding="utf-8").splitlines():
            if line.startswith("{") and line.endswith("}") and (event := json.loads(line)).get("event") == "ready":
                return str(event["url"])
        time.sleep(0.05)
    raise AssertionError(f"the server did not start (status {process.poll()}):\n{log.read_text(encoding='utf-8')}")
