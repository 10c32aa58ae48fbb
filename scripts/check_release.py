#!/usr/bin/env python3
"""Checks that the repository is ready for the release that a tag names: scripts/check_release.py v1.2.3

All packages, what they need of each other, the Helm chart and CHANGELOG.md must have this version. With --notes it
prints the release's part of CHANGELOG.md, with --image-tags the tags of the container image. Needs no packages.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
TAG = re.compile(r"v(\d+)\.(\d+)\.(\d+)((?:a|b|rc)\d+)?")


def versions(root: Path) -> dict[str, str]:
    """Where a version stands, and which."""
    found: dict[str, str] = {}
    for file in (root / "pyproject.toml", *sorted(root.glob("packages/*/pyproject.toml"))):
        project = tomllib.loads(file.read_text("utf-8"))
        place = (file.parent / project["tool"]["hatch"]["version"]["path"]).resolve()
        found[project["project"]["name"]] = _first(r'__version__ = "(.+)"', place)
        for needed in project["project"]["dependencies"]:
            if needed.startswith("inkgate"):
                name, _, version = needed.partition("==")
                found[f"{name}, of which {project['project']['name']} needs"] = version or "any"
    chart = root / "deploy/helm/inkgate/Chart.yaml"
    found["the chart"] = _first(r"(?m)^version: (.+)$", chart)
    found["the chart's image"] = _first(r'(?m)^appVersion: "(.+)"$', chart)
    return found


def notes(root: Path, version: str) -> str:
    """The part of CHANGELOG.md about a version; empty if it has none, or is not released by a date."""
    text = (root / "CHANGELOG.md").read_text("utf-8")
    part = re.search(rf"(?ms)^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$(.*?)(?=^## |\Z)", text)
    return part[1].strip() if part else ""


def image_tags(tag: str) -> list[str]:
    """The version; for a final version also those that move with later ones: `1.2`, `1` from 1.0.0 on, and `latest`."""
    part = TAG.fullmatch(tag)
    if part is None:
        return []
    major, minor, patch, before = part.groups()
    version = f"{major}.{minor}.{patch}"
    if before:
        return [version + before]
    return [version, f"{major}.{minor}", *([major] if int(major) else []), "latest"]


def problems(root: Path, tag: str) -> list[str]:
    """Why the repository can't be released by this tag."""
    if TAG.fullmatch(tag) is None:
        return [f"{tag!r} is not a tag of a release. It has the form v1.2.3, or v1.2.3rc1."]
    wanted = tag.removeprefix("v")
    wrong = [f"{place}: {version}, not {wanted}." for place, version in versions(root).items() if version != wanted]
    if not notes(root, wanted):
        wrong.append(f"CHANGELOG.md has no text below `## {wanted} (YEAR-MONTH-DAY)`.")
    return wrong


def _first(pattern: str, file: Path) -> str:
    found = re.search(pattern, file.read_text("utf-8"))
    return found[1] if found else "none"


def main() -> int:
    """Checks, and prints what is asked for."""
    tag, *options = sys.argv[1:]
    if wrong := problems(ROOT, tag):
        print(*wrong, sep="\n", file=sys.stderr)
        return 1
    if options == ["--notes"]:
        print(notes(ROOT, tag.removeprefix("v")))
    elif options == ["--image-tags"]:
        print(*image_tags(tag), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
