"""For all tests: async ones are marked `anyio` and run on asyncio, as the service does."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

# How long an example takes says more about the machine than about the code.
settings.register_profile("inkgate", deadline=None)
settings.load_profile("inkgate")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compiled models are kept for the session, and not where the user's are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield
