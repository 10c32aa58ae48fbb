"""A realistic search for settings, generated from a seed: two vLLM parameters, with deaths and a preemption storm."""

from __future__ import annotations

import numpy as np

from inkgate_bench.load.results import ServerSide
from inkgate_bench.tune.results import (
    Assessment,
    Parameter,
    Purpose,
    Settings,
    Targets,
    Trial,
    TrialOutcome,
    TuneReport,
)
from support.sample_reports import MACHINE, SimulatedRun, run

SEQS = "engine.vllm.managed.max_num_seqs"
TOKENS = "engine.vllm.managed.max_num_batched_tokens"
DIALS = (
    Parameter(SEQS, (4, 8, 12, 16, 24, 32, 48), "pages at once against memory for each"),
    Parameter(TOKENS, (2048, 4096, 8192, 16384), "how fast images are taken in against how long answers wait for them"),
)
CURRENT: Settings = {SEQS: 48, TOKENS: 8192}
CHOSEN: Settings = {SEQS: 16, TOKENS: 8192}


class _Search:
    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.trials: list[Trial] = []
        self.by_settings: dict[tuple[object, ...], list[Trial]] = {}

    def goodput(self, settings: Settings) -> float:
        seqs, tokens = float(settings[SEQS]), float(settings[TOKENS])
        full = 1.35 * seqs / (1 + 0.055 * (seqs - 1) + 0.0024 * seqs * (seqs - 1))
        return full * (1 - 0.035 * float(np.log2(tokens / 8192)) ** 2)

    def ends(self, settings: Settings, purpose: Purpose) -> tuple[TrialOutcome, str]:
        seqs, tokens = float(settings[SEQS]), float(settings[TOKENS])
        if seqs >= 48 and tokens >= 16384:
            return TrialOutcome.NOT_STARTED, "The KV cache would have no room for one page."
        if seqs >= 48 or (seqs >= 32 and tokens >= 16384) or (purpose is Purpose.HEAVIEST and seqs >= 32):
            return TrialOutcome.DIED, "The model server died: killed. Out of memory on the GPU."
        return (
            (TrialOutcome.STORMED, "Every fourth page was begun anew.") if seqs >= 32 else (TrialOutcome.MEASURED, "")
        )

    def trial(self, settings: Settings, purpose: Purpose) -> None:
        outcome, why = self.ends(settings, purpose)
        number = len(self.trials) + 1
        summary = server = accuracy = None
        if outcome is not TrialOutcome.NOT_STARTED:
            rate = self.goodput(settings)
            summary, _ = run(SimulatedRun(14, rate, float(settings[SEQS]) / rate, 30, refused=4.0), self.random)
            share = min(1.0, 0.035 * float(settings[SEQS]))
            preempted = 0 if outcome is TrialOutcome.MEASURED else 61
            server = ServerSide(share, 12.0, 2.0, preempted, 0, 0.97, 0.91, 1800 + 9.5 * float(settings[SEQS]))
            accuracy = 0.962 - 0.0009 * abs(float(settings[SEQS]) - 8) ** 0.8
        trial = Trial(number, purpose, settings, outcome, 30.0, summary, server, accuracy, why)
        self.trials.append(trial)
        self.by_settings.setdefault(tuple(settings.values()), []).append(trial)

    def judged(self, settings: Settings) -> Assessment:
        trials = self.by_settings[tuple(settings.values())]
        numbers = tuple(trial.number for trial in trials)
        bad = next((trial for trial in trials if trial.outcome is not TrialOutcome.MEASURED), None)
        runs = [trial.summary.goodput for trial in trials if trial.summary and trial.purpose is not Purpose.HEAVIEST]
        if not runs:
            return Assessment(settings, numbers, 0.0, 0.0, 0.0, allowed=False, why_not=bad.why if bad else "")
        mean, around = float(np.mean(runs)), 0.6 / len(runs) ** 0.5
        return Assessment(settings, numbers, mean, mean - around, mean + around, bad is None, bad.why if bad else "")


def tune_report(seed: int = 5) -> TuneReport:
    """A complete search: the chosen settings are faster and stable, the current ones die."""
    search = _Search(seed)
    search.trial(CURRENT, Purpose.CURRENT)
    for seqs in DIALS[0].values:
        for tokens in DIALS[1].values:
            if (seqs, tokens) not in {(4, 16384), (4, 2048), (12, 16384), (48, 2048)}:
                search.trial({SEQS: seqs, TOKENS: tokens}, Purpose.SEARCH)
    for _ in range(3):
        search.trial(CHOSEN, Purpose.CONFIRM)
        search.trial({SEQS: 24, TOKENS: 8192}, Purpose.CONFIRM)
    search.trial(CHOSEN, Purpose.HEAVIEST)
    judged = tuple(search.judged(trials[0].settings) for trials in search.by_settings.values())
    chosen = search.judged(CHOSEN)
    return TuneReport(
        began="2026-11-21T16:40:00Z",
        engine="vllm",
        targets=Targets(5.0, 0.001),
        parameters=DIALS,
        demand=14.0,
        trials=tuple(search.trials),
        assessments=judged,
        current=search.judged(CURRENT),
        chosen=chosen,
        fragment="[engine.vllm.managed]\nmax_num_seqs = 16\nmax_num_batched_tokens = 8192\n",
        reasons=(
            f"max_num_seqs = 16 gives {chosen.score:.3g} pages/s in time.",
            "24 may answer 3 % more (-2 to 8 %), which can't be told from nothing; 16 asks less of the machine.",
            "Under the heaviest images that pages and limits allow it stayed up in its only run.",
        ),
        loses="The current settings (max_num_seqs = 48) are not allowed: the model server died.",
        machine=MACHINE,
        notes=("Scores are means of trials.",),
    )
