"""Other programs on the machine during a trial."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from inkgate.bench.tune.others import Others, disturbance, usual_others
from inkgate.bench.tune.results import Outcome, Purpose, Trial


def trial(others_cores: float | None) -> Trial:
    return Trial(1, Purpose.SEARCH, {}, Outcome.MEASURED, 10.0, others_cores=others_cores)


def everything() -> list[int]:
    return list(range(os.cpu_count() or 1))


def test_what_this_process_and_its_children_do_is_not_theirs() -> None:
    """On a machine three of whose cores are busy all the time, one of them, or a part of it, with our child."""
    began = time.perf_counter()
    seen = Others(lambda: _Times(3 * (time.perf_counter() - began)), everything)
    child = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        time.sleep(1.5)
        cores = seen.cores()
    finally:
        child.kill()
        child.wait()
    assert cores is not None
    assert 0.9 < cores < 2.9


def test_nothing_is_known_where_a_part_of_the_machine_is_ours() -> None:
    assert Others(usable=lambda: everything()[1:]).cores() is None
    assert Others(usable=everything).cores() is not None


@pytest.mark.parametrize(("taken", "share"), [(None, 0.0), (1.0, 0.0), (3.0, 0.25), (0.5, 0.0), (90.0, 1.0)])
def test_a_trial_is_disturbed_by_what_others_do_not_always_do(taken: float | None, share: float) -> None:
    assert disturbance(trial(taken), usual=1.0, cores=8) == share


def test_what_others_always_do_is_the_least_that_was_seen() -> None:
    assert usual_others([trial(2.0), trial(None), trial(0.5)]) == 0.5
    assert usual_others([trial(None)]) == 0.0


class _Times:
    """As psutil has them; a guest's time is in the user's, too."""

    def __init__(self, busy: float) -> None:
        self._busy = busy

    def _asdict(self) -> dict[str, float]:
        return {"user": self._busy, "system": 0.0, "idle": 7 * self._busy, "iowait": 1.0, "guest": self._busy}
