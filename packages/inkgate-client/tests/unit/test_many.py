"""Many documents at once: none is lost when their source fails, or when what reads one is cancelled."""

import asyncio
from collections.abc import Iterator

import pytest

from inkgate_client.many import read_many, read_many_blocking

pytestmark = pytest.mark.anyio


def failing_after(count: int) -> Iterator[int]:
    yield from range(count)
    raise RuntimeError("The folder is gone.")


async def read(source: int) -> int:
    await asyncio.sleep(0)
    return source * 2


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("concurrency", [1, 3, 20])
async def test_documents_begun_before_their_source_failed_are_yielded(concurrency: int, in_order: bool) -> None:
    found = []
    with pytest.raises(RuntimeError, match="The folder is gone"):
        async with read_many(read, failing_after(5), concurrency, in_order=in_order) as outcomes:
            async for outcome in outcomes:
                found.append(outcome.result)  # noqa: PERF401 - kept if the loop raises
    assert sorted(found) == [0, 2, 4, 6, 8]


def test_the_same_for_blocking_code() -> None:
    found = []
    with (
        pytest.raises(RuntimeError, match="The folder is gone"),
        read_many_blocking(lambda source: source * 2, failing_after(5), 3) as outcomes,
    ):
        for outcome in outcomes:
            found.append(outcome.result)  # noqa: PERF401 - kept if the loop raises
    assert found == [0, 2, 4, 6, 8]


def test_leaving_early_leaves_the_source_to_its_owner() -> None:
    sources = iter([1, 2, 3, 4])
    rest = (source for source in sources)
    with read_many_blocking(lambda source: source, rest, 1) as outcomes:
        assert next(outcomes).source == 1
    assert list(rest) == [3, 4]


async def test_a_read_that_is_cancelled_from_elsewhere_ends_the_call_with_an_error() -> None:
    async def cancelled(source: int) -> int:
        if source == 1:
            raise asyncio.CancelledError
        return source

    async with asyncio.timeout(10):
        with pytest.raises(RuntimeError, match="cancelled from elsewhere"):
            async with read_many(cancelled, range(4), 2) as outcomes:
                _ = [outcome async for outcome in outcomes]
