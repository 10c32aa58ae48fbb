"""A process's own wall clock, which the test can set; its monotonic clock is not changed (libfaketime)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

LIBRARIES = Path("/usr/lib")


class WallClock:
    """The wall clock of processes started with `variables`."""

    def __init__(self, library: Path, folder: Path) -> None:
        self._place = folder / "wall_clock"
        self.set(0)
        self.variables: Mapping[str, str] = MappingProxyType(
            {
                "LD_PRELOAD": str(library),
                "FAKETIME_TIMESTAMP_FILE": str(self._place),
                "FAKETIME_NO_CACHE": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                # Otherwise it mistakes the end of a wait on the monotonic clock for one on the wall clock, which is
                # long past: threads that wait for the interpreter's lock spin, and the server takes seven times the
                # CPU.
                "FAKETIME_FORCE_MONOTONIC_FIX": "0",
                "NO_FAKE_STAT": "1",
            }
        )

    def set(self, hours: int) -> None:
        """Puts it this many hours from the real time."""
        part = self._place.with_suffix(".part")
        part.write_text(f"{hours:+}h\n", encoding="ascii")
        part.replace(self._place)


def wall_clock_in(folder: Path) -> WallClock:
    """Skips the test without libfaketime, unless INKGATE_REQUIRE_ALL is set."""
    found = sorted(LIBRARIES.glob("*/faketime/libfaketimeMT.so.1"))
    if not found and os.environ.get("INKGATE_REQUIRE_ALL") == "1":
        pytest.fail("libfaketime is not installed")
    if not found:
        pytest.skip("libfaketime is not installed")
    return WallClock(found[0], folder)
