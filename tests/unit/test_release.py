"""The release workflow and the script that checks a release, as far as they can be tried without a forge."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / ".github/workflows/release.yml").read_text("utf-8")
WORKFLOW: dict[str, Any] = yaml.safe_load(TEXT)
JOBS: dict[str, dict[str, Any]] = WORKFLOW["jobs"]
STEPS = [(name, step) for name, job in JOBS.items() for step in job["steps"]]
PROJECTS = (ROOT / "pyproject.toml", *sorted(ROOT.glob("packages/*/pyproject.toml")))


def released(folder: Path, version: str = "1.2.3") -> Path:
    """A copy of the files that have a version, as they are before the release of `version`."""
    chart = ROOT / "deploy/helm/inkgate/Chart.yaml"
    inits = [ROOT / "src/inkgate/__init__.py", ROOT / "packages/inkgate-client/src/inkgate_client/__init__.py"]
    for file in (ROOT / "CHANGELOG.md", ROOT / "scripts/check_release.py", chart, *inits, *PROJECTS):
        copy = folder / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
        text = copy.read_text("utf-8")
        if file.name == "CHANGELOG.md":
            text = f"# Changelog\n\n## {version} (2027-01-31)\n\nIt is faster.\n\n## 0.0.9 (2026-01-31)\n\nOld.\n"
        elif file.suffix != ".py" or file in inits:
            current = re.search(r'__version__ = "(.+)"', inits[0].read_text("utf-8"))
            assert current is not None
            text = text.replace(current[1], version)
        copy.write_text(text, "utf-8")
    return folder


def check(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / "scripts/check_release.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_release_is_ready_if_all_versions_are_those_of_the_tag(tmp_path: Path) -> None:
    root = released(tmp_path)
    assert check(root, "v1.2.3").returncode == 0
    assert check(root, "v1.2.3", "--notes").stdout == "It is faster.\n"
    assert check(root, "v1.2.3", "--image-tags").stdout.split() == ["1.2.3", "1.2", "1", "latest"]
    wrong = check(root, "v1.2.4")
    assert (wrong.returncode, wrong.stdout) == (1, "")
    names = {tomllib.loads(file.read_text("utf-8"))["project"]["name"] for file in PROJECTS}
    assert [name for name in names if f"{name}: 1.2.3, not 1.2.4." not in wrong.stderr] == []
    assert "inkgate-client, of which inkgate needs: 1.2.3, not 1.2.4." in wrong.stderr
    assert "the chart's image: 1.2.3, not 1.2.4." in wrong.stderr
    assert "CHANGELOG.md has no text below" in wrong.stderr
    assert "not a tag" in check(root, "1.2.3").stderr


def test_a_package_that_takes_any_version_of_inkgate_is_no_release(tmp_path: Path) -> None:
    root = released(tmp_path)
    bench = root / "packages/inkgate-bench/pyproject.toml"
    bench.write_text(bench.read_text("utf-8").replace('"inkgate==1.2.3"', '"inkgate"'), "utf-8")
    assert "inkgate, of which inkgate-bench needs: any, not 1.2.3." in check(root, "v1.2.3").stderr


@pytest.mark.parametrize(("version", "tags"), [("0.4.0", ["0.4.0", "0.4", "latest"]), ("2.0.0rc1", ["2.0.0rc1"])])
def test_only_a_final_version_moves_tags_of_the_image(tmp_path: Path, version: str, tags: list[str]) -> None:
    assert check(released(tmp_path, version), f"v{version}", "--image-tags").stdout.split() == tags


def test_actions_are_pinned_by_commit_and_leave_no_token_behind() -> None:
    used = re.findall(r"uses: (\S+)(.*)", TEXT)
    assert used
    assert [each for each in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", each[0])] == []
    assert [each for each in used if not re.fullmatch(r" # v\d+\.\d+\.\d+", each[1])] == []
    versions: dict[str, set[str]] = {}
    for action, version in used:
        versions.setdefault(action.partition("@")[0], set()).add(action + version)
    assert {name: found for name, found in versions.items() if len(found) > 1} == {}
    checkouts = [step for _, step in STEPS if step.get("uses", "").startswith("actions/checkout@")]
    assert [step for step in checkouts if step["with"].get("persist-credentials") is not False] == []


def test_jobs_have_few_permissions_and_publish_only_tags() -> None:
    assert WORKFLOW["permissions"] == {}
    may = {name: {right for right, how in job["permissions"].items() if how == "write"} for name, job in JOBS.items()}
    assert may == {
        "wheels": set(),
        "install": set(),
        "image": {"packages"},
        "publish-image": {"packages", "id-token", "attestations"},
        "pypi": {"id-token"},
        "release": {"contents", "id-token", "attestations"},
    }
    on_tag = "github.event_name == 'push'"  # a tag can also be chosen where the workflow is started by hand
    started = yaml.safe_load(TEXT)[True]  # YAML 1.1 reads `on` as true
    assert started == {"push": {"tags": ["v*"]}, "workflow_dispatch": None}
    assert {name for name, job in JOBS.items() if job.get("if") == on_tag} == {"publish-image", "pypi", "release"}
    pushing = [step for name, step in STEPS if name == "image" and "docker login" in step.get("run", "")]
    assert [step["if"] for step in pushing] == [on_tag]
    needed: dict[str, set[str]] = {
        name: {*([job.get("needs", [])] if isinstance(job.get("needs"), str) else job.get("needs", []))}
        for name, job in JOBS.items()
    }
    assert {"install", "image"} <= needed["pypi"] & needed["publish-image"]


def test_each_package_has_a_job_and_the_image_both_architectures() -> None:
    names = {tomllib.loads(file.read_text("utf-8"))["project"]["name"].replace("-", "_") for file in PROJECTS}
    assert set(JOBS["pypi"]["strategy"]["matrix"]["package"]) == names
    assert {each["arch"] for each in JOBS["image"]["strategy"]["matrix"]["include"]} == {"amd64", "arm64"}


def run_step(name: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a shell step as the forge does, with this Python and the command line of the tests first in the path."""
    (script,) = [step["run"] for _, step in STEPS if step.get("name") == name]
    tools = folder / "tools"
    tools.mkdir()
    for command, body in {"python": '"$@"', "inkgate": '-m inkgate "$@"'}.items():
        (tools / command).write_text(f'#!/bin/sh\nexec "{sys.executable}" {body}\n')
        (tools / command).chmod(0o755)
    path = os.pathsep.join([str(ROOT / "tests/support/other_system"), *sys.path])
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": path, "OTHER_SYSTEM": "Windows"}
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    (folder / "examples").symlink_to(ROOT / "examples")
    return subprocess.run(shell, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_the_step_for_windows_passes_where_its_calls_are_missing(tmp_path: Path) -> None:
    done = run_step("Use a service", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "This system can't read documents itself" in done.stdout


def test_shell_steps_parse_take_no_expressions_and_name_what_is_there() -> None:
    scripts = [step["run"] for _, step in STEPS if "run" in step]
    for script in scripts:
        assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0, script
    assert [script for script in scripts if "${{" in script] == []  # whoever names a branch would write the script
    targets = set(re.findall(r"(?m)^([a-z-]+):.*##", (ROOT / "Makefile").read_text("utf-8")))
    named = [name for script in scripts for line in re.findall(r"(?m)^make (.+)$", script) for name in line.split()]
    assert named
    assert set(named) <= targets
    files = {file for script in scripts for file in re.findall(r"\b(?:scripts|deploy|examples)/[\w./-]+", script)}
    assert [file for file in files if not (ROOT / file).exists()] == []
