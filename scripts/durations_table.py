#!/usr/bin/env python3
"""Prints Markdown tables of test durations: by folder, and the slowest 25.

make test-all ARGS=--durations=0 | tee tests.log
.venv/bin/python scripts/durations_table.py tests.log
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

DURATION = re.compile(r"^(\d+\.\d+)s (?:call|setup|teardown) +((tests/\w+)/\S.*)$")
SLOWEST = 25


def main() -> None:
    tests: Counter[str] = Counter()
    folders: Counter[str] = Counter()
    for path in sys.argv[1:]:
        for line in Path(path).read_text(encoding="utf-8", errors="replace").splitlines():
            if found := DURATION.match(line):
                seconds, test, folder = float(found[1]), found[2], found[3]
                tests[test] += seconds
                folders[folder] += seconds
    print("| Folder | Seconds |\n| --- | ---: |")
    for folder, seconds in folders.most_common():
        print(f"| {folder} | {seconds:.0f} |")
    print(f"\n| The slowest {SLOWEST} | Seconds |\n| --- | ---: |")
    for test, seconds in tests.most_common(SLOWEST):
        print(f"| `{test.removeprefix('tests/')}` | {seconds:.1f} |".replace("::", "` `", 1))


if __name__ == "__main__":
    main()
