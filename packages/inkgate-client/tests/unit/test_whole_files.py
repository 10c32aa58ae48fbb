"""Files that are written whole or not at all."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from inkgate_client.whole_files import write_whole


def test_a_write_that_fails_leaves_what_was_there_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match="taken"):
        write_whole(tmp_path / "taken", b"data")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_threads_that_write_into_one_folder_at_once_never_mix_their_files(tmp_path: Path) -> None:
    def write_often(name: str) -> set[str]:
        found = set()
        for _ in range(300):
            write_whole(tmp_path / name, name.encode() * 1000)
            found.add((tmp_path / name).read_text())
        return found

    names = ["a", "b", "c", "d"]
    with ThreadPoolExecutor(len(names)) as threads:
        assert list(threads.map(write_often, names)) == [{name * 1000} for name in names]
    assert sorted(path.name for path in tmp_path.iterdir()) == names


def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path: Path) -> None:
    (tmp_path / "private").touch(0o600)
    write_whole(tmp_path / "private", b"new")
    assert (tmp_path / "private").stat().st_mode & 0o777 == 0o600


def test_a_link_stays_and_missing_folders_are_made_only_on_request(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to("file")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"new"
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "none" / "a", b"")
    write_whole(tmp_path / "some" / "a", b"data", parents=True)
    assert (tmp_path / "some" / "a").read_bytes() == b"data"
