"""docs/reference/settings.md lists every setting as it is, and its examples work."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from inkgate.cli.configure import setting_fields, variable
from inkgate.settings import load_settings

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")


def test_every_setting_is_listed_under_its_branch_with_its_variables() -> None:
    sections = dict(re.findall(r"^## `\[([\w.]+)\]`\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
    missing = []
    for path, _ in setting_fields():
        if len(path) == 1:  # tables by name, such as pipelines
            assert f"\n## `[{path[0]}.NAME]`" in PAGE
            continue
        section = sections.get(".".join(path[:-1]), "")
        rows = re.findall(rf"^- `{path[-1]}` \(.*\): .", section, re.MULTILINE)
        prefix = variable(path).removesuffix(path[-1].upper())
        if len(rows) != 1 or f"Variables: `{prefix}...`" not in section:
            missing.append(".".join(path))
    assert missing == []


def test_every_setting_says_what_it_is_for() -> None:
    assert [path for path, field in setting_fields() if not field.description] == []


def test_the_example_file_loads_and_the_example_variables_say_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    file = tmp_path / "inkgate.toml"
    file.write_text(example, encoding="utf-8")
    assert tomllib.loads(example)["limits"]["max_body_mb"] == 100
    (variables,) = re.findall(r"```ini\n(.*?)```", PAGE, re.DOTALL)
    from_file = load_settings(file)
    for line in variables.splitlines():
        name, _, value = line.partition("=")
        monkeypatch.setenv(name, value.strip("'"))  # the environment is the interface under test
    assert load_settings().model_dump() == from_file.model_dump()
