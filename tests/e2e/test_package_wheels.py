"""The wheels of packages/ beside that of inkgate: each works in an environment without the repository."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from inkgate_bench.reports.files import write_report
from support.sample_reports import load_report
from support.server import clean_environment

ROOT = Path(__file__).parents[2]
PROJECTS = (ROOT, *sorted(file.parent for file in ROOT.glob("packages/*/pyproject.toml")))

pytestmark = pytest.mark.real

Inkgate = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """The wheel of each project, by the name of its folder; that of inkgate is `inkgate`."""
    built: dict[str, Path] = {}
    for project in PROJECTS:
        name = "inkgate" if project == ROOT else project.name
        folder = tmp_path_factory.mktemp(name)
        command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
        subprocess.run(command, cwd=project, check=True, capture_output=True, timeout=120)
        (built[name],) = folder.glob("*.whl")
    return built


def installed(folder: Path, wheels: Mapping[str, Path], *names: str) -> Inkgate:
    """`inkgate` in a new environment: the packages with these names, and what this environment has from others."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=60)
    (packages,) = folder.glob("lib/python3*/site-packages")
    (here,) = Path(sys.prefix).glob("lib/python3*/site-packages")
    for entry in here.iterdir():
        if "inkgate" not in entry.name:
            (packages / entry.name).symlink_to(entry)
    for name in ("inkgate-client", "inkgate", *names):
        with zipfile.ZipFile(wheels[name]) as archive:
            archive.extractall(packages)

    def inkgate(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(folder / "bin" / "python"), "-m", "inkgate", *arguments]
        return subprocess.run(
            command,
            cwd=folder,
            env=clean_environment(PYTHONPATH=""),
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    return inkgate


def test_no_file_is_in_two_wheels(wheels: Mapping[str, Path]) -> None:
    owners: dict[str, list[str]] = {}
    for name, wheel in wheels.items():
        with zipfile.ZipFile(wheel) as archive:
            for file in archive.namelist():
                owners.setdefault(file, []).append(name)
    assert {file: names for file, names in owners.items() if len(names) > 1} == {}


def test_inkgate_alone_says_which_package_has_a_command(wheels: Mapping[str, Path], tmp_path: Path) -> None:
    inkgate = installed(tmp_path / "environment", wheels)
    ended = inkgate("loadtest", "http://127.0.0.1:1", "--clients", "1")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "needs the package inkgate-bench" in ended.stderr
    assert "Not installed" in inkgate("--help").stdout


def test_inkgate_bench_brings_its_commands_and_the_templates_of_reports(
    wheels: Mapping[str, Path], tmp_path: Path
) -> None:
    inkgate = installed(tmp_path / "environment", wheels, "inkgate-bench")
    write_report(load_report(levels=(1, 4, 8, 16), seconds=5), tmp_path / "run.json")
    ended = inkgate("report", os.fspath(tmp_path / "run.json"))
    assert ended.returncode == 0, ended.stderr
    assert "data:image/svg+xml" in (tmp_path / "run.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "says"), [("feishu", "INKGATE_FEISHU_APP_ID"), ("notion", "NOTION_TOKEN")])
def test_an_integration_brings_its_command(wheels: Mapping[str, Path], tmp_path: Path, name: str, says: str) -> None:
    inkgate = installed(tmp_path / "environment", wheels, f"inkgate-{name}")
    arguments = [name, "0123456789abcdef0123456789abcdef", "page.png"] if name == "notion" else [name]
    ended = inkgate(*arguments)
    assert (ended.returncode, says in ended.stderr) == (2, True), ended.stderr


def test_inkgate_papers_brings_document_types(wheels: Mapping[str, Path], tmp_path: Path) -> None:
    alone = installed(tmp_path / "alone", wheels)("types", "passport")
    assert (alone.returncode, "The package inkgate-papers has more." in alone.stderr) == (2, True), alone.stderr
    both = installed(tmp_path / "both", wheels, "inkgate-papers")
    for name, has in (("contract", '"x-prose": true'), ("passport", '"mrz_check_digits"')):
        ended = both("types", name)
        assert (ended.returncode, has in ended.stdout) == (0, True), ended.stderr
