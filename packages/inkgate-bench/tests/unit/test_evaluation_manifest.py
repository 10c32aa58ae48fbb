"""Manifests: valid ones, and the errors of broken ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inkgate_bench.accuracy.manifest import ManifestInvalid, load_lines, load_manifest, load_tests, load_text, select
from support.evaluation import write_manifest

SQUARE = [[0, 0], [1, 0], [1, 1], [0, 1]]


def test_entries_know_their_ground_truth(tmp_path: Path) -> None:
    manifest = write_manifest(
        tmp_path,
        {"path": "a/one.png", "language": "en", "kind": "page", "text": "hi", "lines": [{"text": "hi", "box": SQUARE}]},
        {"path": "b/two.pdf", "tests": [{"id": "1", "type": "present", "text": "x"}]},
        {"path": "b/bad.png", "pillow": {"opens": False}},
        {"path": "b/bad.pdf", "pdf": {"opens": False}},
    )
    one, two, bad_png, bad_pdf = load_manifest(manifest)
    assert (one.folder, one.language, one.kind, one.scored, one.opens) == ("a", "en", "page", True, True)
    assert one.text is not None
    assert load_text(one.text) == "hi"
    assert one.lines is not None
    assert load_lines(one.lines)[0].quad == ((0, 0), (1, 0), (1, 1), (0, 1))
    assert (two.language, two.kind, two.text, two.scored) == ("-", "-", None, True)
    assert two.tests is not None
    assert load_tests(two.tests)[0]["id"] == "1"
    assert [(entry.scored, entry.opens) for entry in (bad_png, bad_pdf)] == [(False, False), (False, False)]


def test_unit_tests_beside_a_pdf_are_found_unnamed(tmp_path: Path) -> None:
    manifest = write_manifest(tmp_path, {"path": "one.pdf"}, {"path": "two.png"})
    for name in ("one", "two"):
        (tmp_path / f"{name}.tests.jsonl").write_text('{"type": "absent", "text": "x"}\n\n', encoding="utf-8")
    one, two = load_manifest(manifest)
    assert one.tests == tmp_path / "one.tests.jsonl"
    assert two.tests is None


def test_selection_by_folder_and_number(tmp_path: Path) -> None:
    manifest = write_manifest(tmp_path, *({"path": path} for path in ("a/1", "a/b/2", "ab/3", "a/4")))
    entries = load_manifest(manifest)
    assert [entry.path for entry in select(entries, "a/")] == ["a/1", "a/b/2", "a/4"]
    assert [entry.path for entry in select(entries, "a", 2)] == ["a/1", "a/b/2"]
    assert [entry.path for entry in select(entries, limit=1)] == ["a/1"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not valid JSON"),
        ("{}", "a JSON array"),
        ("[]", "one at least"),
        ("[1]", "entry 0: an entry is an object with a `path`"),
        ('[{"path": "missing.png"}]', "missing.png is not there"),
        ('[{"path": "here", "ground_truth": {"text": "gone.txt"}}]', "gone.txt"),
        ('[{"path": "here", "ground_truth": []}]', None),
        ('[{"path": "here", "ground_truth": [1]}]', "`ground_truth` is an object"),
    ],
)
def test_broken_manifest_says_what_is_wrong(tmp_path: Path, content: str, message: str | None) -> None:
    (tmp_path / "here").touch()
    manifest = tmp_path / "m.json"
    manifest.write_text(content, encoding="utf-8")
    if message is None:
        assert not load_manifest(manifest)[0].scored
        return
    with pytest.raises(ManifestInvalid, match=message):
        load_manifest(manifest)


def test_manifest_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ManifestInvalid, match=r"none\.json: No such file"):
        load_manifest(tmp_path / "none.json")


@pytest.mark.parametrize(
    "lines", [{}, [{"text": "a"}], [{"text": "a", "box": [[0, 0]]}], [{"text": "a", "box": 3}], [1]]
)
def test_broken_lines_are_told(tmp_path: Path, lines: object) -> None:
    file = tmp_path / "a.lines.json"
    file.write_text(json.dumps(lines), encoding="utf-8")
    with pytest.raises(ManifestInvalid, match=r"a\.lines\.json is not of the form"):
        load_lines(file)


@pytest.mark.parametrize("content", ["[]", "{", '{"id": "no type"}'])
def test_broken_unit_tests_are_told(tmp_path: Path, content: str) -> None:
    file = tmp_path / "a.tests.jsonl"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(ManifestInvalid, match=r"a\.tests\.jsonl is not of the form"):
        load_tests(file)


def test_text_in_another_encoding_is_told(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes("naïve".encode("latin-1"))
    with pytest.raises(ManifestInvalid, match=r"a\.txt is not UTF-8"):
        load_text(file)
