"""OmniDocBench's annotations and Omni Parse Bench's datasets, small ones made here."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from inkgate_bench.accuracy.candidates import Transcript, TranscriptPage
from inkgate_bench.accuracy.manifest import BenchmarkFormat, ManifestInvalid
from inkgate_bench.accuracy.omni_parse_bench import load_omni_parse_bench, outputs_of
from inkgate_bench.accuracy.omnidocbench import load_omnidocbench, score_page
from inkgate_bench.accuracy.public_benchmarks import benchmark_json, benchmark_tables, load_benchmark, measure
from inkgate_client.types import BlockType
from support.evaluation import ScriptedCandidate

TABLE = "<table><tr><td>Fruit</td><td>Price</td></tr><tr><td>Pear</td><td>2.40</td></tr></table>"
TEXTS = ("Growth of pears", "Pears grow slowly in the first years.", "Apples need less water than pears do.")


def element(number: int, category: str, **more: object) -> dict[str, Any]:
    return {"category_type": category, "anno_id": number, "order": number, "ignore": False, **more}


def write_annotations(folder: Path, *elements: dict[str, Any], relations: tuple[dict[str, Any], ...] = ()) -> Path:
    (folder / "images").mkdir(exist_ok=True)
    (folder / "images" / "a.jpg").touch()
    info = {"image_path": "a.jpg", "width": 9, "height": 9, "page_attribute": {"data_source": "book", "language": "en"}}
    page = {"layout_dets": list(elements), "page_info": info, "extra": {"relation": list(relations)}}
    file = folder / "OmniDocBench.json"
    file.write_text(json.dumps([page]), encoding="utf-8")
    return file


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    return write_annotations(
        tmp_path,
        element(0, "header", text="Annals of Fruit"),
        element(1, "title", text=TEXTS[0]),
        element(2, "text_block", text=TEXTS[1]),
        element(3, "table", html=TABLE),
        element(4, "text_block", text=TEXTS[2]),
        element(5, "text_block", text="hidden", ignore=True),
    )


def test_right_page_has_no_distance(dataset: Path) -> None:
    (page,) = load_omnidocbench(dataset).pages
    assert (page.entry.kind, page.texts, page.tables) == ("book", TEXTS, (TABLE,))
    for head in ("", "Annals of Fruit\n\n"):
        score = score_page(page, f"{head}# {TEXTS[0]}\n\n{TEXTS[1]}\n\n{TABLE}\n\n{TEXTS[2]}")
        assert (score.text, score.order, score.teds) == (0.0, 0.0, (1.0,))


def test_swapped_blocks_have_a_distance_of_order_only(dataset: Path) -> None:
    (page,) = load_omnidocbench(dataset).pages
    score = score_page(page, f"{TEXTS[2]}\n\n{TEXTS[0]}\n\n{TEXTS[1]}\n\n{TABLE}")
    assert score.text == 0.0
    assert score.order == pytest.approx(2 / 3)


def test_merged_and_split_paragraphs_are_joined(dataset: Path) -> None:
    (page,) = load_omnidocbench(dataset).pages
    merged = score_page(page, f"# {TEXTS[0]}\n\n{TEXTS[1]} {TEXTS[2]}")
    assert (merged.text, merged.teds) == (0.0, (0.0,))
    split = score_page(page, f"# {TEXTS[0]}\n\nPears grow slowly\n\nin the first years.\n\n{TEXTS[2]}")
    assert (split.text, split.order) == (0.0, 0.0)


def test_lost_and_added_text_count_as_edits(dataset: Path) -> None:
    (page,) = load_omnidocbench(dataset).pages
    lost = score_page(page, f"# {TEXTS[0]}\n\n{TEXTS[1]}")
    assert lost.text is not None
    assert 0.3 < lost.text < 0.5
    added = score_page(page, "\n\n".join((*TEXTS, "Nothing of this is printed on the page at all")))
    assert added.text is not None
    assert 0.2 < added.text < 0.5


def test_continued_paragraphs_are_one_text(tmp_path: Path) -> None:
    relation = {"source_anno_id": 1, "target_anno_id": 3, "relation_type": "truncated"}
    file = write_annotations(
        tmp_path,
        element(1, "text_block", text="Pears grow"),
        element(2, "figure_caption", text="Figure 1"),
        element(3, "text_block", text="slowly."),
        relations=(relation,),
    )
    (page,) = load_omnidocbench(file).pages
    assert page.texts == ("Pears grow slowly.", "Figure 1")


def test_invalid_annotations_are_named(tmp_path: Path) -> None:
    file = tmp_path / "OmniDocBench.json"
    file.write_text('[{"page_info": {"image_path": "gone.jpg"}, "layout_dets": []}]', encoding="utf-8")
    for wrong, said in ((file, r"gone\.jpg"), (tmp_path / "gone.json", r"gone\.json")):
        with pytest.raises(ManifestInvalid, match=said):
            load_omnidocbench(wrong)


@pytest.mark.anyio
async def test_figures_are_means_by_source_and_a_page_not_read_is_wrong(dataset: Path) -> None:
    benchmark = load_benchmark(BenchmarkFormat.OMNIDOCBENCH, dataset)
    for answer, edit in ((Transcript("", 1, markdown="\n\n".join((*TEXTS, TABLE))), 0.0), (OSError("gone"), 1.0)):
        candidate = ScriptedCandidate("one", {"a.jpg": answer})
        result = await measure(benchmark, candidate, benchmark.entries, lambda _name, _entry: None)
        assert list(result.figures) == ["book", "all"]
        assert result.figures["all"]["text edit"] == edit
        assert result.failed == (("a.jpg",) if edit else ())
    console = Console(width=200, file=io.StringIO(), record=True)
    console.print(benchmark_tables([result]))
    assert "Not read: a.jpg" in console.export_text()
    (written,) = benchmark_json(BenchmarkFormat.OMNIDOCBENCH, [result])["candidates"]
    assert written["figures"]["book"]["pages"] == 1


def test_pages_are_given_to_omni_parse_bench_as_html_and_blocks() -> None:
    page = TranscriptPage(
        "", markdown="# Pears", header="Annals", layout=((BlockType.TITLE, (0.1, 0.1, 1.2, 0.2), "Pears"),)
    )
    outputs = outputs_of(Transcript("", 1, markdown="# Pears", read_pages=(page,)))
    assert outputs["html"] == "<p>Annals</p>\n\n<h1>Pears</h1>\n"
    assert outputs["blocks"] == [{"label": "heading", "bbox": [0.1, 0.1, 1.0, 0.2], "text": "Pears"}]
    assert outputs_of(None) == {"html": None, "blocks": None}


def test_omni_parse_bench_scores_by_its_own_package(tmp_path: Path) -> None:
    pytest.importorskip("omni_parse_bench", reason="pip install omni-parse-bench")
    for name in ("gold", "pages"):
        (tmp_path / name).mkdir()
    (tmp_path / "pages" / "a.pdf").touch()
    common = {"derivation": "authored", "tags": ["Latn", "eng"]}
    pears, apples = ({"text": text, "max_diffs": 0} for text in ("Pears", "Apples"))
    place = {"text": "Pears", "max_diffs": 0, "place": [[0.1, 0.1, 0.5, 0.2]]}
    html = {**common, "output_type": "html", "settings": {}}
    tests = [
        {**html, "id": "1", "test_type": "present", "args": {"content": pears}},
        {**html, "id": "2", "test_type": "order", "args": {"before": apples, "after": pears}},
        {
            **common,
            "id": "3",
            "test_type": "layout_kind",
            "output_type": "blocks",
            "args": {"content": place},
            "settings": {"kind": "heading"},
        },
    ]
    (tmp_path / "gold" / "a.json").write_text(json.dumps({"tests": tests}), encoding="utf-8")
    benchmark = load_omni_parse_bench(tmp_path)
    page = TranscriptPage("", markdown="", layout=((BlockType.TITLE, (0.1, 0.1, 0.5, 0.2), "Pears"),))
    read = Transcript("", 1, markdown="# Pears\n\nApples", read_pages=(page,))
    found = benchmark.figures(benchmark.entries, [read])
    assert {kind: found[kind]["score"] for kind in ("present", "order", "layout_kind")} == {
        "present": 1.0,
        "order": 0.0,
        "layout_kind": 1.0,
    }
    assert found["all"] == {"tests": 3.0, "score": 0.75}
    plain = benchmark.figures(benchmark.entries, [Transcript("Apples Pears", 1)])
    assert plain["layout_kind"] == {"tests": 0.0, "score": None}
    with pytest.raises(ManifestInvalid, match="has no gold"):
        load_omni_parse_bench(tmp_path / "pages")
