"""The check that every line of an evaluation is in the Markdown."""

import json
from pathlib import Path

import pytest

from benchmarks.structure import kept_lines


def report(tmp_path: Path, *, lines: int = 7, lost: list[str], doubled: list[str]) -> str:
    fine = {"path": "fine.png", "lost": [], "doubled": []}
    odd = {"path": "odd.pdf", "lost": lost, "doubled": doubled}
    candidate = {"files": [fine], "line_accounts": {"lines": lines}}
    file = tmp_path / "report.json"
    file.write_text(json.dumps({"candidates": [candidate], "unscored": [odd]}), encoding="utf-8")
    return str(file)


@pytest.mark.parametrize(
    ("lines", "lost", "doubled", "status"), [(7, [], [], 0), (7, ["a"], [], 1), (7, [], ["b", "c"], 1), (0, [], [], 1)]
)
def test_a_lost_or_doubled_line_fails(
    *,
    lines: int,
    lost: list[str],
    doubled: list[str],
    status: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.argv", ["kept_lines", report(tmp_path, lines=lines, lost=lost, doubled=doubled)])
    assert kept_lines.main() == status
    output = capsys.readouterr().out
    assert f"Of {lines} lines, {len(lost)} lost and {len(doubled)} doubled." in output
    assert ("odd.pdf" in output) == bool(lost or doubled)
