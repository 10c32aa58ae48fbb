"""Structure in an evaluation: documents with Markdown in; order, tables, lines, calibration and differences out."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console, RenderableType
from typer.testing import CliRunner

from inkgate.cli.app import app
from inkgate_bench.accuracy.candidates import Transcript, TranscriptPage, transcript
from inkgate_bench.accuracy.difference import NotComparable, compare_evaluations, difference_tables
from inkgate_bench.accuracy.manifest import Entry, ManifestInvalid, load_manifest
from inkgate_bench.accuracy.metrics import ReadLine
from inkgate_bench.accuracy.report import Evaluation, as_json, tables
from inkgate_bench.accuracy.results import AccuracyReport, read_report
from inkgate_bench.accuracy.scores import check_truths, probe, score
from inkgate_bench.accuracy.structure import account_pages, page_orders, score_columns
from inkgate_bench.accuracy.summary import summarize
from inkgate_bench.reports.accuracy_page import accuracy_charts, accuracy_html
from inkgate_bench.reports.files import ReportUnwritable, load_report, write_report
from inkgate_client.types import Block, BlockType, DocumentResult, Line, PageResult, Quad
from support.evaluation import ScriptedCandidate, write_manifest

pytestmark = pytest.mark.anyio

TEXT = "the first line of it\nand the second one\nwith a third below"
FIRST, SECOND, THIRD = TEXT.splitlines()
TABLE = "<table><tr><td>a</td><td>b</td></tr><tr><td>1</td><td>2</td></tr></table>"
CLICK = CliRunner()


def box(left: float, top: float, right: float) -> Quad:
    return ((left, top), (right, top), (right, top + 10), (left, top + 10))


def page(*lines: str, markdown: str | None = None, confidence: float = 0.97) -> TranscriptPage:
    return TranscriptPage(
        text="\n".join(lines),
        lines=tuple(ReadLine(line, box(0, 20 * row, 100)) for row, line in enumerate(lines)),
        markdown="\n\n".join(lines) if markdown is None else markdown,
        confidence=confidence,
        blocks=tuple((line, confidence) for line in lines),
    )


def read(*pages: TranscriptPage) -> Transcript:
    return Transcript(
        "\n\n".join(each.text for each in pages),
        len(pages),
        markdown="\n\n".join(each.markdown or "" for each in pages),
        read_pages=pages,
    )


READ: dict[str, Transcript | Exception] = {
    "pages/good.png": read(page(FIRST, SECOND, THIRD)),
    "pages/turned.png": read(page(FIRST, SECOND, THIRD, markdown=f"{THIRD}\n\n{FIRST}")),
    "pages/columns.png": read(page(THIRD, FIRST, SECOND)),
    "pages/table.png": read(page("a", "b", "1", "2", markdown="| a | b |\n| --- | --- |\n| 1 | 2 |")),
    "odd/plain.png": read(page("lost words", markdown="<!-- nothing -->")),
}


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    truth = tmp_path / "pages/table.table.html"
    truth.parent.mkdir(parents=True)
    truth.write_text(TABLE.replace("<tr>", "<thead><tr>", 1).replace("</tr>", "</tr></thead>", 1), encoding="utf-8")
    return write_manifest(
        tmp_path,
        {"path": "pages/good.png", "kind": "book", "text": TEXT},
        {"path": "pages/turned.png", "kind": "book", "text": TEXT},
        {"path": "pages/columns.png", "kind": "paper", "text": TEXT, "order_free": True},
        {"path": "pages/table.png", "kind": "table", "ground_truth": {"table.html": "pages/table.table.html"}},
        {"path": "odd/plain.png"},
    )


def ignore(_name: str, _entry: Entry) -> None:
    """No progress to show."""


async def evaluate(manifest: Path, **other: Transcript | Exception) -> Evaluation:
    entries = load_manifest(manifest)
    candidate = ScriptedCandidate("own", {**READ, **{f"pages/{name}.png": each for name, each in other.items()}})
    return Evaluation(
        manifest.name, (await score(candidate, entries, ignore),), await probe(candidate, entries, ignore)
    )


async def report_of(manifest: Path, **other: Transcript | Exception) -> AccuracyReport:
    return read_report(json.loads(json.dumps(as_json(await evaluate(manifest, **other)))))


def shown(content: RenderableType) -> str:
    console = Console(file=io.StringIO(), width=300, record=True)
    console.print(content)
    return console.export_text()


async def test_order_tables_and_lines_are_scored_on_the_markdown(manifest: Path) -> None:
    (own,) = (await evaluate(manifest)).candidates
    good, turned, columns, table = own.files
    assert good.order is not None
    assert turned.order is not None
    assert (good.order.tau, turned.order.tau, turned.order.matched) == (1.0, -1.0, 2)
    assert good.lines is not None
    assert turned.lines is not None
    assert (good.lines.lines, good.lines.lost, turned.lines.lost) == (3, (), (SECOND,))
    assert table.tables is not None
    assert (table.tables.teds, table.tables.structure, table.order) == (1.0, 1.0, None)
    assert (columns.order, columns.column_order, columns.blocks_judged) == (None, None, ())


async def test_order_free_documents_count_for_f1_and_not_for_the_error_rate(manifest: Path) -> None:
    (own,) = (await evaluate(manifest)).candidates
    every = summarize(own.files)
    assert every.cer == 0.0
    assert every.cer_every is not None
    assert every.cer_every > 0.1
    assert every.cer_folded_every == every.cer_every
    assert (every.f1, every.order_free, every.order) == (1.0, 1, 0.0)
    assert (every.lines, every.lost, every.doubled, every.teds) == (13, 1, 0, 1.0)


async def test_document_that_was_not_read_has_no_order_and_no_table(manifest: Path) -> None:
    (own,) = (await evaluate(manifest, good=ValueError("x"), table=ValueError("y"))).candidates
    good, table = own.files[0], own.files[3]
    assert good.order is not None
    assert (good.order.tau, good.order.matched, good.lines, good.pages_judged) == (0.0, 0, None, ())
    assert table.tables is not None
    assert table.tables.teds == 0.0


async def test_candidate_without_markdown_is_judged_by_its_text(manifest: Path) -> None:
    (own,) = (await evaluate(manifest, good=Transcript(TEXT, 1), table=Transcript("a b 1 2", 1))).candidates
    assert own.files[0].order is not None
    assert (own.files[0].order.tau, own.files[0].lines, own.files[3].tables) == (1.0, None, None)


def test_pages_are_ordered_one_by_one_where_the_truth_divides_them() -> None:
    two = read(page(FIRST, SECOND), page(SECOND, FIRST))
    found = page_orders(f"{FIRST}\n{SECOND}\n\f{FIRST}\n{SECOND}\n\f", two)
    assert found is not None
    assert (found.tau, found.matched, found.lines) == (0.0, 4, 4)
    assert page_orders("", two) is None


def test_columns_are_judged_by_the_boxes_of_the_lines() -> None:
    left = [ReadLine(f"left {row}", box(0, 20 * row, 90)) for row in range(5)]
    right = [ReadLine(f"right {row}", box(110, 20 * row, 200)) for row in range(5)]
    assert score_columns(read(TranscriptPage("", (*left, *right)))) == 1.0
    assert score_columns(Transcript("", 1, tuple(right + left))) == pytest.approx(1 - 2 * 25 / 45)
    assert score_columns(Transcript("", 1)) is None


def test_lines_left_out_on_purpose_are_not_lost() -> None:
    left = replace(page(FIRST, "Page 3", "3", markdown=f"{FIRST}\n\n3"), left_out=(1,))
    found = account_pages(read(left))
    assert found is not None
    assert (found.lines, found.lost, found.doubled) == (2, (), ())
    assert account_pages(Transcript("text", 1)) is None


def test_confidence_of_a_block_is_the_result_s() -> None:
    lines = (Line("aaa", box(0, 0, 9), 1.0), Line("b", box(0, 20, 9), 0.6))
    blocks = (
        Block(BlockType.TEXT, (0, 0, 9, 30), (0, 1), "aaa b", "aaa b", confidence=0.9),
        Block(BlockType.FIGURE, (0, 0, 1, 1), (), "", ""),
    )
    found = transcript(DocumentResult("d", "image/png", 1, 1, "e", (PageResult(0, 9, 9, lines=lines, blocks=blocks),)))
    text, figure = found.read_pages[0].blocks
    assert text[1] == pytest.approx(0.9)
    assert figure == ("", None)


async def test_the_report_lists_lost_lines_calibration_and_suspicious_truths(manifest: Path) -> None:
    other = "completely other words\nstand here in the truth\nbefore these three"
    (manifest.parent / "pages/good.txt").write_text(f"{TEXT}\n{other}\n", encoding="utf-8")
    found = await evaluate(manifest, good=read(page(*other.splitlines(), FIRST, SECOND, THIRD)))
    words = shown(tables(found))
    assert "of 17 lines, 2 lost and 0 doubled" in words  # also of documents without ground truth
    assert "lost words" in words
    assert "own: confidence of blocks" in words
    assert "another order than the truth's, see `order_free`: pages/good.png" in words
    document = as_json(found)
    assert document["candidates"][0]["line_accounts"]["worst"][0]["lost"] == [SECOND]
    assert document["candidates"][0]["calibration"]["pages"]["count"] == 2
    assert document["unscored"][0]["lost"] == ["lost words"]


async def test_the_page_and_the_charts_show_all_of_it(manifest: Path, tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script> & a\x00b"
    report = await report_of(manifest, turned=read(page(FIRST, hostile, markdown=FIRST, confidence=0.6)))
    html = accuracy_html(report)
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "lines lost" in html
    assert [chart.title for chart in accuracy_charts(report)] == ["Calibration of own"]
    write_report(report, tmp_path / "charts.svg")
    assert b"<svg" in (tmp_path / "charts.svg").read_bytes()
    with pytest.raises(ReportUnwritable):
        write_report(report, tmp_path / "figures.csv")


async def test_an_empty_report_is_a_page(tmp_path: Path) -> None:
    empty = await report_of(write_manifest(tmp_path, {"path": "a.png"}), **{"../a": Transcript("", 1)})
    assert "Nothing was measured" in accuracy_html(empty)


async def test_two_runs_are_compared_by_group_and_document(manifest: Path) -> None:
    before = await report_of(manifest, table=read(page("a b 1 2")))
    after = await report_of(manifest, turned=READ["pages/good.png"])
    found = compare_evaluations(before, after)
    changes = {change.name: change for change in found.groups[-1].changes}
    assert found.groups[-1].group == "all"
    assert str(changes["order"]) == "100.0 (+100.0)"
    assert (str(changes["lost"]), changes["lost"].gain) == ("0 (−1)", 1.0)
    assert str(changes["TEDS"]) == "100.0 (+100.0)"
    assert str(changes["tests"]) == ""
    assert {file.path for file in found.files} == {"pages/turned.png", "pages/table.png"}
    assert "kind: book" in shown(difference_tables(found))
    assert compare_evaluations(after, after).files == ()


async def test_groups_with_other_documents_are_not_compared(manifest: Path) -> None:
    report = await report_of(manifest)
    own = report.candidates[0]
    fewer = replace(report, candidates=(replace(own, files=own.files[:2]),))  # the book pages
    found = compare_evaluations(report, fewer)
    assert [group.group for group in found.groups] == ["kind: book"]
    assert found.missing == ("pages/columns.png", "pages/table.png")
    assert "2 documents are in one run only" in shown(difference_tables(found))


async def test_runs_without_anything_in_common_are_not_compared(manifest: Path) -> None:
    report = await report_of(manifest)
    with pytest.raises(NotComparable, match="candidate"):
        compare_evaluations(replace(report, candidates=()), report)
    no_files = replace(report, candidates=(replace(report.candidates[0], files=()),))
    with pytest.raises(NotComparable, match="document"):
        compare_evaluations(no_files, report)


async def test_the_report_command_reads_and_compares_evaluations(manifest: Path, tmp_path: Path) -> None:
    for name, other in (("a", {}), ("b", {"turned": READ["pages/good.png"]})):
        document = as_json(await evaluate(manifest, **other))
        (tmp_path / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    a, b = str(tmp_path / "a.json"), str(tmp_path / "b.json")
    assert isinstance(load_report(Path(a)), AccuracyReport)
    assert CLICK.invoke(app, ["report", a]).exit_code == 0
    assert "inkgate eval" in (tmp_path / "a.html").read_text(encoding="utf-8")
    compared = CLICK.invoke(app, ["report", "--compare", a, b])
    assert compared.exit_code == 0, compared.output
    assert "100.0 (+100.0)" in compared.stdout
    assert CLICK.invoke(app, ["report", "--compare", a, b, "--svg", str(tmp_path / "x.svg")]).exit_code == 2


def test_an_overlay_changes_entries_by_path(manifest: Path, tmp_path: Path) -> None:
    overlay = tmp_path / "overlay.json"
    overlay.write_text('{"pages/good.png": {"order_free": true, "kind": "x"}}', encoding="utf-8")
    good, turned, *_ = load_manifest(manifest, overlay)
    assert (good.order_free, good.kind, good.text is not None, turned.order_free) == (True, "x", True, False)


@pytest.mark.parametrize(
    ("content", "why"), [("[]", "object of paths"), ('{"pages/good.png": 1}', "object of"), ('{"x": {}}', "has no x")]
)
def test_an_overlay_of_another_form_is_refused(content: str, why: str, manifest: Path, tmp_path: Path) -> None:
    overlay = tmp_path / "overlay.json"
    overlay.write_text(content, encoding="utf-8")
    with pytest.raises(ManifestInvalid, match=why):
        load_manifest(manifest, overlay)


def test_a_table_truth_without_a_table_is_refused(manifest: Path) -> None:
    (manifest.parent / "pages/table.table.html").write_text("no table", encoding="utf-8")
    with pytest.raises(ManifestInvalid, match="has no table"):
        check_truths(load_manifest(manifest))
