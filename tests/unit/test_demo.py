"""`inkgate demo` without a service: its folder, its settings and its words."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from inkgate.cli.demo.changes import TextChange, changes
from inkgate.cli.demo.command import demo
from inkgate.cli.demo.folder import MARK, DemoFolder, claimed, sample_bytes, sample_files
from inkgate.cli.demo.index import PageIndex
from inkgate.cli.demo.reasons import reasons
from inkgate.cli.demo.service import DemoRun, jobs_settings, toml_text, write_settings
from inkgate.documents.sniff import sniff
from inkgate_client.extracted import parse_answer
from inkgate_client.formats import Format, render
from inkgate_client.types import DocumentResult, PageResult

_MAX_BYTES = 1_500_000


def test_the_samples_are_documents_and_small() -> None:
    names = {kind: sample_files(kind) for kind in ("receipts", "contracts", "archive")}
    assert all(len(each) >= 3 for each in names.values())
    for kind, samples in names.items():
        for name in samples:
            sniff(sample_bytes(kind, name))
    everything = [path for path in Path(str(files("inkgate.cli.demo") / "samples")).rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in everything) < _MAX_BYTES


def test_what_others_wrote_is_neither_changed_nor_joined(tmp_path: Path) -> None:
    (tmp_path / "receipts").mkdir()
    (tmp_path / "receipts" / "mine.txt").write_text("mine")
    with pytest.raises(typer.Exit) as refused, claimed(tmp_path, "receipts"):
        pass
    assert refused.value.exit_code == 2
    assert [path.name for path in (tmp_path / "receipts").iterdir()] == ["mine.txt"]
    (tmp_path / "file").write_text("")
    with pytest.raises(typer.Exit), claimed(tmp_path, "file"):
        pass


def test_a_folder_is_used_again_by_one_demo_at_a_time_and_changed_samples_stay(tmp_path: Path) -> None:
    with claimed(tmp_path, "receipts") as folder:
        copies = folder.copy_samples("receipts")
        copies[0].write_bytes(b"changed")
        with pytest.raises(typer.Exit), claimed(tmp_path, "receipts"):
            pass
    with claimed(tmp_path, "receipts") as folder:
        assert folder.copy_samples("receipts")[0].read_bytes() == b"changed"
    assert "rm -r" in (tmp_path / "receipts" / MARK).read_text()


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in-the-way").write_text("")
    with pytest.raises(typer.Exit) as ended, claimed(tmp_path / "in-the-way", "receipts"):
        pass
    assert (ended.value.exit_code, "--into" in capsys.readouterr().err) == (1, True)


@pytest.mark.parametrize("name", ["plain", 'a "quoted" folder', "back\\slash", "line\nbreak", "文件夹"])
def test_the_settings_file_is_valid_in_any_folder(tmp_path: Path, name: str) -> None:
    assert tomllib.loads(f"folder = {toml_text(name)}") == {"folder": name}
    folder = DemoFolder(tmp_path / name, name)
    written = tomllib.loads(jobs_settings(folder))
    assert written["jobs"]["folder"] == str(tmp_path / name / "jobs")


def test_the_environment_chooses_the_engine_but_no_address_key_or_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "INKGATE_SERVER__HOST": "192.0.2.1",
        "INKGATE_SERVER__PORT": "7860",
        "INKGATE_AUTH__KEY_HASHES": f'["{"a" * 64}"]',
        "INKGATE_JOBS__DATABASE": "postgresql://production/jobs",
        "INKGATE_JOBS__UPLOADS": "s3://production/",
        "INKGATE_INTAKE": '{"live": {"kind": "kafka", "address": "production:9092", "topic": "scans"}}',
        "INKGATE_PIPELINES": '{"live": {"sources": ["s3://production/"]}}',
        "INKGATE_ENGINE__NAME": "hunyuanocr",
    }.items():
        monkeypatch.setenv(name, value)
    with claimed(tmp_path, "demo") as folder:
        settings = write_settings(DemoRun(folder, 0, once=True), jobs_settings(folder))
    assert (settings.server.host, settings.server.port, settings.auth.key_hashes) == ("127.0.0.1", 0, ())
    assert (settings.jobs.database.get_secret_value(), settings.jobs.uploads) == ("", "")
    assert (settings.intake, settings.pipelines, settings.sinks) == ({}, {}, {})
    assert settings.engine.name == "hunyuanocr"


def a_field(status: str, text: str | None = "3", alternatives: Sequence[str] = ()) -> dict[str, object]:
    value: dict[str, object] = {
        "value": text,
        "text": text,
        "confidence": 0.743,
        "origin": "rules",
        "sources": [],
        "checks": [],
    }
    return {"status": status, "kind": "text", "alternatives": alternatives, **value}


def reasons_of(path: str, field: dict[str, object], *checks: dict[str, object]) -> list[str]:
    about = {"document_type": "receipt", "status": "needs_review", "data": {}, "notes": []}
    return reasons(parse_answer(json.dumps({**about, "checks": checks, "fields": {path: field}}).encode()))


def test_reasons_to_look_at_a_document_are_said_in_words() -> None:
    check = {"code": "subtotal_plus_tax", "passed": False, "fields": [], "detail": "1 + 1 and 3"}
    wrong = "subtotal and tax don't make the total (1 + 1 and 3)"
    assert reasons_of("/total", a_field("invalid"), check) == [wrong]
    assert reasons_of("/items/3/unit_price", a_field("uncertain")) == ["unit price of item 4 is 74% certain"]
    assert reasons_of("/date", a_field("uncertain", "a", ["b"])) == ["date may be a or b"]
    assert reasons_of("/total", a_field("not_found", None)) == ["no field was found: probably no receipt"]


def test_changed_words_are_found_whatever_the_lines_and_pages() -> None:
    draft = "<!-- page 1 -->\n\n# Lease\n\nThe tenant bears repairs of up to one hundred euros each,\nand pays on time."
    signed = (
        "# Lease\n\nThe tenant bears repairs\n\n<!-- page 2 -->\n\nof up to four hundred euros each and pays on time"
    )
    assert changes(draft, signed) == [TextChange("repairs of up to", "one", "four", "hundred euros each, and")]
    assert changes(draft, draft.replace("on time", "")) == [TextChange("euros each, and pays", "on time.", "", "")]
    assert changes("EUR 1,450.00.", "EUR 1,540.00") == [TextChange("EUR", "1,450.00.", "1,540.00", "")]


def keep_result(folder: Path, name: str, *pages: str) -> Path:
    read = tuple(PageResult(at, text=text) for at, text in enumerate(pages))
    path = folder / f"{name}.json"
    path.write_bytes(render(DocumentResult(name, "image/png", 1, len(pages), "test", read), Format.JSON))
    return path


def hits(index: PageIndex, words: str) -> list[tuple[str, int, str]]:
    return [(hit.document, hit.page, hit.text) for hit in index.search(words)]


def test_words_are_found_on_their_pages_in_any_script(tmp_path: Path) -> None:
    index = PageIndex(tmp_path / "index.db")
    keep_result(tmp_path, "lease.pdf", "The notice period\nis three months.", "Café lamps")
    keep_result(tmp_path, "zh.png", "月租金：4,200.00 元\n押金：8,400.00 元")
    (tmp_path / "a.fields.json").write_text("{}")
    (tmp_path / "other.json").write_text("[1]")
    index.update(tmp_path)
    assert hits(index, "NOTICE period") == [("lease.pdf", 1, "The [notice] [period] is three months.")]
    assert hits(index, "cafe lamp") == [("lease.pdf", 2, "[Café] [lamps]")]
    assert [(name, page) for name, page, _ in hits(index, "押金")] == [("zh.png", 1)]
    assert "[押金]" in hits(index, "押金")[0][2]
    assert "月租金：" in hits(index, "租金")[0][2].replace("[", "").replace("]", "")
    assert hits(index, "金押") == []
    assert [each.name for each in index.documents()] == ["lease.pdf", "zh.png"]


@pytest.mark.parametrize("words", ["", '"', 'a" OR "b', "text:lamp*", "NOT", "( - ^", "x" * 5000, "\0"])
def test_no_words_are_a_query_language(tmp_path: Path, words: str) -> None:
    index = PageIndex(tmp_path / "index.db")
    keep_result(tmp_path, "b.png", "b")
    index.update(tmp_path)
    assert index.search(words) == []


def test_results_that_change_or_go_are_followed(tmp_path: Path) -> None:
    index = PageIndex(tmp_path / "index.db")
    path = keep_result(tmp_path, "a.png", "first")
    index.update(tmp_path)
    keep_result(tmp_path, "a.png", "second")
    os.utime(path, ns=(1, 1))
    index.update(tmp_path)
    assert (len(hits(index, "first")), len(hits(index, "second"))) == (0, 1)
    path.unlink()
    index.update(tmp_path)
    assert (index.documents(), hits(index, "second")) == ([], [])


def test_a_search_without_an_archive_says_what_makes_one(tmp_path: Path) -> None:
    ended = CliRunner().invoke(demo, ["search", "lamp", "--into", str(tmp_path)])
    assert (ended.exit_code, "inkgate demo archive" in ended.stderr) == (2, True)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "archive" / "read").mkdir(parents=True)  # of somebody else
    assert CliRunner().invoke(demo, ["search", "lamp", "--into", str(tmp_path)]).exit_code == 2
    assert [path.name for path in (tmp_path / "archive").iterdir()] == ["read"]
