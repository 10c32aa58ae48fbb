"""For all tests: async ones are marked `anyio` and run on asyncio, as the service does."""

import os
from collections.abc import Generator, Iterator

import pytest
from hypothesis import settings

# How long an example takes says more about the machine than about the code.
settings.register_profile("inkgate", deadline=None)
settings.load_profile("inkgate")

_REAL_VLLM = "vllm"


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None]:
    """For tests in several processes (`make test`): which stay together, and which come first.

    Tests of one file stay in one process: they share servers. So do all that a real vLLM is started for: two at once
    would take turns on the cores, and their memory twice. Those come first, then whole services, so that the processes
    end at about the same time. Each of these kinds is in the random order that it has.
    """
    for item in items:
        item.add_marker(pytest.mark.xdist_group(_group(item)))
    yield
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=_turn)


def _group(item: pytest.Item) -> str:
    return _REAL_VLLM if "vllm" in getattr(item, "fixturenames", ()) or "_real" in item.path.stem else item.path.stem


def _turn(item: pytest.Item) -> int:
    if _group(item) == _REAL_VLLM:
        return 0
    return 1 if item.path.parent.name == "e2e" else 2


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
