"""For all tests: async ones are marked `anyio` and run on asyncio, as the service does."""

import pytest
from hypothesis import settings

# How long an example takes says more about the machine than about the code.
settings.register_profile("inkgate", deadline=None)
settings.load_profile("inkgate")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
