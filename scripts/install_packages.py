"""Runs pip and shows how far it is: which package, how many of them, and how many megabytes.

    python scripts/install_packages.py PIP_ARGUMENTS...

On a terminal it is one line that changes; otherwise a line every ten seconds. pip's own output is shown if it fails.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections import deque

SAYS_EVERY_S = 10.0
_DOWNLOADING = re.compile(r"^\s*Downloading (\S+?)-\d\S* \(([\d.]+) (kB|MB)\)")
_CACHED = re.compile(r"^\s*Using cached (\S+?)-\d\S* \(([\d.]+) (kB|MB)\)")
_MEGABYTES = {"kB": 0.001, "MB": 1.0}


class Progress:
    """What pip has said so far."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._said = self._begun
        self._packages = 0
        self._megabytes = 0.0

    def note(self, line: str) -> None:
        """Takes a line of pip."""
        if found := _DOWNLOADING.match(line) or _CACHED.match(line):
            self._packages += 1
            self._megabytes += float(found[2]) * _MEGABYTES[found[3]]
            self._show(f"package {self._packages}, {self._megabytes:.0f} MB: {found[1]}")
        elif line.startswith("Installing collected packages:"):
            self._show(f"installing {line.count(',') + 1} packages", always=True)

    def _show(self, text: str, *, always: bool = False) -> None:
        now = time.monotonic()
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[Ksetup: {text} ({now - self._begun:.0f} s)")
        elif always or now - self._said >= SAYS_EVERY_S:
            sys.stderr.write(f"setup: {text} ({now - self._begun:.0f} s)\n")
            self._said = now
        sys.stderr.flush()

    def end(self) -> None:
        """Removes the line on a terminal."""
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")


def main() -> int:
    """Returns pip's exit status."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--progress-bar", "off"]
    progress, last = Progress(), deque[str](maxlen=40)
    with subprocess.Popen(
        [*command, *sys.argv[1:]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as pip:
        for line in pip.stdout or ():
            last.append(line)
            progress.note(line)
    progress.end()
    if pip.returncode:
        sys.stderr.writelines(last)
    return pip.returncode


if __name__ == "__main__":
    sys.exit(main())
