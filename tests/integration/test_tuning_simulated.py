"""The search on the simulated 4090D, where people who tried by hand settled on 16."""

from __future__ import annotations

from benchmarks.simulate.tuned import tuned
from inkgate_bench.tune.parameters import MAX_NUM_SEQS
from inkgate_bench.tune.results import TrialOutcome


def test_it_takes_16_to_24_sequences_and_says_why() -> None:
    report = tuned(60, seed=1)
    assert report.chosen is not None
    chosen = report.chosen.settings[MAX_NUM_SEQS]
    assert 16 <= float(chosen) <= 24
    assert f"max_num_seqs = {chosen}" in report.fragment.replace("\n", " ")
    said = " ".join(report.reasons)
    assert f"max_num_seqs = {chosen} gives 2" in said
    assert " died in " in said, "more sequences answer more, until memory runs out"
    assert " loses " in said, "fewer sequences leave the GPU idle"
    assert "stayed up in" in said
    assert any(trial.outcome is TrialOutcome.DIED for trial in report.trials)
    assert report.current is not None
    assert "died" in report.loses, "64 sequences are in use"
