"""Modules and names to which docstrings and comments of the package lead exist, and so does what mutations change."""

from __future__ import annotations

import ast
import re
import runpy
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = (ROOT / "src" / "inkgate", *sorted(ROOT.glob("packages/*/src/*")))
FILE = re.compile(r"(?<![\w/.-])((?:[a-z_0-9]+/)*[a-z_0-9]+\.py)\b")
NAME = re.compile(r"`((?:[a-z_0-9]+\.)+)([A-Z]\w*[a-z]\w*)")
"""A class by its module, such as `serving.queue.WorkQueue`."""
OF_OTHER_PROJECTS = frozenset({
    "inference/pipelines/paddleocr_vl/uilts.py", "dots_ocr/utils/prompts.py", "parser.py",
    "docling/datamodel/vlm_model_specs.py", "mineru_vl_utils/mineru_client.py", "olmocr/pipeline.py", "prompts.py",
    "image_processing_idefics3.py", "models/object_detection/predictor.py", "layout_analysis/processors.py",
})  # fmt: skip


def modules() -> dict[str, list[Path]]:
    """The modules by each end of their paths: `queue.py` and `serving/queue.py`."""
    found: dict[str, list[Path]] = defaultdict(list)
    for source, path in ((each, path) for each in SOURCES for path in each.rglob("*.py")):
        parts = path.relative_to(source).parts
        for begin in range(len(parts)):
            found["/".join(parts[begin:])].append(path)
    return found


def broken(text: str, known: dict[str, list[Path]]) -> Iterator[str]:
    for match in FILE.finditer(text):
        name = match[1]
        if name not in known and name not in OF_OTHER_PROJECTS and not (ROOT / name).exists():
            yield name
    for match in NAME.finditer(text):
        holders = known.get(match[1].strip(".").replace(".", "/") + ".py", ())
        if holders and not any(match[2] in names_of(path) for path in holders):
            yield match[0].strip("`")


def names_of(module: Path) -> set[str]:
    """Names that the module defines."""
    found: set[str] = set()
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found.update(target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return found


def test_what_the_text_in_modules_leads_to_exists() -> None:
    known = modules()
    lost = [
        (path.relative_to(source).as_posix(), each)
        for source in SOURCES
        for path in sorted(source.rglob("*.py"))
        for each in broken(path.read_text(encoding="utf-8"), known)
    ]
    assert lost == []


def test_a_name_that_has_moved_is_found() -> None:
    known = modules()
    assert list(broken("See `serving/queue.py` and `serving.queue.WorkQueue`.", known)) == []
    assert list(broken("See serving/pressure.py, `types.Page`.", known)) == ["serving/pressure.py", "types.Page"]


def test_each_mutation_changes_one_place() -> None:
    faults = runpy.run_path(str(ROOT / "scripts" / "mutation_faults.py"))["FAULTS"]
    counts = {fault.effect: (ROOT / fault.file).read_text(encoding="utf-8").count(fault.old) for fault in faults}
    assert {effect: count for effect, count in counts.items() if count != 1} == {}
