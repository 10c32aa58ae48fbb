"""Objects, uploads and documents of jobs on a real S3 server."""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import MappingProxyType

import anyio
import pytest

from inkgate.errors import EngineFailed, InputRejected, Overloaded
from inkgate.jobs.documents import JobDocuments
from inkgate.jobs.job import JobSource
from inkgate.settings import FetchSettings
from inkgate.storage.fetch import Fetcher
from inkgate.storage.objects import Objects
from inkgate.storage.uploads import Uploads
from support.jobs import job
from support.s3 import S3Server, s3_server

pytestmark = [pytest.mark.real, pytest.mark.anyio]

WRONG = MappingProxyType({"access_key_id": "AKIAWRONG", "secret_access_key": "s3cret-of-nobody"})
KEYS = (
    "plain.pdf", "a b.pdf", "a+b", "a%20b", "100%", "%2e%2e/x", "..%2fx", "ü/日本.pdf", "e\u0301", "what?", "no#1",
    "a&b=c", "~", "[x]*", "deep/er/and/deeper", "...", "a:b", '"q"', " lead and trail ",
)  # fmt: skip


async def failure_of(store: Objects, url: str, **more: str) -> tuple[str, str]:
    """Code and detail."""
    with pytest.raises((InputRejected, EngineFailed)) as raised:
        await store.get(url, max_bytes=1000, **more)
    return raised.value.code, raised.value.detail


async def test_every_key_is_read_as_it_was_written(s3: S3Server) -> None:
    store, bucket = Objects(s3.settings()), s3.bucket()
    for key in KEYS:
        assert await store.put(f"{bucket}/in/{key}", key.encode(), "application/pdf")
    assert [key for key in KEYS if await store.get(f"{bucket}/in/{key}", max_bytes=100) != key.encode()] == []
    assert sorted([each.url async for each in store.list(f"{bucket}/in/")]) == sorted(f"{bucket}/in/{k}" for k in KEYS)
    for key in KEYS:
        await store.delete(f"{bucket}/in/{key}")
    await store.delete(f"{bucket}/in/none")
    assert [each async for each in store.list(bucket)] == []


async def test_a_listing_of_several_answers_is_whole(s3: S3Server) -> None:
    store, bucket = Objects(s3.settings()), s3.bucket()
    urls = [f"{bucket}/in/{number:04}" for number in range(1100)]
    async with anyio.create_task_group() as tasks:
        for url in urls:
            tasks.start_soon(store.put, url, b"1")
    await store.put(f"{bucket}/inner/other", b"1")
    assert sorted([each.url async for each in store.list(f"{bucket}/in")]) == urls


async def test_a_replaced_object_is_not_read(s3: S3Server) -> None:
    store, bucket = Objects(s3.settings()), s3.bucket()
    etag = s3.put(f"{bucket}/a", b"first")["ETag"]
    for form in (etag, etag.strip('"')):
        assert await store.get(f"{bucket}/a", etag=form, max_bytes=10) == b"first"
    s3.put(f"{bucket}/a", b"second")
    assert (await failure_of(store, f"{bucket}/a", etag=etag))[0] == "source_replaced"


async def test_a_version_is_read_though_the_object_was_replaced(s3: S3Server) -> None:
    store, bucket = Objects(s3.settings()), s3.bucket(versioned=True)
    first = s3.put(f"{bucket}/a", b"first")
    s3.put(f"{bucket}/a", b"second")
    version, etag = first["x-amz-version-id"], first["ETag"]
    assert await store.get(f"{bucket}/a", version=version, etag=etag, max_bytes=10) == b"first"
    assert (await failure_of(store, f"{bucket}/a", version="gone", etag=etag))[0] == "source_replaced"
    assert (await failure_of(store, f"{bucket}/b", version="gone", etag=etag))[0] == "source_missing"


async def test_missing_objects_and_buckets(s3: S3Server) -> None:
    store, bucket = Objects(s3.settings()), s3.bucket()
    assert (await failure_of(store, f"{bucket}/none"))[0] == "source_missing"
    assert (await failure_of(store, "s3://there-is-no-such-bucket/a"))[0] == "source_missing"
    assert await store.modified(f"{bucket}/none") is None
    with pytest.raises(EngineFailed):
        await store.put("s3://there-is-no-such-bucket/a", b"1")


async def test_of_several_writers_one_creates(s3: S3Server) -> None:
    store, bucket = Objects(s3.settings()), s3.bucket()
    created = []

    async def create(number: int) -> None:
        if await store.put(f"{bucket}/done", str(number).encode(), create_only=True):
            created.append(str(number).encode())

    async with anyio.create_task_group() as tasks:
        for number in range(5):
            tasks.start_soon(create, number)
    assert created == [await store.get(f"{bucket}/done", max_bytes=10)]


async def test_large_objects_are_written_in_parts_and_refused_by_size(s3: S3Server) -> None:
    store, bucket = Objects(s3.settings()), s3.bucket()
    data = bytes(range(256)) * 50_000
    await store.put(f"{bucket}/large", data)
    assert await store.get(f"{bucket}/large", max_bytes=len(data)) == data
    code, detail = await failure_of(store, f"{bucket}/large")
    assert (code, detail) == ("body_too_large", "The object has 12800000 bytes; at most 1000 are allowed.")


async def test_denied_keys_are_named_without_being_shown(
    s3: S3Server, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("WARNING")
    bucket = s3.bucket()
    store = Objects(s3.settings(options=WRONG))
    with s3.deny_keys():
        code, detail = await failure_of(store, f"{bucket}/a")
    assert (code, detail) == ("source_unreachable", "The object store denied access (InvalidAccessKeyId).")
    printed = "".join(capsys.readouterr()) + caplog.text  # where the log goes is the last test's choice
    assert "object_store_failed" in printed
    assert "AKIAWRONG" not in printed + detail
    assert "s3cret" not in printed + detail


async def test_servers_that_are_down_or_hang_are_given_up(s3: S3Server, tmp_path: Path) -> None:
    with s3_server(tmp_path) as server:
        bucket = server.bucket()
        store, hasty = Objects(server.settings()), Objects(server.settings(timeout_s=0.5))
        server.put(f"{bucket}/a", b"1")
        server.freeze()
        code, detail = await failure_of(hasty, f"{bucket}/a")
        # The client's own limit ends some calls, ours the others.
        assert (code, detail.startswith("The object store did not answer")) == ("source_unreachable", True)
        with pytest.raises(EngineFailed):
            await hasty.put(f"{bucket}/a", b"1")
        with pytest.raises(EngineFailed):
            [each async for each in hasty.list(bucket)]
        server.restore()
        assert await store.get(f"{bucket}/a", max_bytes=1) == b"1"
        server.kill()
        assert await failure_of(store, f"{bucket}/a") == ("source_unreachable", "The object store can't be reached.")
        with pytest.raises(Overloaded) as raised:
            await Uploads(store, f"{bucket}/uploads/").put(b"1")
        assert raised.value.code == "jobs_unavailable"


async def test_uploads_in_a_bucket(s3: S3Server) -> None:
    bucket = s3.bucket()
    uploads = Uploads(Objects(s3.settings()), f"{bucket}/uploads/")
    digest = await uploads.put(b"scan")
    assert digest == hashlib.sha256(b"scan").hexdigest()
    assert await uploads.get(digest) == b"scan"
    assert not await uploads.delete_older(digest, than=1_000_000_000)
    assert await uploads.delete_older(digest, than=100_000_000_000)
    with pytest.raises(InputRejected):
        await uploads.get(digest)


async def test_a_job_reads_the_object_of_its_event(s3: S3Server) -> None:
    store, bucket = Objects(s3.settings()), s3.bucket()
    uploads = Uploads(store, f"{bucket}/uploads/")
    documents = JobDocuments(store, uploads, Fetcher(FetchSettings(), 1000), [f"{bucket}/in/"], 1000)
    etag = s3.put(f"{bucket}/in/a%20b.pdf", b"scan")["ETag"]  # as HTTP has the key `a b.pdf`
    source = JobSource(url=f"{bucket}/in/a b.pdf", etag=etag.strip('"'))
    assert (await documents.load(job(source=source))).data == b"scan"
