"""Objects in memory and in local folders: exact keys, nothing outside the folder, whole files or none."""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import SecretStr

from inkgate.errors import EngineFailed, InputRejected
from inkgate.settings import StorageSettings
from inkgate.storage.local import file_etag
from inkgate.storage.objects import Objects, file_url, parse_object_url

pytestmark = pytest.mark.anyio

KEYS = (
    "plain.pdf", "a b.pdf", "a+b", "a%20b", "100%", "%2e%2e/x", "..%2fx", "ü/日本.pdf", "e\u0301", "what?", "no#1",
    "a\\b", "~", "[x]*", "deep/er/and/deeper", "...", "a:b", '"q"', " lead and trail ", ".hidden",
)  # fmt: skip
NO_KEYS = ("", "/a", "a/", "a//b", "../a", "a/../b", "a/..", "./a", "a/./b", "a\nb", "a\x00b", "\x7f")


@pytest.fixture(params=["memory", "file"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of an empty folder."""
    return "memory://bucket/in" if request.param == "memory" else file_url(tmp_path / "in")


def objects(**options: dict[str, str]) -> Objects:
    secret = {prefix: {key: SecretStr(value) for key, value in each.items()} for prefix, each in options.items()}
    return Objects(StorageSettings(options=secret))


async def code_of(store: Objects, url: str, *, max_bytes: int = 1000, **more: str) -> str:
    with pytest.raises((InputRejected, EngineFailed)) as raised:
        await store.get(url, max_bytes=max_bytes, **more)
    return raised.value.code


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_every_key_is_read_as_it_was_written(folder: str) -> None:
    store = objects()
    for key in KEYS:
        assert await store.put(f"{folder}/{key}", key.encode())
    assert [key for key in KEYS if await store.get(f"{folder}/{key}", max_bytes=100) != key.encode()] == []
    listed = [each async for each in store.list(folder)]
    assert sorted(each.url for each in listed) == sorted(f"{folder}/{key}" for key in KEYS)
    assert {each.byte_count for each in listed} == {len(key.encode()) for key in KEYS}


async def test_keys_that_lead_elsewhere_are_refused(folder: str, tmp_path: Path) -> None:
    store = objects()
    await store.put(f"{folder}/a", b"1")
    (tmp_path / "secret").write_bytes(b"secret")
    for key in (*NO_KEYS, "../secret"):
        assert await code_of(store, f"{folder}/{key}") == "source_forbidden", key
        with pytest.raises(InputRejected):
            await store.put(f"{folder}/{key}", b"x")


def test_what_is_no_url_of_an_object_is_refused() -> None:
    urls = (
        "", "s3:", "s3://", "s3:///key", "s3://bucket", "S3://bucket/key", "s3://user:secret@bucket/key",
        "s3://b?x/key", "s3://b#x/key", "s3://b ucket/key", "s3://../key", "s3://b\\c/key", "az://c@account.example/key",
        "file://host/etc/passwd", "file:/etc/passwd", "ftp://host/key", "https://host/key", "abfss://host/key",
    )  # fmt: skip
    for url in urls:
        with pytest.raises(InputRejected) as raised:
            parse_object_url(url)
        assert raised.value.code == "source_forbidden", url
    assert parse_object_url("abfss://files@account.dfs.core.windows.net/a").root == (
        "abfss://files@account.dfs.core.windows.net"
    )
    assert parse_object_url("s3://bucket/", folder=True).key == ""
    assert parse_object_url("s3://bucket/in/", folder=True).key == "in"


async def test_size_is_limited(folder: str) -> None:
    store = objects()
    await store.put(f"{folder}/a", bytes(1000))
    assert await store.get(f"{folder}/a", max_bytes=1000) == bytes(1000)
    assert await code_of(store, f"{folder}/a", max_bytes=999) == "body_too_large"
    await store.put(f"{folder}/empty", b"")
    assert await store.get(f"{folder}/empty", max_bytes=0) == b""


async def test_missing_and_replaced_objects(folder: str) -> None:
    store = objects()
    assert await code_of(store, f"{folder}/a") == "source_missing"
    await store.put(f"{folder}/a", b"first")
    [found] = [each async for each in store.list(folder)]
    assert await store.get(f"{folder}/a", etag=f'"{found.etag}"', max_bytes=10) == b"first"
    await store.put(f"{folder}/a", b"second")
    assert await code_of(store, f"{folder}/a", etag=found.etag) == "source_replaced"
    assert await code_of(store, f"{folder}/a/below") == "source_missing"
    await store.delete(f"{folder}/a")
    await store.delete(f"{folder}/a")
    assert await code_of(store, f"{folder}/a", etag=found.etag) == "source_missing"


async def test_create_only_writes_once(folder: str) -> None:
    store = objects()
    assert await store.put(f"{folder}/a", b"first", create_only=True)
    assert not await store.put(f"{folder}/a", b"second", create_only=True)
    assert await store.get(f"{folder}/a", max_bytes=10) == b"first"
    assert len([each async for each in store.list(folder)]) == 1


async def test_only_older_objects_are_deleted(folder: str) -> None:
    store = objects()
    before = datetime.now(UTC).timestamp() - 60
    assert await store.modified(f"{folder}/a") is None
    assert not await store.delete_older(f"{folder}/a", before)
    await store.put(f"{folder}/a", b"1")
    modified = await store.modified(f"{folder}/a")
    assert modified is not None
    assert modified > before
    assert not await store.delete_older(f"{folder}/a", before)
    assert await store.delete_older(f"{folder}/a", modified + 1)
    assert await store.modified(f"{folder}/a") is None


async def test_an_empty_folder_has_no_objects(folder: str) -> None:
    assert [each async for each in objects().list(folder)] == []


async def test_links_are_followed_within_the_folder_only(tmp_path: Path) -> None:
    inside = tmp_path / "in"
    (inside / "sub").mkdir(parents=True)
    (inside / "sub" / "page").write_bytes(b"page")
    (tmp_path / "secret").write_bytes(b"secret")
    (inside / "good").symlink_to("sub/page")
    (inside / "folder").symlink_to(inside / "sub")
    (inside / "bad").symlink_to(tmp_path / "secret")
    (inside / "up").symlink_to("..")
    (inside / "circle").symlink_to("circle")
    (tmp_path / "link").symlink_to(inside)
    os.mkfifo(inside / "pipe")
    store = objects()
    for below in (file_url(inside), file_url(inside) + "/", file_url(tmp_path / "link")):
        assert await store.get(f"{below.rstrip('/')}/good", max_bytes=10, below=below) == b"page"
        assert await store.get(f"{below.rstrip('/')}/folder/page", max_bytes=10, below=below) == b"page"
        codes = {
            key: await code_of(store, f"{below.rstrip('/')}/{key}", below=below)
            for key in ("bad", "up/secret", "up", "circle", "pipe", "sub", "sub/page/x", "x" * 300)
        }
        assert codes == {
            "bad": "source_forbidden",
            "up/secret": "source_forbidden",
            "up": "source_forbidden",
            "circle": "source_missing",
            "pipe": "source_missing",
            "sub": "source_missing",
            "sub/page/x": "source_missing",
            "x" * 300: "source_missing",
        }
    assert [each.url async for each in store.list(file_url(inside))] == [file_url(inside / "sub" / "page")]


async def test_private_files_are_for_their_owner_only(tmp_path: Path) -> None:
    await objects().put(file_url(tmp_path / "new" / "er" / "file"), b"1", private=True)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "new").rglob("*")}
    assert modes == {"er": 0o700, "file": 0o600}
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


async def test_what_a_killed_process_left_is_deleted_with_old_files(tmp_path: Path) -> None:
    store = objects()
    await store.put(file_url(tmp_path / "old"), b"1")
    left, written_now = tmp_path / ".inkgate-0123", tmp_path / ".inkgate-4567"
    left.write_bytes(b"half")
    written_now.write_bytes(b"half")
    os.utime(left, (1000, 1000))
    os.utime(tmp_path / "old", (1000, 1000))
    assert [each.url async for each in store.list(file_url(tmp_path))] == [file_url(tmp_path / "old")]
    assert await store.delete_older(file_url(tmp_path / "old"), 2000)
    assert names(tmp_path) == [written_now.name]


async def test_a_file_that_can_not_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(EngineFailed) as raised:
        await objects().put(file_url(tmp_path / "taken"), b"1")
    assert raised.value.code == "source_unreachable"
    assert str(tmp_path) not in raised.value.detail
    assert names(tmp_path) == ["taken"]


def test_a_written_file_has_another_etag(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"1")
    first = file_etag(path.stat())
    os.utime(path, (1000, 1000))
    assert file_etag(path.stat()) != first


def test_options_that_are_not_valid_are_refused_without_their_values() -> None:
    cases = {
        "s3://bucket": {"bogus": "s3cret"},
        "s3://": {"timeout": "s3cret"},
        "s3://other/in/": {"virtual_hosted_style_request": "s3cret"},
        "ftp://host": {"endpoint": "s3cret"},
        "file:///folder": {"endpoint": "s3cret"},
        "gs://": {"service_account_path": "/s3cret"},
    }
    for prefix, options in cases.items():
        with pytest.raises(ValueError, match=r"storage\.options: `") as raised:
            objects(**{prefix: options})
        assert "s3cret" not in str(raised.value), prefix
    objects(
        **{
            "s3://": {"endpoint": "http://127.0.0.1:9000", "access_key_id": "a", "secret_access_key": "b"},
            "s3://oss": {"endpoint": "https://oss.example", "virtual_hosted_style_request": "true", "timeout": "30s"},
            "az://": {"account_name": "account", "account_key": "c2VjcmV0"},
            "abfss://": {"sas_token": "sig=x"},
        }
    )
