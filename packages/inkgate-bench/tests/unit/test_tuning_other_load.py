"""Other programs on the machine during a trial."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from inkgate_bench.tune.measures import OtherLoad

BUSY = "import sys, time\nwhile time.process_time() < 0.5: pass\nprint('done', flush=True)\nsys.stdin.read()"
"""Takes half a second of processor time, and waits for its end."""


def everything() -> list[int]:
    return list(range(os.cpu_count() or 1))


def test_what_this_process_and_its_children_do_is_not_theirs() -> None:
    """Of 100 s of processor time that the machine reports, those of a busy child are not others'."""
    reported = iter((_Times(0.0), _Times(100.0)))
    load = OtherLoad(lambda: next(reported), everything)
    began = time.perf_counter()
    with subprocess.Popen([sys.executable, "-c", BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline()
        longest_s = time.perf_counter() - began
        cores = load.cores()
    assert cores is not None
    assert cores < (100 - 0.5) / longest_s


def test_nothing_is_known_where_a_part_of_the_machine_is_ours() -> None:
    assert OtherLoad(usable=lambda: everything()[1:]).cores() is None
    assert OtherLoad(usable=everything).cores() is not None


class _Times:
    """As psutil has them; a guest's time is in the user's, too."""

    def __init__(self, busy: float) -> None:
        self._busy = busy

    def _asdict(self) -> dict[str, float]:
        return {"user": self._busy, "system": 0.0, "idle": 7 * self._busy, "iowait": 1.0, "guest": self._busy}
