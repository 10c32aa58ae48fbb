"""The evaluation as a whole: documents in, scores, groups, tables and JSON out."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from inkgate.errors import InputRejected
from inkgate_bench.accuracy.candidates import OwnReader, PageFailure, Transcript
from inkgate_bench.accuracy.manifest import Entry, load_manifest
from inkgate_bench.accuracy.metrics import ReadLine, Token
from inkgate_bench.accuracy.report import Evaluation, as_json, tables
from inkgate_bench.accuracy.scores import CandidateScores, probe, score
from inkgate_bench.accuracy.summary import groups, summarize
from inkgate_client.types import DocumentResult, Line, PageError, PageResult
from support.evaluation import ScriptedCandidate, write_manifest

pytestmark = pytest.mark.anyio

BOX = [[0, 0], [100, 0], [100, 10], [0, 10]]
QUAD = ((0.0, 0.0), (100.0, 0.0), (100.0, 10.0), (0.0, 10.0))
TESTS = [
    {"id": "a", "type": "present", "text": "Bold"},
    {"id": "b", "type": "absent", "text": "footer"},
    {"id": "c", "type": "footnote", "marker": "1"},
]
READ: dict[str, Transcript | Exception] = {
    "pages/en.png": Transcript("abcd efXX", 1, (ReadLine("abcd efXX", QUAD),), sources=("ocr",)),
    "pages/de.png": Transcript("xy", 1),
    "pdf/t.pdf": Transcript("footer Bold", 2, markdown="**Bold**", failures=(PageFailure(1, "page_broken"),)),
    "odd/fine.png": Transcript("", 1),
    "odd/refused.png": InputRejected("image_corrupt", "It is."),
    "odd/crash.png": ZeroDivisionError("x"),
}


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    return write_manifest(
        tmp_path,
        {
            "path": "pages/en.png",
            "language": "en",
            "kind": "book",
            "text": "abcd efgh",
            "lines": [{"text": "abcd", "box": BOX}],
        },
        {"path": "pages/de.png", "language": "de", "kind": "book", "text": "xy"},
        {"path": "pdf/t.pdf", "language": "en", "kind": "unit tests", "tests": TESTS},
        {"path": "odd/fine.png", "language": "-", "kind": "odd"},
        {"path": "odd/refused.png", "language": "-", "kind": "odd", "pillow": {"opens": False}},
        {"path": "odd/crash.png", "language": "-", "kind": "odd", "pillow": {"opens": False}},
    )


def ignore(_name: str, _entry: Entry) -> None:
    """No progress to show."""


async def test_every_document_with_ground_truth_is_scored_in_order(manifest: Path) -> None:
    done: list[tuple[str, str]] = []
    candidate = ScriptedCandidate("one", READ)
    scores = await score(candidate, load_manifest(manifest), lambda name, entry: done.append((name, entry.path)))
    english, german, pdf = scores.files
    assert sorted(done) == [("one", "pages/de.png"), ("one", "pages/en.png"), ("one", "pdf/t.pdf")]
    assert english.errors is not None
    assert (english.errors.edits, english.errors.characters, english.f1, english.token) == (2, 8, 0.5, Token.WORDS)
    assert english.line_recall == 1.0
    assert german.line_recall is None
    assert (pdf.errors, pdf.f1, pdf.error) == (None, None, "page 1: page_broken")
    assert [outcome.passed for outcome in pdf.tests] == [True, True, None]  # on the Markdown, not on the text


async def test_document_that_was_not_read_is_wholly_wrong(manifest: Path) -> None:
    entries = load_manifest(manifest)
    scores = await score(ScriptedCandidate("one", {entry.path: OSError("gone") for entry in entries}), entries, ignore)
    english, _, pdf = scores.files
    assert english.errors is not None
    assert (english.errors.rate, english.f1, english.line_recall) == (1.0, 0.0, 0.0)
    assert english.error == "OSError: gone"
    assert {outcome.passed for outcome in pdf.tests} == {False}
    assert scores.pages_per_s == 0


async def test_documents_without_ground_truth_are_probed(manifest: Path) -> None:
    candidate = ScriptedCandidate("one", READ)
    fine, refused, crash = await probe(candidate, load_manifest(manifest), ignore)
    assert (fine.error, fine.as_expected) == (None, True)
    assert (refused.error, refused.as_expected) == ("image_corrupt", True)
    assert (crash.error, crash.as_expected) == ("ZeroDivisionError: x", False)  # broken, but not refused cleanly
    assert sorted(candidate.read_paths) == ["odd/crash.png", "odd/fine.png", "odd/refused.png"]


async def test_refusing_what_opens_is_not_expected(tmp_path: Path) -> None:
    entries = load_manifest(write_manifest(tmp_path, {"path": "a.png"}))
    (refused,) = await probe(ScriptedCandidate("one", {"a.png": InputRejected("image_corrupt", "")}), entries, ignore)
    assert not refused.as_expected


@pytest.mark.parametrize(("code", "as_expected"), [("image_corrupt", True), ("engine_failed", False)])
async def test_page_that_is_refused_by_its_code_is_expected_where_nothing_opens(
    tmp_path: Path, code: str, as_expected: bool
) -> None:
    entries = load_manifest(write_manifest(tmp_path, {"path": "a.png", "pillow": {"opens": False}}))
    read = Transcript("", 1, failures=(PageFailure(0, code),))
    (found,) = await probe(ScriptedCandidate("one", {"a.png": read}), entries, ignore)
    assert (found.error, found.as_expected) == (f"page 0: {code}", as_expected)


async def test_groups_pool_characters_and_average_files(manifest: Path) -> None:
    scores = await score(ScriptedCandidate("one", READ), load_manifest(manifest), ignore)
    every = summarize(scores.files)
    assert (every.files, every.texts, every.boxed, every.failed, every.pages) == (3, 2, 1, 1, 4)
    assert every.cer == 2 / 10  # of all characters
    assert every.cer_mean == (2 / 8 + 0) / 2  # of files
    assert every.f1 == (0.5 + 1) / 2
    assert (every.tests_passed, every.tests, every.pass_rate) == (2, 2, 1.0)
    grouped = groups(scores.files)
    assert list(grouped["folder"]) == ["pages", "pdf"]
    assert list(grouped["language"]) == ["en", "de"]
    assert list(grouped["folder and language"]) == ["pages, en", "pages, de", "pdf, en"]
    assert grouped["kind"]["book"].cer == 2 / 10
    assert grouped["folder"]["pdf"].cer is None
    assert summarize([]).cer is None


async def measured(manifest: Path) -> Evaluation:
    entries = load_manifest(manifest)
    own, other = (
        ScriptedCandidate("own", READ),
        ScriptedCandidate("other", {**READ, "pages/de.png": ValueError("no palette")}),
    )
    scores: list[CandidateScores] = [await score(each, entries, ignore) for each in (own, other)]
    return Evaluation("manifest.json", tuple(scores), await probe(own, entries, ignore))


async def test_tables_show_each_candidate_and_each_failure(manifest: Path) -> None:
    console = Console(file=io.StringIO(), width=200, record=True)
    console.print(tables(await measured(manifest)))
    shown = console.export_text()
    (all_row,) = (line for line in shown.splitlines() if "│ all " in line)
    assert [cell.strip() for cell in all_row.split("│")[1:-1]] == [
        *("all", "3", "20.0", "20.0", "75.0", "100.0", "2/2"),
        *("40.0", "40.0", "25.0", "100.0", "2/2"),
    ]
    assert "other: pages/de.png: ValueError: no palette" in shown
    assert "2 of 3 documents without ground truth behaved as the manifest says." in shown
    assert "ZeroDivisionError: x" in shown


async def test_the_uncapped_rate_is_shown_where_it_is_another(manifest: Path) -> None:
    invented = {path: Transcript("#" * 40, 1) for path in READ}
    own = await score(ScriptedCandidate("own", invented), load_manifest(manifest), ignore)
    assert summarize(own.files).cer == 1.0
    assert summarize(own.files).cer_uncapped == 80 / 10
    evaluation = Evaluation("manifest.json", (own,), ())
    console = Console(file=io.StringIO(), width=200, record=True)
    console.print(tables(evaluation))
    assert "800.0" in console.export_text()
    assert as_json(evaluation)["candidates"][0]["files"][0]["cer_uncapped"] == 40 / 8


async def test_json_holds_every_figure_and_what_it_was_measured_on(manifest: Path) -> None:
    document = json.loads(json.dumps(as_json(await measured(manifest))))
    own, other = document["candidates"]
    assert (own["name"], own["all"]["cer"], other["all"]["cer"]) == ("own", 0.2, 0.4)
    assert own["groups"]["folder"]["pages"]["texts"] == 2
    assert own["files"][0]["cer"] == 0.25
    assert own["files"][0]["f1_of"] == "words"
    assert own["files"][2]["tests"][0] == {"id": "a", "type": "present", "passed": True, "reason": ""}
    assert document["machine"]["cores"] >= 1
    assert [probe["as_expected"] for probe in document["unscored"]] == [True, True, False]


def test_lines_of_a_turned_page_are_compared_where_the_file_has_them() -> None:
    from inkgate_bench.accuracy.candidates import transcript

    upright = ((0.0, 0.0), (10.0, 0.0), (10.0, 5.0), (0.0, 5.0))
    page = PageResult(index=0, width=40, height=100, rotation=90, lines=(Line("a", upright, 1.0),), text="a")
    broken = PageResult(index=1, error=PageError("page_broken", "", ""))
    read = transcript(DocumentResult("d", "image/png", 1, 2, "fake", (page, broken)))
    assert read.lines[0].quad[0] == (0.0, 40.0)
    assert (read.text, read.pages, read.markdown) == ("a\n\n", 2, None)
    assert read.failures == (PageFailure(1, "page_broken"),)
    assert OwnReader.version


async def test_structure_of_pages_is_summed_by_kind_and_written(tmp_path: Path) -> None:
    truth = {
        "pages": [
            {
                "width": 10,
                "height": 10,
                "blocks": [
                    {"type": "title", "level": 1, "lines": [{"text": "On pears"}]},
                    {"type": "text", "lines": [{"text": "They grow"}, {"text": "slowly here"}]},
                ],
            }
        ]
    }
    (tmp_path / "truth.json").write_text(json.dumps(truth), encoding="utf-8")
    known = {"ground_truth": {"structure": "truth.json"}}
    manifest = write_manifest(
        tmp_path,
        {"path": "a.png", "kind": "book", **known},
        {"path": "b.png", "kind": "book", **known},
        {"path": "c.png", "kind": "letter", **known},
    )
    read: dict[str, Transcript | Exception] = {
        "a.png": Transcript("", 1, markdown="# On pears\n\nThey grow slowly here"),
        "b.png": Transcript("They grow\nslowly here\nOn pears", 1),
        "c.png": InputRejected("image_corrupt", "It is."),
    }
    scores = await score(ScriptedCandidate("one", read), load_manifest(manifest), ignore)
    kinds = groups(scores.files)["kind"]
    book, letter = kinds["book"].structure, kinds["letter"].structure
    assert book is not None
    assert letter is not None
    assert (book.pages, book.successors, book.wrong_successors, book.right_headings) == (2, 4, 1, 1)
    assert letter.figures()["lost"] == 1.0
    evaluation = Evaluation("m.json", (scores,), ())
    (candidate,) = as_json(evaluation)["candidates"]
    assert candidate["groups"]["kind"]["book"]["structure_figures"]["wrong_successors"] == 0.25
    assert candidate["files"][0]["structure"]["right_headings"] == 1
    console = Console(width=300, file=io.StringIO(), record=True)
    console.print(tables(evaluation))
    assert "one: structure of pages" in console.export_text()
