from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from PIL import Image

from inkgate.settings import load_settings
from inkgate_bench.commands.tune_run import TuneFailed, TuneOptions, run
from inkgate_bench.tune.results import Purpose, Trial, TrialOutcome
from inkgate_bench.tune.search import Journal, JournalMismatch
from support.responses import SEQS, task

TASK = task()
FIRST = Trial(1, Purpose.CURRENT, {SEQS: 64}, TrialOutcome.DIED, 3.5, why="out of memory", took_s=31.5)
SECOND = Trial(2, Purpose.SEARCH, {SEQS: 8}, TrialOutcome.NOT_STARTED, 0.0, took_s=9.0)


def test_trials_are_there_again_after_reopening(tmp_path: Path) -> None:
    file = tmp_path / "journal.jsonl"
    Journal.begin(TASK, file).append(FIRST)
    journal = Journal.resume(file)
    assert journal.trials == [FIRST]
    journal.append(SECOND)
    journal = Journal.resume(file)
    assert (journal.task, journal.trials) == (TASK, [FIRST, SECOND])


def test_each_trial_is_on_disk_before_the_next(tmp_path: Path) -> None:
    file = tmp_path / "journal.jsonl"
    Journal.begin(TASK, file).append(FIRST)
    assert len(file.read_bytes().splitlines()) == 2


def test_line_that_was_cut_off_is_left_out_and_written_over(tmp_path: Path) -> None:
    file = tmp_path / "journal.jsonl"
    journal = Journal.begin(TASK, file)
    journal.append(FIRST)
    journal.append(SECOND)
    file.write_bytes(file.read_bytes()[:-20])
    journal = Journal.resume(file)
    assert journal.trials == [FIRST]
    journal.append(SECOND)
    assert Journal.resume(file).trials == [FIRST, SECOND]


def test_a_new_search_does_not_write_into_the_journal_of_another(tmp_path: Path) -> None:
    file = tmp_path / "journal.jsonl"
    Journal.begin(TASK, file).append(FIRST)
    written = file.read_bytes()
    with pytest.raises(JournalMismatch, match="Continue it with --resume"):
        Journal.begin(replace(TASK, demand=5.0), file)
    assert file.read_bytes() == written


@pytest.mark.parametrize("content", [b"notes\n", b'{"a": 1}\n', b"no line", b""])
def test_other_file_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "notes.txt"
    file.write_bytes(content)
    with pytest.raises(JournalMismatch, match="is not the journal"):
        Journal.resume(file)
    assert file.read_bytes() == content


def test_without_a_file_it_is_kept_in_memory() -> None:
    journal = Journal(TASK)
    journal.append(FIRST)
    assert journal.trials == [FIRST]


@pytest.mark.parametrize(
    ("engine", "resumes", "said"),
    [
        ("vllm", True, "is of another search: engine vllm and pages 000"),
        ("ppocr", True, "is of another search: engine ppocr and pages 000"),
        ("ppocr", False, "Continue it with --resume"),
    ],
)
def test_a_search_with_another_engine_or_other_pages_is_refused_before_a_service_starts(
    tmp_path: Path, engine: str, resumes: bool, said: str
) -> None:
    Image.new("RGB", (40, 40)).save(tmp_path / "page.png")
    file = tmp_path / "trials.jsonl"
    Journal.begin(replace(TASK, engine=engine), file)
    options = TuneOptions(
        pages=tmp_path / "page.png",
        targets=TASK.targets,
        budget_s=60.0,
        parameters=(),
        rate=5.0,
        manifest=None,
        heaviest=False,
        engine=None,
        output=tmp_path,
        resume=file if resumes else None,
        seed=1,
        config=None,
        began=TASK.began,
    )
    with pytest.raises(TuneFailed, match=said):
        anyio.run(run, options, load_settings(None))
