"""Other programs on the machine during a trial."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import psutil
import pytest

from inkgate.tuning import others
from inkgate.tuning.others import Others, disturbance, usual_others
from inkgate.tuning.results import Outcome, Purpose, Trial

_BUSY = "import time; end = time.monotonic() + 1.0\nwhile time.monotonic() < end: pass"


def trial(others_cores: float | None) -> Trial:
    return Trial(1, Purpose.SEARCH, {}, Outcome.MEASURED, 10.0, others_cores=others_cores)


def test_what_this_process_and_its_children_do_is_not_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    spent = 2.0
    monkeypatch.setattr(others, "usable_cpus", lambda: list(range(os.cpu_count() or 1)))
    monkeypatch.setattr(psutil, "cpu_times", lambda: _times(user=5.0))
    seen = Others()
    child = subprocess.Popen([sys.executable, "-c", "import time\n" + _BUSY + "\ntime.sleep(30)"])
    try:
        time.sleep(spent)
        monkeypatch.setattr(psutil, "cpu_times", lambda: _times(user=5.0 + 3 * spent, idle=100.0, guest=50.0))
        cores = seen.cores()
    finally:
        child.kill()
        child.wait()
    assert cores is not None
    assert 1.5 < cores < 2.9  # three were busy, and the child was some of them


def test_nothing_is_known_where_a_part_of_the_machine_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(others, "usable_cpus", lambda: list(range((os.cpu_count() or 1) + 1)))
    assert Others().cores() is None


@pytest.mark.parametrize(("taken", "share"), [(None, 0.0), (1.0, 0.0), (3.0, 0.25), (0.5, 0.0), (90.0, 1.0)])
def test_a_trial_is_disturbed_by_what_others_do_not_always_do(taken: float | None, share: float) -> None:
    assert disturbance(trial(taken), usual=1.0, cores=8) == share


def test_what_others_always_do_is_the_least_that_was_seen() -> None:
    assert usual_others([trial(2.0), trial(None), trial(0.5)]) == 0.5
    assert usual_others([trial(None)]) == 0.0


class _Times:
    def __init__(self, **seconds: float) -> None:
        self._seconds = {"user": 0.0, "system": 0.0, "idle": 0.0, "iowait": 0.0, "guest": 0.0} | seconds

    def _asdict(self) -> dict[str, float]:
        return self._seconds


def _times(**seconds: float) -> _Times:
    return _Times(**seconds)
