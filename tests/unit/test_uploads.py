"""Uploads are kept once, by their hash, and not deleted while one is being added."""

from __future__ import annotations

import hashlib
import os
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest

from inkgate.errors import InputRejected, Overloaded
from inkgate.settings import StorageSettings
from inkgate.storage.objects import Objects, file_url
from inkgate.storage.uploads import Uploads
from support.tiny_disk import tiny_disk

pytestmark = pytest.mark.anyio

DATA = b"the scan"
DIGEST = hashlib.sha256(DATA).hexdigest()


@pytest.fixture(params=["memory", "file"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory://bucket/uploads/" if request.param == "memory" else file_url(tmp_path / "uploads")


def uploads(folder: str) -> Uploads:
    return Uploads(Objects(StorageSettings()), folder)


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


async def code_of(store: Uploads, digest: str) -> str:
    with pytest.raises(InputRejected) as raised:
        await store.get(digest)
    return raised.value.code


async def test_equal_uploads_are_kept_once(folder: str) -> None:
    store = uploads(folder)
    assert [await store.put(DATA) for _ in range(2)] == [DIGEST, DIGEST]
    assert await store.put(b"other") != DIGEST
    assert await store.get(DIGEST) == DATA


async def test_uploads_that_are_gone_are_missing(folder: str) -> None:
    store = uploads(folder)
    assert await code_of(store, DIGEST) == "source_missing"
    assert not await store.delete_older(DIGEST, datetime.now(UTC).timestamp())
    await store.put(DATA)
    assert await store.delete_older(DIGEST, datetime.now(UTC).timestamp() + 60)
    assert await code_of(store, DIGEST) == "source_missing"


async def test_a_recent_upload_is_not_deleted(folder: str) -> None:
    store = uploads(folder)
    await store.put(DATA)
    assert not await store.delete_older(DIGEST, datetime.now(UTC).timestamp() - 3600)
    assert await store.get(DIGEST) == DATA


async def test_files_are_named_by_their_hash_and_renewed_by_another_upload(tmp_path: Path) -> None:
    store = uploads(file_url(tmp_path))
    await store.put(DATA)
    kept = tmp_path / DIGEST[:2] / DIGEST
    assert files(tmp_path) == [f"{DIGEST[:2]}/{DIGEST}"]
    os.utime(kept, (1000, 1000))
    await store.put(DATA)
    assert kept.stat().st_mtime > 1000
    assert not await store.delete_older(DIGEST, 2000)
    os.utime(kept, (1000, 1000))
    assert await store.delete_older(DIGEST, 2000)


async def test_an_upload_added_while_old_ones_are_deleted_is_never_lost(tmp_path: Path) -> None:
    store, other_process = uploads(file_url(tmp_path)), uploads(file_url(tmp_path))
    kept = tmp_path / DIGEST[:2] / DIGEST
    for _ in range(50):
        await store.put(DATA)
        os.utime(kept, (1000, 1000))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store.put, DATA)
            tasks.start_soon(other_process.delete_older, DIGEST, 2000)
        assert await store.get(DIGEST) == DATA


async def test_uploads_that_are_older_are_listed(folder: str) -> None:
    objects = Objects(StorageSettings())
    store = Uploads(objects, folder)
    digests = [await store.put(data) for data in (DATA, b"other")]
    await objects.put(f"{folder.rstrip('/')}/ab/of-somebody-else", b"1")
    now = datetime.now(UTC).timestamp()
    assert sorted([digest async for digest in store.older(now + 60)]) == sorted(digests)
    assert [digest async for digest in store.older(now - 60)] == []


async def test_a_damaged_upload_is_not_read(tmp_path: Path) -> None:
    store = uploads(file_url(tmp_path))
    await store.put(DATA)
    (tmp_path / DIGEST[:2] / DIGEST).write_bytes(b"the scam")
    assert await code_of(store, DIGEST) == "source_missing"
    await store.put(DATA)
    assert await store.get(DIGEST) == DATA


async def test_a_full_disk_refuses_the_upload_and_keeps_no_half_of_it(tmp_path: Path) -> None:
    with tiny_disk(tmp_path) as disk:
        if disk is None:
            pytest.skip("mounting a file system needs root")
        store = uploads(file_url(tmp_path))
        await store.put(DATA)
        disk.fill()
        for data in (DATA, b"x" * 5_000_000):
            with pytest.raises(Overloaded) as raised:
                await store.put(data)
            assert raised.value.code == "storage_full"
        disk.clear()
        assert files(tmp_path) == [f"{DIGEST[:2]}/{DIGEST}"]
        assert await store.get(DIGEST) == DATA
