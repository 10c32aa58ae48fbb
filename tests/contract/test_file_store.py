"""Files of `/v1/files` in memory, and shared by gateways: rows in a database, bytes in a folder or a bucket."""

from __future__ import annotations

import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import anyio
import pytest
from sqlalchemy.engine import make_url

from inkgate.api.http.sources import SignedUrls
from inkgate.errors import InputRejected, Overloaded
from inkgate.jobs.shared_files import SharedFiles
from inkgate.jobs.store.database import database_url
from inkgate.settings import StorageSettings
from inkgate.storage.files import FILE_BYTES, MAX_FILES, RETENTION_S, FileStore, MemoryFiles
from inkgate.storage.objects import Objects, file_url
from support.job_stores import Stores

pytestmark = pytest.mark.anyio

OpenFiles = Callable[[int], Awaitable[tuple[FileStore, FileStore]]]
"""Opens a store of this many bytes, as two gateways see it."""
ALL = ["memory", "folder", pytest.param("bucket", marks=pytest.mark.real)]


class Places:
    """Where shared files are kept."""

    def __init__(self, stores: Stores, objects: Objects, folder_url: str, stack: AsyncExitStack) -> None:
        self.stores = stores
        self.objects = objects
        self.folder_url = folder_url
        self._stack = stack

    async def files(self, max_bytes: int = 10_000_000, folder_url: str = "") -> SharedFiles:
        """Those of one more gateway. `folder_url`: its folder of uploads."""
        store = await self._stack.enter_async_context(self.stores.store())
        return SharedFiles(store.database, self.stores.clock, self.objects, folder_url or self.folder_url, max_bytes)

    async def kept(self) -> list[str]:
        """IDs of the files whose bytes are kept."""
        return [each.url.rpartition("/")[2] async for each in self.objects.list(self.folder_url)]


@pytest.fixture
async def places(tmp_path: Path) -> AsyncIterator[Places]:
    async with AsyncExitStack() as stack:
        stores = Stores(database_url("", tmp_path))
        yield Places(stores, Objects(StorageSettings()), file_url(tmp_path / "uploads"), stack)


@pytest.fixture(params=ALL)
async def open_files(request: pytest.FixtureRequest, places: Places) -> OpenFiles:
    if request.param == "bucket":
        s3 = request.getfixturevalue("s3")
        places.stores = Stores(make_url(request.getfixturevalue("postgres").database()))
        places.objects, places.folder_url = Objects(s3.settings()), f"{s3.bucket()}/uploads/"

    async def opened(max_bytes: int = 10_000_000) -> tuple[FileStore, FileStore]:
        if request.param == "memory":
            memory = MemoryFiles(max_bytes)
            return memory, memory
        return await places.files(max_bytes), await places.files(max_bytes)

    return opened


async def test_a_file_added_at_one_gateway_is_read_listed_and_deleted_at_the_other(open_files: OpenFiles) -> None:
    here, there = await open_files(10_000_000)
    added = await here.add("a\0.png", b"pixels", "ocr", "me")
    assert added.expires_at == added.created_at + RETENTION_S
    found = await there.get(added.id, "me")
    assert (replace(found, data=None), await there.load(found)) == (replace(added, data=None), b"pixels")
    second = await there.add("b.png", b"more", "ocr", "me")
    assert [file.id for file in await here.owned("me")] == [second.id, added.id]
    await there.delete(added.id, "me")
    assert [file.id for file in await here.owned("me")] == [second.id]
    for file_id in (added.id, str(uuid4()), "none\0", "\ud800"):
        with pytest.raises(InputRejected, match="file_unknown"):
            await here.get(file_id, "me")


async def test_each_caller_has_its_own_files_alone(open_files: OpenFiles) -> None:
    files, _ = await open_files(10_000_000)
    mine = await files.add("a", b"x", "ocr", "me")
    assert await files.owned("other") == []
    for use in (files.get, files.delete):
        with pytest.raises(InputRejected, match="file_unknown"):
            await use(mine.id, "other")
    assert (await files.get(mine.id, None)).owner == "me"


async def test_a_url_that_one_gateway_signed_is_known_to_the_other(open_files: OpenFiles) -> None:
    here, there = await open_files(10_000_000)
    file = await here.add("a.png", b"x", "ocr", "me")
    url = await SignedUrls(here).sign(file.id, "me", "http://here/", 60)
    found = await SignedUrls(there).file(url.replace("http://here", "https://there/below"), "me")
    assert found is not None
    assert found.id == file.id
    path, _, query = url.removeprefix("http://here").partition("?")
    assert await SignedUrls(there).owner(path, query) == "me"
    assert await SignedUrls(there).owner(path, query[:-1] + ("0" if query[-1] != "0" else "1")) is None
    await there.delete(file.id, "me")
    with pytest.raises(InputRejected, match="file_unknown"):
        await SignedUrls(here).file(url, "me")


async def test_nobody_fills_the_room_for_all(open_files: OpenFiles) -> None:
    stores = await open_files(20 * (FILE_BYTES + 100))
    held = []
    for owner in ("greedy", "second", "third"):
        with pytest.raises(Overloaded, match="share_exceeded") as refused:
            for number in range(21):
                await stores[number % 2].add("", b"x" * 100, "", owner)
        assert 0 < refused.value.retry_after_s <= RETENTION_S
        held.append(len(await stores[0].owned(owner)))
    assert held == [10, 5, 3]
    with pytest.raises(Overloaded, match="service_full"):
        await stores[0].add("", b"x" * 10_000, "", "fourth")
    await stores[1].delete((await stores[0].owned("greedy"))[0].id, "greedy")
    await stores[0].add("", b"x" * 100, "", "fourth")


async def test_shared_files_expire_and_their_bytes_go(places: Places) -> None:
    files, others = await places.files(), await places.files()
    old = await files.add("old", b"x", "ocr", "me")
    places.stores.clock.offset_s += RETENTION_S - 10
    young = await files.add("young", b"x", "ocr", "me")
    places.stores.clock.offset_s += 11
    with pytest.raises(InputRejected, match="file_unknown"):
        await others.get(old.id, "me")
    assert [file.id for file in await others.owned("me")] == [young.id]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(files.expire)
        tasks.start_soon(others.expire)
    assert await places.kept() == [young.id]


async def test_bytes_without_a_file_are_swept_and_those_of_files_stay(places: Places) -> None:
    files = await places.files()
    kept = await files.add("a", b"x", "ocr", "me")
    for _ in range(3):
        await places.objects.put(f"{places.folder_url}/files/{uuid4()}", b"of a killed process")
    await files.sweep(places.stores.clock() - 60)
    assert len(await places.kept()) == 4  # they may be about to get their rows
    await files.sweep(places.stores.clock() + 60)
    assert await places.kept() == [kept.id]


async def test_what_is_refused_leaves_no_bytes(places: Places) -> None:
    files = await places.files(max_bytes=10 * (FILE_BYTES + 100))
    refused = 0

    async def add() -> None:
        nonlocal refused
        try:
            await files.add("", b"x" * 100, "", "me")
        except Overloaded:
            refused += 1

    async with anyio.create_task_group() as tasks:  # all find room before the first has its row
        for _ in range(10):
            tasks.start_soon(add)
    assert refused == 5
    assert sorted(await places.kept()) == sorted(file.id for file in await files.owned("me"))


async def test_a_file_of_which_a_part_was_lost_is_not_given(places: Places) -> None:
    files = await places.files()
    file = await files.add("a", b"whole", "ocr", "me")
    for damaged in (b"who", b"whole and more"):
        await places.objects.put(f"{places.folder_url}/files/{file.id}", damaged)
        with pytest.raises(Overloaded, match="jobs_unavailable"):
            await files.load(file)


async def test_a_gateway_with_another_folder_says_so(places: Places, tmp_path: Path) -> None:
    here, there = await places.files(), await places.files(folder_url=file_url(tmp_path / "others"))
    file = await here.add("a", b"x", "ocr", "me")
    with pytest.raises(Overloaded, match="jobs_unavailable") as refused:
        await there.load(await there.get(file.id, "me"))
    assert "jobs.uploads" in refused.value.detail
    assert there.missing == 1
    await here.delete(file.id, "me")
    with pytest.raises(InputRejected, match="file_unknown"):
        await there.load(file)


@pytest.mark.real
async def test_while_the_bucket_is_away_files_are_unavailable_and_not_unknown(
    places: Places, request: pytest.FixtureRequest
) -> None:
    s3 = request.getfixturevalue("s3")
    places.objects, places.folder_url = Objects(s3.settings(timeout_s=1.0)), f"{s3.bucket()}/uploads/"
    files = await places.files()
    file = await files.add("a", b"x", "ocr", "me")
    s3.freeze()
    try:
        for use in (files.load(file), files.add("b", b"y", "ocr", "me")):
            with pytest.raises(Overloaded, match="jobs_unavailable"):
                await use
    finally:
        s3.restore()
    assert await files.load(file) == b"x"
    assert [each.id for each in await files.owned("me")] == [file.id]


async def test_empty_files_in_memory_cost_memory_too_and_their_number_is_bounded() -> None:
    files = MemoryFiles(now=lambda: 1_000_000.0)
    tracemalloc.start()
    for _ in range(MAX_FILES // 2):
        await files.add("name", b"", "ocr", "me")
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken <= files.total_bytes
    with pytest.raises(Overloaded, match="share_exceeded"):
        await files.add("name", b"", "ocr", "me")
