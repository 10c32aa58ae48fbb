#!/usr/bin/env python3
"""Measures how many faults the tests find: breaks the product in one place at a time, and runs the tests.

    .venv/bin/python scripts/mutation_sample.py                 # all faults, by the tests of `make test`
    .venv/bin/python scripts/mutation_sample.py --tier all      # by those of `make test-all`
    .venv/bin/python scripts/mutation_sample.py --only 3,17

The faults are listed in mutation_faults.py. They are applied to a copy of the tree, with an environment that shares the
packages of .venv. Tests related to the changed module run first; if none fails, the whole tier runs. A test finds the
fault only if it passes without it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter

from mutation_faults import FAULTS, Fault

ROOT = Path(__file__).resolve().parents[1]
TIERS = ("default", "all")
LIKELY_S = 300
TIER_S = 2400
TIMED_OUT = -1
PASSED = frozenset({0, 5})
"""Exit statuses of pytest: all tests passed; no tests were selected."""


@dataclass(frozen=True)
class Verdict:
    """`found_by`: a test, or "the time limit"; empty if no test failed."""

    number: int
    file: str
    effect: str
    found_by: str
    seconds: float


def main() -> int:
    options = _options()
    numbers = options.only or range(1, len(FAULTS) + 1)
    chosen = [(number, FAULTS[number - 1]) for number in numbers]
    check_places(chosen)
    verdicts = []
    with tempfile.TemporaryDirectory(prefix="inkgate-mutation-") as folder:
        tree = copy_tree(Path(folder) / "inkgate")
        for number, fault in chosen:
            verdicts.append(judge(tree, number, fault, options))
            print(_line(verdicts[-1]), flush=True)
    found = sum(bool(verdict.found_by) for verdict in verdicts)
    print(f"{found} of {len(verdicts)} found by the tier {options.tier}")
    if options.json:
        options.json.write_text(json.dumps([asdict(verdict) for verdict in verdicts], indent=1) + "\n")
    return 0 if found >= min(options.least, len(verdicts)) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tier", choices=TIERS, default="default", help="whose tests run (default: %(default)s)")
    parser.add_argument("--without", action="append", default=[], metavar="TEST", help="a test to leave out")
    parser.add_argument("--only", type=_numbers, help="numbers of faults, from 1: 3,17")
    parser.add_argument("--processes", default="auto", help="that run tests (default: %(default)s)")
    parser.add_argument("--likely", action="store_true", help="do not run the whole tier if the likely tests pass")
    parser.add_argument("--least", type=int, default=len(FAULTS), help="exit with 1 if fewer are found (default: all)")
    parser.add_argument("--json", type=Path, help="write the verdicts to this file")
    return parser.parse_args()


def _numbers(text: str) -> list[int]:
    numbers = [int(part) for part in text.split(",")]
    if not all(1 <= number <= len(FAULTS) for number in numbers):
        raise argparse.ArgumentTypeError(f"faults have numbers from 1 to {len(FAULTS)}")
    return numbers


def check_places(chosen: list[tuple[int, Fault]]) -> None:
    """Exits if the text of a fault does not occur exactly once in its file."""
    wrong = [
        f"fault {number}: {fault.file} has {count} times: {fault.old}"
        for number, fault in chosen
        if (count := _source(ROOT, fault).read_text(encoding="utf-8").count(fault.old)) != 1
    ]
    if wrong:
        sys.exit("mutation_faults.py does not fit the code any more:\n" + "\n".join(wrong))


def copy_tree(tree: Path) -> Path:
    """Copies the files that git tracks, and creates an environment that imports the copy. Returns `tree`."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
    for name in (".venv-vllm", ".setup"):
        if (ROOT / name).exists():
            (tree / name).symlink_to((ROOT / name).resolve())
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tree / ".venv"], check=True)
    packages = sysconfig.get_path("purelib")
    own = Path(sysconfig.get_path("purelib", vars={"base": str(tree / ".venv"), "platbase": str(tree / ".venv")}))
    lines = [*map(str, _sources(tree)), f"import site; site.addsitedir({packages!r})"]
    (own / "mutation.pth").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tree


def judge(tree: Path, number: int, fault: Fault, options: argparse.Namespace) -> Verdict:
    """Applies the fault, runs the tests, and reverts it."""
    began = perf_counter()
    source = _source(tree, fault)
    sound = source.read_text(encoding="utf-8")
    while True:
        try:
            source.write_text(sound.replace(fault.old, fault.new), encoding="utf-8")
            test = failing_test(tree, likely_tests(tree, fault.file), options, LIKELY_S)
            if not test and not options.likely:
                test = failing_test(tree, ["tests", "packages"], options, TIER_S)
        finally:
            source.write_text(sound, encoding="utf-8")
        if "::" not in test or not failing_test(tree, [test], options, LIKELY_S):
            return Verdict(number, fault.file, fault.effect, test, perf_counter() - began)
        print(f"     {test} fails without the fault, too: left out", flush=True)
        options.without.append(test)


def likely_tests(tree: Path, file: str) -> list[str]:
    """Test files that import a module, have its name, or import its importers; the most closely related first."""
    path = next(
        Path(file).relative_to(root) for root in _sources(Path()) if Path(file).is_relative_to(root)
    ).with_suffix("")
    name, folder = (path.parent.name, "") if path.name == "__init__" else (path.name, path.parent.name)
    direct = _imports_of({_module(path)})
    users = {
        _module(user.relative_to(root).with_suffix(""))
        for root in _sources(tree)
        for user in root.rglob("*.py")
        if direct.search(user.read_text(encoding="utf-8"))
    }
    indirect = _imports_of(users | {_module(path)})
    ranked = []
    for test in (*tree.glob("tests/*/test_*.py"), *tree.glob("packages/*/tests/**/test_*.py")):
        code = test.read_text(encoding="utf-8")
        related = indirect.search(code) is not None or (folder != "" and folder in test.stem)
        rank = 4 * bool(direct.search(code)) + 2 * (name in test.stem) + related
        if rank:
            ranked.append((-rank, str(test.relative_to(tree))))
    return [test for _, test in sorted(ranked)]


def _module(path: Path) -> str:
    return ".".join(path.parts).removesuffix(".__init__")


def _sources(tree: Path) -> list[Path]:
    """The folders from which modules are imported."""
    return [tree / "src", *(tree / each.relative_to(ROOT) for each in sorted(ROOT.glob("packages/*/src")))]


def _imports_of(modules: set[str]) -> re.Pattern[str]:
    return re.compile(rf"(?:from|import) (?:{'|'.join(map(re.escape, sorted(modules)))})\b")


def failing_test(tree: Path, tests: list[str], options: argparse.Namespace, limit_s: float) -> str:
    """The first failing test of the given files or tests; "the time limit"; empty if all pass."""
    if not tests:
        return ""
    selection = [f"--tier={options.tier}", "-x", "-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:randomly"]
    workers = [] if len(tests) == 1 and "::" in tests[0] else ["-n", options.processes, "--maxprocesses=8"]
    command = [
        tree / ".venv" / "bin" / "python",
        "-m",
        "pytest",
        *selection,
        *workers,
        *(f"--deselect={test}" for test in options.without),
        "--no-loadscope-reorder",
        *tests,
    ]
    status, said = _run(command, tree, limit_s)
    if status in PASSED:
        return ""
    if status == TIMED_OUT:
        return "the time limit"
    failed = re.search(r"^(?:FAILED|ERROR) (\S+?\.py(?:::\w+)*(?:\[.*?\])?)(?: - |$)", said, flags=re.MULTILINE)
    if failed is None:
        raise SystemExit(f"pytest ended with status {status}:\n{said[-3000:]}")
    return failed[1]


def _run(command: list[str | Path], tree: Path, limit_s: float) -> tuple[int, str]:
    """Exit status and output. All processes of the run have ended."""
    with (tree / "pytest.log").open("w+", encoding="utf-8") as log:
        process = subprocess.Popen(command, cwd=tree, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            status = TIMED_OUT
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        log.seek(0)
        return status, log.read()


def _source(tree: Path, fault: Fault) -> Path:
    return tree / fault.file


def _line(verdict: Verdict) -> str:
    found_by = verdict.found_by or "NOT FOUND"
    return f"{verdict.number:2} {verdict.file}: {verdict.effect}\n     {found_by} ({verdict.seconds:.0f} s)"


if __name__ == "__main__":
    sys.exit(main())
