"""What jobs need of the machine: a folder, disks, packages."""

from __future__ import annotations

from pathlib import Path

import pytest

from inkgate.jobs import machine
from inkgate.jobs.machine import (
    file_system_of,
    jobs_disks,
    jobs_folder,
    missing_packages,
    sqlite_file,
    unwritable_folders,
)
from inkgate.settings import load_settings

MOUNTS = """\
overlay / overlay rw 0 0
/dev/sda1 /var ext4 rw 0 0
server:/export /var/lib/inkgate nfs4 rw 0 0
//nas/scans /mnt/my\\040scans cifs rw 0 0
/dev/sdb1 /data xfs rw 0 0
tmpfs /data tmpfs rw 0 0
broken
"""


def test_the_file_system_of_a_path_is_that_of_the_nearest_mount() -> None:
    paths = {
        "/": "overlay",
        "/etc/x": "overlay",
        "/var/lib": "ext4",
        "/var/lib/inkgate": "nfs4",
        "/var/lib/inkgate/jobs.db": "nfs4",
        "/var/lib/inkgate-2/jobs.db": "ext4",
        "/mnt/my scans/jobs.db": "cifs",
        "/data/jobs.db": "tmpfs",
    }
    assert {path: file_system_of(path, MOUNTS) for path in paths} == paths
    assert file_system_of("/x", "") == ""


def test_the_disks_are_those_of_the_settings(tmp_path: Path) -> None:
    settings = load_settings(None, jobs={"folder": str(tmp_path / "not" / "yet")})
    database, uploads = jobs_disks(settings)
    assert (database.use, uploads.use) == ("database", "uploads")
    assert database.path == str(tmp_path / "not" / "yet" / "jobs.db")
    assert 0 < database.free_bytes <= database.total_bytes
    assert not (tmp_path / "not").exists()
    remote = load_settings(
        None, jobs={"database": "postgresql://u:p@h/d", "uploads": "s3://bucket/uploads/", "folder": str(tmp_path)}
    )
    assert jobs_disks(remote) == ()
    assert sqlite_file(remote) is None
    local = load_settings(None, jobs={"uploads": (tmp_path / "a b").as_uri(), "folder": str(tmp_path)})
    assert [disk.path for disk in jobs_disks(local)] == [str(tmp_path / "jobs.db"), str(tmp_path / "a b")]


def test_folders_that_can_not_be_written_are_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    good = load_settings(None, jobs={"folder": str(tmp_path / "not" / "yet")})
    remote = load_settings(None, jobs={"database": "postgresql://h/d", "uploads": "s3://bucket/uploads/"})
    assert (unwritable_folders(good), unwritable_folders(remote)) == ((), ())
    bad = load_settings(None, jobs={"folder": str(tmp_path / "file")})
    database, uploads = unwritable_folders(bad)
    assert (f"{tmp_path}/file of the database" in database, f"{tmp_path}/file/uploads of the" in uploads) == (
        True,
        True,
    )


def test_the_folder_is_that_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(machine._ENVIRONMENT, "XDG_STATE_HOME", str(tmp_path))
    assert jobs_folder(load_settings(None)) == tmp_path / "inkgate"
    monkeypatch.setitem(machine._ENVIRONMENT, "XDG_STATE_HOME", "relative")
    assert jobs_folder(load_settings(None)) == Path.home() / ".local" / "state" / "inkgate"


def test_packages_that_the_settings_need_and_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {"table": "t", "columns": {"a": "job.id"}, "key": ["a"]}
    broker = {"address": "localhost:9", "topic": "scans"}
    settings = load_settings(
        None,
        jobs={"database": "postgresql://h/d"},
        intake={"scans": {"kind": "kafka", **broker}, "mail": {"kind": "nats", **broker}},
        sinks={
            "shop": {"kind": "table", "database": "postgresql://h/s", **rows},
            "out": {"kind": "topic", "broker": "rabbit", **broker},
        },
    )  # fmt: skip
    monkeypatch.setattr(machine, "find_spec", lambda name: None if name != "nats" else object())
    needing = [sentence.split("`")[1] for sentence in missing_packages(settings)]
    assert needing == ["jobs.database", "intake.scans", "sinks.shop", "sinks.out"]
    assert all("pip install" in sentence for sentence in missing_packages(settings))
    assert missing_packages(load_settings(None)) == ()
