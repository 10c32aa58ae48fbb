"""`inkgate tune` as its users run it, and its processes."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from inkgate.model_servers.managed.guardian import descendants
from inkgate_bench.tune.results import TuneReport
from support.processes import all_ended
from support.server import clean_environment

_REPORT = TypeAdapter(TuneReport)


@dataclass(frozen=True, slots=True)
class TuneProcess:
    """A running search. `folder`: of its results; `log`: its output."""

    process: subprocess.Popen[bytes]
    folder: Path
    log: Path

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def report(self) -> TuneReport:
        return _REPORT.validate_json((self.folder / "report.json").read_bytes())

    def below(self) -> set[int]:
        """Every process that it has started, and those that they have started."""
        return set(descendants(self.process.pid))

    def until(self, happened: Callable[[], bool], within_s: float) -> None:
        """Waits for it."""
        give_up = time.monotonic() + within_s
        while not happened():
            assert self.process.poll() is None, self.said()
            assert time.monotonic() < give_up, self.said()
            time.sleep(0.05)

    def end(self, number: int, within_s: float = 60.0) -> int:
        """Send the signal. Returns the exit status; nothing that it had started is left."""
        below = self.below()
        self.process.send_signal(number)
        status = self.process.wait(within_s)
        assert all_ended(below), f"still there: {below}"
        return status


@contextmanager
def running_tune(
    folder: Path, *arguments: str, environment: Mapping[str, str] | None = None, config: str = ""
) -> Iterator[TuneProcess]:
    """`inkgate tune -o folder/found` with these arguments; stopped at the end, if it still runs."""
    log, file = folder / "tune.log", folder / "inkgate.toml"
    file.write_text(config, encoding="utf-8")
    command = [sys.executable, "-m", "inkgate", "tune", "-o", str(folder / "found"), "--config", str(file), *arguments]
    with (
        log.open("wb") as out,
        subprocess.Popen(command, stdout=out, stderr=out, env=clean_environment(**(environment or {}))) as process,
    ):
        try:
            yield TuneProcess(process, folder / "found", log)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(60)
