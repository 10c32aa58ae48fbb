"""Plans of batches, journals, and rows."""

from __future__ import annotations

import fcntl
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import IO

import anyio
import pytest

from inkgate.batch.journal import ShardJournal, ShardTaken, note_death
from inkgate.batch.plan import BatchFolder, BatchInvalid, PlannedDocument, ShardLimits, list_documents
from inkgate.batch.rows import BatchRow, RowFormat
from inkgate.settings import StorageSettings
from inkgate.storage.objects import Objects, file_url

pytestmark = pytest.mark.anyio

ROW = BatchRow("a/b.png", "file:///a/b.png", "0" * 64, 5, "complete", text="é\n", review=(2,), confidence=0.5)


def documents(*sizes: int) -> list[PlannedDocument]:
    return [PlannedDocument(f"{n}.png", f"memory://in/{n}.png", size) for n, size in enumerate(sizes)]


async def indexes(count: int) -> AsyncIterator[int]:
    for index in range(count):
        yield index


async def test_shards_have_at_most_so_many_documents_and_bytes() -> None:
    folder = BatchFolder(Objects(StorageSettings()), "memory://out")
    plan = await folder.make_plan("memory://in", "jsonl", documents(5, 5, 50, 1, 1, 1, 1), ShardLimits(3, 10))
    shards = [shard async for shard in folder.shards(plan, indexes(plan.shards))]
    assert [[each.size for each in shard.documents] for shard in shards] == [[5, 5], [50], [1, 1, 1], [1]]
    assert await folder.plan() == plan
    assert await folder.done() == set()


async def test_of_two_plans_made_at_once_both_runs_use_the_first() -> None:
    folder = BatchFolder(Objects(StorageSettings()), "memory://out")
    made = []

    async def make(count: int) -> None:
        made.append(await folder.make_plan("memory://in", "jsonl", documents(*[1] * count), ShardLimits(1)))

    async with anyio.create_task_group() as tasks:
        for count in range(1, 6):
            tasks.start_soon(make, count)
    assert len({plan.token for plan in made}) == 1
    assert [shard.index async for shard in folder.shards(made[0], indexes(made[0].shards))] == list(
        range(made[0].shards)
    )


@pytest.mark.parametrize("data", [b"", b"[]", b'{"version": 2}', b'{"version": 1}'])
async def test_a_plan_that_is_none_is_told(data: bytes) -> None:
    folder = BatchFolder(Objects(StorageSettings()), "memory://out")
    await folder.objects.put(folder.plan_file, data)
    with pytest.raises(BatchInvalid):
        await folder.plan()


async def test_hidden_files_and_those_of_other_types_are_left_out(tmp_path: Path) -> None:
    for name in ("a.png", "sub/b.PDF", "notes.txt", ".hidden/c.png", "_inkgate/d.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"1")
    found = await list_documents(Objects(StorageSettings()), file_url(tmp_path), frozenset({".png", ".pdf"}))
    assert [each.name for each in found] == ["a.png", "sub/b.PDF"]


async def test_names_that_are_not_utf8_are_planned_and_read(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / os.fsdecode(b"\xff.png")).write_bytes(b"1")
    objects = Objects(StorageSettings())
    found = await list_documents(objects, file_url(tmp_path / "in"), frozenset({".png"}))
    folder = BatchFolder(objects, file_url(tmp_path / "out"))
    plan = await folder.make_plan(file_url(tmp_path / "in"), "jsonl", found, ShardLimits())
    (shard,) = [shard async for shard in folder.shards(plan, indexes(1))]
    assert await objects.get(shard.documents[0].url, etag=shard.documents[0].etag, max_bytes=9) == b"1"


def test_a_journal_that_is_deleted_as_it_is_opened_is_another_processs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = fcntl.flock

    def lock_late(file: IO[bytes], kind: int) -> None:
        (tmp_path / "0.jsonl").unlink()
        lock(file, kind)

    monkeypatch.setattr(fcntl, "flock", lock_late)
    with pytest.raises(ShardTaken), ShardJournal.opened(tmp_path / "0.jsonl"):
        pass


def test_a_journal_goes_on_after_a_kill_and_counts_deaths(tmp_path: Path) -> None:
    path = tmp_path / "0.jsonl"
    with ShardJournal.opened(path) as journal:
        for index in range(3):
            journal.open(index)
        journal.add(0, ROW)
        with pytest.raises(ShardTaken), ShardJournal.opened(path):
            pass
    with path.open("ab") as file:
        file.write(b'{"row": {"document": "cut')
    note_death(path)
    with ShardJournal.opened(path) as journal:
        assert (journal.rows, dict(journal.deaths)) == ({0: ROW}, {1: 1, 2: 1})
        journal.open(2)  # the machine went down: nobody noted a death
    with ShardJournal.opened(path) as journal:
        assert dict(journal.deaths) == {1: 1, 2: 1}
    note_death(tmp_path / "of a shard that was not begun.jsonl")
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("form", [RowFormat.JSONL, RowFormat.PARQUET])
def test_rows_are_read_as_they_were_written(form: RowFormat) -> None:
    assert form.load(form.dump([ROW, ROW])) == [ROW, ROW]
    with pytest.raises((ValueError, TypeError)):
        form.load(b'{"document": 1, "nonsense": 2}\n')
