"""The tables of what costs: each task, thread, process and queue of the service has a row."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from inkgate.cli.configure import setting_fields

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "scripts" / "docs_site")
    return import_module("cost_tables")


def test_whatever_runs_beside_requests_has_one_row(tables: ModuleType) -> None:
    made = [call for activity in tables.ACTIVITIES for call in activity.made]
    assert sorted(made) == sorted(set(tables.calls()))


def test_the_documentation_has_each_row(tables: ModuleType) -> None:
    page = (ROOT / "docs" / "concepts" / "overload.md").read_text(encoding="utf-8")
    assert "\n<!-- site: activities -->\n" in page
    text = tables.activities_markdown()
    assert [row.name for row in tables.ACTIVITIES if f"\n| {row.name} | {row.uses} |" not in text] == []


def test_the_settings_that_bound_an_activity_exist(tables: ModuleType) -> None:
    paths = [path for path, _ in setting_fields()]
    known = {".".join(path[:length]) for path in paths for length in range(1, len(path) + 1)}
    texts = [text for row in tables.ACTIVITIES for text in (row.bounded_by, row.begun_by)]
    named = {name for text in texts for name in re.findall(r"`([a-z_]+\.[a-z_.]+)`", text)}
    assert named - known == set()
