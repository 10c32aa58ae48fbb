"""The results of a run of the benchmark."""

from __future__ import annotations

import argparse
import json
import os
import platform
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

from inkgate_bench.tune.results import Settings, Targets, Trial, TrialOutcome
from inkgate_bench.tune.score import score

DONE = TrialOutcome.MEASURED


@dataclass
class Run:
    """Results so far; written after each trial."""

    options: argparse.Namespace
    targets: Targets
    file: Path | None
    demand: float = 0.0
    sweep: list[Trial] = field(default_factory=list)
    searches: list[dict[str, Any]] = field(default_factory=list)

    def scores(self, settings: Settings) -> list[float]:
        """Scores of the sweep; 0 for each trial whose service went down."""
        tried = [trial for trial in self.sweep if trial.settings == settings]
        return [
            score(trial.summary, self.targets) if trial.outcome is DONE and trial.summary is not None else 0.0
            for trial in tried
        ]

    @property
    def best(self) -> tuple[Settings, float]:
        """The best point of the sweep, and its mean score."""
        settings = max((trial.settings for trial in self.sweep), key=lambda settings: mean(self.scores(settings)))
        return settings, mean(self.scores(settings))

    def judged(self, found: dict[str, Any]) -> dict[str, Any]:
        """Judges a search by the sweep; `of_best` is None without a trial of the choice, or if all scores are 0."""
        if not self.sweep:
            return found | {"best": {}, "of_best": None}
        best, most = self.best
        scores = [0.0] if found["chosen"] is None else self.scores(found["chosen"])
        return found | {"best": best, "of_best": mean(scores) / most if scores and most else None}

    def write(self) -> None:
        if self.file is None:
            return
        points = [
            {"settings": dict(key), "scores": self.scores(dict(key))}
            for key in dict.fromkeys(tuple(trial.settings.items()) for trial in self.sweep)
        ]
        found = {
            "options": {name: str(value) for name, value in vars(self.options).items()},
            "machine": {"cores": os.cpu_count(), "platform": platform.platform()},
            "demand": self.demand,
            "points": points,
            "best": self.best if self.sweep else None,
            "searches": [self.judged(found) for found in self.searches],
        }
        self.file.write_text(json.dumps(found, indent=1), encoding="utf-8")


def short(settings: Settings) -> str:
    return ", ".join(f"{path.rpartition('.')[2]} {value}" for path, value in settings.items())


def taken(trial: Trial) -> float:
    """Cores that other programs took, including other guests of the hypervisor."""
    return trial.other_load_cores or 0.0
