"""Other programs on the machine during a trial."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from inkgate.bench.tune.other_load import OtherLoad


def everything() -> list[int]:
    return list(range(os.cpu_count() or 1))


def test_what_this_process_and_its_children_do_is_not_theirs() -> None:
    """On a machine three of whose cores are busy all the time, one of them, or a part of it, with our child."""
    began = time.perf_counter()
    seen = OtherLoad(lambda: _Times(3 * (time.perf_counter() - began)), everything)
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
    assert OtherLoad(usable=lambda: everything()[1:]).cores() is None
    assert OtherLoad(usable=everything).cores() is not None


class _Times:
    """As psutil has them; a guest's time is in the user's, too."""

    def __init__(self, busy: float) -> None:
        self._busy = busy

    def _asdict(self) -> dict[str, float]:
        return {"user": self._busy, "system": 0.0, "idle": 7 * self._busy, "iowait": 1.0, "guest": self._busy}
