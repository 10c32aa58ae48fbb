from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from inkgate.settings import load_settings
from inkgate_bench.load.results import LoadSummary, ServerSide
from inkgate_bench.tune.report import report, toml
from inkgate_bench.tune.results import Purpose, Trial, TrialOutcome, TuneReport, Value
from support.responses import SEQS, task

HEAVY = Purpose.HEAVIEST
TASK = task(heaviest=True, current=8)


def rows(*tried: tuple[int, float | TrialOutcome, Purpose]) -> list[Trial]:
    """Trials of max_num_seqs with the pages/s that they had, or how else they ended; each twice but for HEAVIEST."""
    found: list[Trial] = []
    for seqs, what, purpose in tried:
        for _ in range(1 if purpose is HEAVY else 2):
            found.append(row(len(found) + 1, seqs, what, purpose))
    return found


def row(number: int, seqs: int, what: float | TrialOutcome, purpose: Purpose) -> Trial:
    ended = what if isinstance(what, TrialOutcome) else TrialOutcome.MEASURED
    count = 0 if isinstance(what, TrialOutcome) else round(100 * what)
    summary = LoadSummary(100.0, 10_000, count, count, 10_000 - count, 0, 0, 0, count, 0, 0, 8.0, None, None)
    return Trial(
        number,
        purpose,
        {SEQS: seqs},
        ended,
        12.0,
        None if isinstance(what, TrialOutcome) else summary,
        ServerSide(memory_mb=2048.0, gpu_memory_share=0.91) if purpose is HEAVY else None,
    )


SEARCHED = (
    (8, 13.2, Purpose.CURRENT),
    (12, 18.5, Purpose.SEARCH),
    (16, 22.0, Purpose.SEARCH),
    (24, 23.0, Purpose.SEARCH),
    (48, 15.0, Purpose.SEARCH),
    (96, TrialOutcome.DIED, Purpose.SEARCH),
)


def test_reasons_have_the_numbers_of_what_was_better_but_died() -> None:
    heavy: list[tuple[int, float | TrialOutcome, Purpose]] = [
        (24, 20.0, HEAVY),
        (24, TrialOutcome.DIED, HEAVY),
        (24, 20.0, HEAVY),
        (16, 20.0, HEAVY),
        (16, 20.0, HEAVY),
    ]
    found = report(TASK, rows(*SEARCHED, *heavy))
    assert found.chosen is not None
    assert found.chosen.settings == {SEQS: 16}
    said = "\n".join(found.reasons)
    assert said.startswith("max_num_seqs = 16 gives 2")
    assert "24 answers " in said
    assert " more, but died in 1 of 3 runs under the heaviest images." in said
    assert "96 died in 2 of 2 runs." in said
    assert "12 loses 1" in said
    assert "stayed up in 2 of 2 runs, with up to 2,048 MB of memory and 91 % of the GPU's memory." in said
    assert found.loses.startswith("The current settings (max_num_seqs = 8) answer 40 % less (2 runs, ")


def test_loss_of_the_current_settings_is_what_was_measured() -> None:
    found = report(TASK, rows(*SEARCHED))
    share = float(found.loses.split(" answer ")[1].split(" %")[0])
    assert share == pytest.approx(100 * (1 - 13.2 / 23.0), abs=4)
    assert found.reasons[-1].endswith("no time was left.")


def test_safer_of_two_that_can_not_be_told_apart_is_taken() -> None:
    tried = (
        (8, 15.0, Purpose.CURRENT),
        (16, 21.9, Purpose.SEARCH),
        (32, 22.0, Purpose.SEARCH),
        (64, 21.0, Purpose.SEARCH),
    )
    found = report(TASK, rows(*tried, *tried[1:3], *tried[1:3]))
    assert found.chosen is not None
    assert found.chosen.settings == {SEQS: 16}
    assert "against 32: they are equally good. It asks less of the machine." in found.reasons[1]


@pytest.mark.parametrize(
    ("rival", "certainty"),
    [
        ([17.0, 17.2, 16.9], "It answers +29 % (95 %: +26 % to +33 %, p = 9.3e-06) against 24."),
        (
            [21.0, 23.5, 19.5],
            "they can't be told apart. It asks less of the machine. More --minutes with --resume would tell.",
        ),
        ([21.0], "Whether 24 is better is not known: that takes 3 runs of each, so more --minutes."),
    ],
)
def test_it_is_said_how_sure_the_choice_is(rival: list[float], certainty: str) -> None:
    pairs = [(16, pages_per_s) for pages_per_s in (22.0, 21.8, 22.3)] + [(24, pages_per_s) for pages_per_s in rival]
    tried = [row(number, seqs, rate, Purpose.SEARCH) for number, (seqs, rate) in enumerate(pairs, 1)]
    found = report(task(current=16), tried)
    assert found.chosen is not None
    assert found.chosen.settings == {SEQS: 16}
    assert certainty in found.reasons[1]


def test_a_slow_moment_is_no_part_of_the_score() -> None:
    tried = [row(number, 16, rate, Purpose.SEARCH) for number, rate in enumerate((22.0, 0.9, 21.8), 1)]
    found = report(task(current=16), tried)
    assert found.chosen is not None
    assert found.chosen.score == pytest.approx(21.9)


def test_a_comparison_on_a_machine_that_became_slower_counts_by_its_ratio() -> None:
    """16 was tried while the machine was fast, and loses to 24 side by side; 32 was never tried while it was slow."""
    rates = [(8, 13.0), (16, 22.0), (24, 21.5), (32, 19.0), (16, 14.0), (24, 15.2), (24, 15.4), (16, 14.1)]
    purposes = [Purpose.SEARCH] * 4 + [Purpose.CONFIRM] * 4
    tried = [row(number, *rates[number - 1], purposes[number - 1]) for number in range(1, 9)]
    found = report(TASK, tried)
    assert found.chosen is not None
    assert found.chosen.settings == {SEQS: 24}
    assert found.chosen.score == pytest.approx(22.3, abs=0.5)
    assert found.notes[1].startswith("The speed of the machine changed: in some comparisons it was 67 % of the first.")


def test_current_settings_may_be_the_best() -> None:
    tried = ((8, 22.0, Purpose.CURRENT), (4, 15.0, Purpose.SEARCH), (24, 14.0, Purpose.SEARCH))
    found = report(TASK, rows(*tried))
    assert found.loses == "The current settings (max_num_seqs = 8) are the best that was found."


def test_current_settings_that_died_are_said_to_have() -> None:
    tried = ((8, TrialOutcome.DIED, Purpose.CURRENT), (4, 15.0, Purpose.SEARCH))
    found = report(TASK, rows(*tried))
    assert found.loses == "The current settings (max_num_seqs = 8): died in 2 of 2 runs."
    assert found.current is not None
    assert not found.current.allowed


def test_what_asks_more_than_what_died_is_said_to() -> None:
    tried = ((32, 30.0, Purpose.CURRENT), (8, 15.0, Purpose.SEARCH), (16, TrialOutcome.DIED, Purpose.SEARCH))
    found = report(task(current=32), rows(*tried))
    assert found.chosen is not None
    assert found.chosen.settings == {SEQS: 8}
    assert found.loses.endswith(
        " more, but are not allowed: asks more than max_num_seqs = 16, which died in 2 of 2 runs."
    )


def test_nothing_good_is_said_in_words() -> None:
    found = report(TASK, rows((8, TrialOutcome.DIED, Purpose.CURRENT), (4, TrialOutcome.NOT_STARTED, Purpose.SEARCH)))
    assert found.chosen is None
    assert found.fragment == ""
    assert found.reasons == (
        "No settings that were tried met the targets.",
        "max_num_seqs = 4: did not start in 2 of 2 runs.",
        "max_num_seqs = 8: died in 2 of 2 runs.",
    )


def test_interval_narrows_with_runs() -> None:
    once = report(TASK, rows(*SEARCHED))
    often = report(TASK, rows(*SEARCHED, *(4 * [(24, 23.0, Purpose.CONFIRM)])))
    assert once.chosen is not None
    assert often.chosen is not None
    assert often.chosen.low <= 23.0 <= often.chosen.high
    assert often.chosen.high - often.chosen.low < once.chosen.high - once.chosen.low


def test_report_is_the_same_after_json() -> None:
    found = report(TASK, rows(*SEARCHED), partial=True)
    adapter = TypeAdapter(TuneReport)
    assert adapter.validate_json(adapter.dump_json(found)) == found


def test_fragment_is_loaded_by_the_settings(tmp_path: Path) -> None:
    found = report(TASK, rows(*SEARCHED))
    file = tmp_path / "inkgate.toml"
    file.write_text(found.fragment, encoding="utf-8")
    settings = load_settings(file)
    assert settings.engine.vllm.managed.max_num_seqs == 24
    assert settings.engine.vllm.concurrent_pages == 48
    assert found.fragment.startswith("# Found by `inkgate tune` on 2026-11-21, bench (a processor)\n# for answers ")


@pytest.mark.parametrize(
    "value", [True, False, 3, 0.9, 1e-7, "", "fp8", 'a "quoted" \\ name', "línea\n二\t\x7f\x01 😀"]
)
def test_values_are_the_same_in_toml(value: Value) -> None:
    assert tomllib.loads(toml({"a.b.c": value})) == {"a": {"b": {"c": value}}}


def test_tables_are_written_once_and_no_settings_are_nothing() -> None:
    assert toml({"b.x": 1, "a.y": 2, "b.a": 3}, ["why\nnot"]) == "# why\n# not\n\n[a]\ny = 2\n\n[b]\na = 3\nx = 1\n"
    assert toml({}) == ""


def test_notes_say_how_noisy_runs_were() -> None:
    found = report(TASK, rows(*SEARCHED))
    assert found.notes[0] == "Runs of the same settings differ by 3 % (standard deviation, 5 repeated settings)."
