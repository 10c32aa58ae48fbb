"""For all tests: async ones are marked `anyio` and run on asyncio, as the service does."""

import gc
import os
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

from support.brokers import BrokerServer, kafka_server, nats_server, rabbit_server
from support.cpu_times import CpuTimes
from support.disturbance import StolenTime
from support.postgres import PostgresServer, postgres_server
from support.s3 import S3Server, s3_server
from support.tiers import MARKERS, TIERS, is_file_in_tier, is_in_tier, names_marker, required_markers

# How long an example takes says more about the machine than about the code. The examples are the same in every run;
# `make test-long` takes new ones (`--hypothesis-profile=fresh`). Those that fail become an `@example`.
settings.register_profile("inkgate", deadline=None, derandomize=True)
settings.register_profile("fresh", deadline=None, derandomize=False, print_blob=True)
settings.load_profile("inkgate")

# A shell ignores Ctrl-C in background jobs, and nohup ignores SIGHUP. All processes started here would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

_REAL_MODEL = "_real"
"""Substrings of file names whose tests load a real model; these run in one process, one after the other."""

_FIRST = {"e2e": 0, "contract": 1, "integration": 2}
"""Folders whose files take longest; with several processes their tests begin first."""

_stolen = StolenTime()


class ByFile(LoadScopeScheduling):  # type: ignore[misc]  # xdist's own types say Any
    """Gives all tests of a file to one process, because they share servers; and all that load a real model to one
    process, because two models at once would need twice the memory and compete for the cores.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return _REAL_MODEL if _REAL_MODEL in file else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile:  # noqa: ANN401 - of a library without types
    """Distributes the tests to several processes."""
    return ByFile(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With several processes tests of real models come first, then files that take long, so that all processes end at
    about the same time; otherwise the order is random. A failed `timing` test is retried once if the machine lost
    processor time.
    """
    retried = pytest.mark.flaky(reruns=1, reruns_delay=30, condition=_stolen.is_significant)
    for item in items:
        if item.get_closest_marker("timing"):
            item.add_marker(retried)
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: (_REAL_MODEL not in item.path.stem, _FIRST.get(item.path.parent.name, len(_FIRST))))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported now stays. To look for garbage in it takes a fifth of the time of collecting tests."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--tier", choices=TIERS, default="long", help="whose tests run (default: all tests)")
    parser.addoption("--cpu-times", action="store_true", help="print the processor time of tests, by folder and file")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.cpu_times:
        config.pluginmanager.register(CpuTimes())


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves out files that have no test for `--tier` or `-m`: importing all 540 takes 16 seconds of processor time in
    each process.
    """
    if collection_path.suffix != ".py":
        return None
    if not is_file_in_tier(config.option.tier, collection_path):
        return True
    return any(not names_marker(collection_path, marker) for marker in required_markers(config.option.markexpr)) or None


@pytest.hookimpl(specname="pytest_collection_modifyitems", tryfirst=True)
def pytest_select_tier(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselects tests that are not in `--tier`. Fails where a test has a marker that is not in the text of its file:
    `pytest_ignore_collect` would leave out the file.
    """
    selected: list[pytest.Item] = []
    deselected: list[pytest.Item] = []
    for item in items:
        markers = {marker for marker in MARKERS if item.get_closest_marker(marker)}
        for marker in sorted(markers):
            if not names_marker(item.path, marker):
                raise pytest.UsageError(f"{item.path}: write pytest.mark.{marker} in this file")
        (selected if is_in_tier(config.option.tier, item.path, markers) else deselected).append(item)
    if deselected:
        config.hook.pytest_deselected(items=deselected)
        items[:] = selected


def pytest_runtest_logstart() -> None:
    """Called before each try of a test."""
    _stolen.begin()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compiled models are kept for the session, shared by all of its processes, and separate from the user's."""
    base = tmp_path_factory.getbasetemp()
    folder = base.parent / "cache" if "PYTEST_XDIST_WORKER" in os.environ else base / "cache"
    folder.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        patch.setenv("XDG_STATE_HOME", str(base / "state"))
        yield


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """For all tests of the `real` tier that leave it running; each takes a database of its own."""
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """For all tests of the `real` tier that leave it running; each takes a bucket of its own."""
    with s3_server(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerServer]:
    """For all tests of the `real` tier that leave it running; each takes topics of its own. So for other brokers."""
    with kafka_server(tmp_path_factory.mktemp("kafka")) as server:
        yield server


@pytest.fixture(scope="session")
def nats(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerServer]:
    with nats_server(tmp_path_factory.mktemp("nats")) as server:
        yield server


@pytest.fixture(scope="session")
def rabbit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerServer]:
    with rabbit_server(tmp_path_factory.mktemp("rabbit")) as server:
        yield server
