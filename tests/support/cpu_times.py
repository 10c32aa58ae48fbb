"""Tables of the processor time that tests take: `make test-all ARGS=--cpu-times`."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Generator
from resource import RUSAGE_CHILDREN, getrusage

import pytest

_MOST = 25


class CpuTimes:
    """Prints processor seconds by folder, and of the files and tests that take most.

    They are those of the process that runs the test and of processes that have ended and that it waited for. Collecting
    is left out.
    """

    def __init__(self) -> None:
        self._before = 0.0
        self._seconds: dict[str, float] = defaultdict(float)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        self._before = _cpu_s()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Adds the time to the report, which xdist sends to the process that prints."""
        report = yield
        now = _cpu_s()
        report.user_properties.append(("cpu_s", now - self._before))
        self._before = now
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, seconds in report.user_properties:
            if name == "cpu_s" and isinstance(seconds, float):
                self._seconds[report.nodeid] += seconds

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        folders: dict[str, float] = defaultdict(float)
        files: dict[str, float] = defaultdict(float)
        for test, seconds in self._seconds.items():
            file = test.partition("::")[0]
            files[file] += seconds
            folders[file.rpartition("/")[0]] += seconds
        terminalreporter.section("processor seconds")
        for title, seconds_of in (("Folder", folders), ("File", files), ("Test", self._seconds)):
            most = sorted(seconds_of.items(), key=lambda item: -item[1])[:_MOST]
            lines = [f"| `{name}` | {seconds:.1f} |" for name, seconds in most]
            terminalreporter.write_line("\n".join([f"\n| {title} | Seconds |", "| --- | ---: |", *lines]))
        terminalreporter.write_line(f"\nIn all: {sum(folders.values()):.0f} s")


def _cpu_s() -> float:
    ended = getrusage(RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime
