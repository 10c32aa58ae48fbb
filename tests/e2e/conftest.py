"""One server for the tests that leave it as it is."""

from collections.abc import Iterator

import pytest

from support.server import Server, running_server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with running_server() as started:
        yield started
