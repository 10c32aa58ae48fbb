"""For all tests: async ones are marked `anyio` and run on asyncio, as the service does."""

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
