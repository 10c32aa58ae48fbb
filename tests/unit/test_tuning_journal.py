from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from inkgate.bench.tune.journal import Journal, JournalMismatch, JournalRow, read_task
from inkgate.bench.tune.results import Parameter, Purpose, Trial, TrialOutcome
from inkgate.bench.tune.task import Task
from support.responses import SEQS, task

TASK = task()
FIRST = JournalRow(Trial(1, Purpose.CURRENT, {SEQS: 64}, TrialOutcome.DIED, 3.5, why="out of memory"), 0.0, 31.5)
SECOND = JournalRow(Trial(2, Purpose.SEARCH, {SEQS: 8}, TrialOutcome.NOT_STARTED, 0.0), 31.5, 9.0)


def test_trials_are_there_again_after_reopening(tmp_path: Path) -> None:
    file = tmp_path / "journal.jsonl"
    with Journal(TASK, file) as journal:
        journal.append(FIRST)
    with Journal(TASK, file) as journal:
        assert journal.rows == (FIRST,)
        journal.append(SECOND)
    with Journal(TASK, file) as journal:
        assert journal.rows == (FIRST, SECOND)
    assert read_task(file) == TASK


def test_each_trial_is_on_disk_before_the_next(tmp_path: Path) -> None:
    file = tmp_path / "journal.jsonl"
    with Journal(TASK, file) as journal:
        journal.append(FIRST)
        assert len(file.read_bytes().splitlines()) == 2


def test_line_that_was_cut_off_is_left_out_and_written_over(tmp_path: Path) -> None:
    file = tmp_path / "journal.jsonl"
    with Journal(TASK, file) as journal:
        journal.append(FIRST)
        journal.append(SECOND)
    file.write_bytes(file.read_bytes()[:-20])
    with Journal(TASK, file) as journal:
        assert journal.rows == (FIRST,)
        journal.append(SECOND)
    with Journal(TASK, file) as journal:
        assert journal.rows == (FIRST, SECOND)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (replace(TASK, engine="ppocr"), "engine (vllm then, ppocr now)"),
        (replace(TASK, pages="1" * 64), "pages ("),
        (replace(TASK, targets=replace(TASK.targets, deadline_s=9.0)), "targets ("),
        (replace(TASK, parameters=(Parameter(SEQS, (1, 64), ""),)), f"parameter {SEQS} (1, 2, 3, 4,"),
        (
            replace(TASK, parameters=(*TASK.parameters, Parameter("engine.other", (1,), ""))),
            "parameter engine.other (not searched then, 1",
        ),
        (replace(TASK, current={SEQS: 8}), "current settings ("),
        (replace(TASK, demand=5.0), "demand (100.0 then, 5.0 now)"),
    ],
)
def test_journal_of_another_search_is_refused(tmp_path: Path, asked: Task, said: str) -> None:
    file = tmp_path / "journal.jsonl"
    with Journal(TASK, file) as journal:
        journal.append(FIRST)
    written = file.read_bytes()
    with pytest.raises(JournalMismatch) as refused:
        Journal(asked, file)
    assert said in str(refused.value)
    assert file.read_bytes() == written


def test_other_time_and_machine_are_no_other_search(tmp_path: Path) -> None:
    file = tmp_path / "journal.jsonl"
    with Journal(TASK, file) as journal:
        journal.append(FIRST)
    with Journal(replace(TASK, budget_s=1800.0, began="2026-11-22T08:00:00Z"), file) as journal:
        assert journal.rows == (FIRST,)


@pytest.mark.parametrize("content", [b"notes\n", b'{"a": 1}\n', b"no line"])
def test_other_file_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "notes.txt"
    file.write_bytes(content)
    with pytest.raises(JournalMismatch, match="is not the journal"):
        Journal(TASK, file)
    with pytest.raises(JournalMismatch, match="is not the journal"):
        read_task(file)
    assert file.read_bytes() == content


def test_without_a_file_it_is_kept_in_memory() -> None:
    with Journal(TASK) as journal:
        journal.append(FIRST)
        assert journal.rows == (FIRST,)
