"""`inkgate eval` as it is called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from inkgate_bench.commands.eval import evaluate
from support.evaluation import draw, write_manifest

app = typer.Typer()
app.command()(evaluate)
runner = CliRunner()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gone.json"], "gone.json"),
        (["manifest.json", "--filter", "nowhere"], "lists no document"),
        (["manifest.json", "--against", "abbyy"], "compare with one of rapidocr, rapidocr-openvino"),
        (["manifest.json", "--engine", "none"], "Unknown engine 'none'"),
        (["manifest.json", "--config", "gone.toml"], "There is no settings file gone.toml"),
        (["broken.json"], "a.tests.jsonl is not of the form"),
        (["manifest.json", "--limit", "0"], "--limit"),
        (["manifest.json", "--pdf-text", "maybe"], "--pdf-text"),
    ],
)
def test_misuse_is_told_with_status_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    write_manifest(tmp_path, {"path": "a.png", "text": "a"})
    (tmp_path / "a.tests.jsonl").write_text("{}", encoding="utf-8")
    broken = [{"path": "a.png", "ground_truth": {"tests.jsonl": "a.tests.jsonl"}}]
    (tmp_path / "broken.json").write_text(json.dumps(broken), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    result = runner.invoke(app, arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_documents_are_measured_with_the_real_engine(tmp_path: Path) -> None:
    lines = ("Invoice number 4711", "Grand total 12.50")
    draw(tmp_path / "a/page.png", *lines)
    manifest = write_manifest(
        tmp_path,
        {"path": "a/page.png", "language": "en", "kind": "drawn", "text": "\n".join(lines)},
        {"path": "a/broken.png", "pillow": {"opens": False}},
    )
    figures = tmp_path / "out" / "figures.json"
    result = runner.invoke(app, [str(manifest), "--json", str(figures)])
    assert result.exit_code == 0, result.output
    assert "1 of 1 documents without ground truth behaved as the manifest says." in result.stdout
    (ppocr,) = json.loads(figures.read_text(encoding="utf-8"))["candidates"]
    assert ppocr["name"] == "ppocr"
    assert ppocr["all"]["cer"] < 0.1
    assert ppocr["all"]["f1"] > 0.8
    assert ppocr["pages_per_s"] > 0
