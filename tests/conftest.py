"""For all tests: async ones are marked `anyio` and run on asyncio, as the service does."""

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

from support.disturbance import Stolen

# How long an example takes says more about the machine than about the code. The examples are the same in every run;
# `make test-long` looks for new ones (`--hypothesis-profile=fresh`). What it finds becomes an `@example`.
settings.register_profile("inkgate", deadline=None, derandomize=True)
settings.register_profile("fresh", deadline=None, derandomize=False, print_blob=True)
settings.load_profile("inkgate")

# A shell that runs this in the background has Ctrl-C ignored, and nohup SIGHUP. All that is started here inherits that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

_REAL = "_real"
"""In the names of files with tests that a real model is loaded for."""

_HOLD_TO_TIMES = frozenset({"e2e", "integration"})
"""Folders with tests of real servers and loops, which give up on what takes too long, as those do."""

_stolen = Stolen()


class ByFile(LoadScopeScheduling):  # type: ignore[misc]  # xdist's own types say Any
    """Of tests in several processes, those of one file stay in one: they share servers. So do all that load a real
    model: two of those at once would take turns on the cores, and twice the memory.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return _REAL if _REAL in file else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile:  # noqa: ANN401 - of a library without types
    """How tests are shared out (`make test PROCESSES=2`)."""
    return ByFile(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """In several processes those that load real models come first, then those of whole services, so that the processes
    end at about the same time; each of these in the random order that it has. What holds to times and fails while the
    machine was taken from it is tried anew, after a while: others take it for minutes.
    """
    anew = pytest.mark.flaky(reruns=2, reruns_delay=30, condition=_stolen.disturbs)
    for item in items:
        if item.path.parent.name in _HOLD_TO_TIMES:
            item.add_marker(anew)
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: (_REAL not in item.path.stem, item.path.parent.name != "e2e"))


def pytest_runtest_logstart() -> None:
    """Each try of a test begins."""
    _stolen.begin()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compiled models are kept for the session, for all of its processes, and not where the user's are."""
    base = tmp_path_factory.getbasetemp()
    folder = base.parent / "cache" if "PYTEST_XDIST_WORKER" in os.environ else base / "cache"
    folder.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield
