"""Makes pages of many kinds with their true Markdown, and reads them: what a page's layout does to its structure.

    python -m benchmarks.structure.made_pages OUT [--only PART] [--chromium PROGRAM] [--read]

Each file of pages/ is the body of an HTML page. Its order is the reading order and its elements are the truth: titles,
paragraphs, lists, tables, `br` for hard breaks. `data-not` marks what Markdown leaves out or may (running headers,
figures); `{40 7}` stands for 40 words of prose, the same ones for the same number. Each page becomes a PDF, a picture
of 150 dpi, and one of 100 dpi, turned by half a degree, in a JPEG of quality 60.

`--read` reads them with the default settings, and prints for each Kendall's tau of its lines, the lines found of the
true ones, TEDS, and where tables, titles, items or breaks are not as many as in truth.
"""

from __future__ import annotations

import argparse
import html
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from random import Random

import pypdfium2
from PIL import Image

from inkgate import Ocr
from inkgate_bench.accuracy.reading_order import order_score
from inkgate_bench.accuracy.table_similarity import table_similarity

PAGES = Path(__file__).parent / "pages"
WHO = "the harbour master|an old clerk|the engineer|her brother|every traveller|the committee|a young doctor|nobody"
DID = "wrote down|had forgotten|carried|looked for|described|measured|would not believe|gave away|remembered|sold"
WHAT = "the letters|a heavy lamp|the northern road|three boxes|the results|an answer|the bridge|the garden|two maps"
WHERE = "before the winter|in the morning|near the station|without a word|for many years|behind the house|in May"
STYLE = """<!doctype html><meta charset="utf-8"><style>@page{size:210mm 297mm;margin:18mm}*{box-sizing:border-box}
body{margin:0;font:10.5pt/1.4 "DejaVu Serif";text-align:left}p{margin:0 0 2.5mm}table{border-collapse:collapse}
td,th{padding:1mm 2.5mm;text-align:left}</style>"""


def main() -> None:
    """Makes the pages, and reads them if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--chromium", default="chromium")
    parser.add_argument("--read", action="store_true")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    names = [path.stem for path in sorted(PAGES.glob("*.html")) if asked.only in path.stem]
    for name in names:
        source = with_prose((PAGES / f"{name}.html").read_text(encoding="utf-8"))
        (asked.out / f"{name}.md").write_text(truth_of(source), encoding="utf-8")
        if not (asked.out / f"{name}.jpg").exists():
            draw(asked.out / name, source, asked.chromium)
    if asked.read:
        read(asked.out, names)


def with_prose(source: str) -> str:
    """The page with its `{WORDS SEED}` filled in."""
    return re.sub(r"\{(\d+) (\d+)\}", lambda found: prose(int(found[1]), int(found[2])), source)


def prose(words: int, seed: int) -> str:
    """About as many words of sentences."""
    chance, text = Random(seed), ""
    while text.count(" ") + 1 < words:
        parts = [chance.choice(part.split("|")) for part in (WHO, DID, WHAT, WHERE)]
        if chance.random() < 1 / 2:
            parts += ["and", *(chance.choice(part.split("|")) for part in (DID, WHAT))]
        sentence = " ".join(parts)
        text += f"{' ' if text else ''}{sentence[0].upper()}{sentence[1:]}."
    return text


def draw(path: Path, source: str, chromium: str) -> None:
    """Writes PDF, PNG and JPEG of a page; of several pages, the pictures show the first."""
    page = path.with_suffix(".html")
    page.write_text(STYLE + source, encoding="utf-8")
    pdf = path.with_suffix(".pdf")
    program = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"]
    subprocess.run([*program, f"--print-to-pdf={pdf}", page.as_uri()], check=True, capture_output=True)
    with pypdfium2.PdfDocument(pdf) as document:
        document[0].render(scale=150 / 72).to_pil().save(path.with_suffix(".png"))
        small = document[0].render(scale=100 / 72).to_pil().convert("RGB")
    turned = small.rotate(0.5, Image.Resampling.BICUBIC, fillcolor="white")
    turned.save(path.with_suffix(".jpg"), quality=60)


class _Truth(HTMLParser):
    """Markdown of a page's elements; tables stay HTML."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[str] = []
        self._text, self._skip, self._lists = "", 0, list[str]()
        self._table: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if self._skip or "data-not" in given:
            self._skip += tag not in ("br", "img", "input", "hr")
        elif tag == "table":
            self.flush()
            self._table = "<table>"
        elif self._table is not None:
            spans = "".join(f' {name}="{given[name]}"' for name in ("rowspan", "colspan") if given.get(name))
            self._table += " " if tag == "br" else f"<{tag}{spans}>" if tag in ("tr", "td", "th") else ""
        elif tag == "br":
            self._text = self._text.rstrip() + "  \n"
        elif tag in ("p", "div", "li", "ul", "ol", "h1", "h2", "h3", "aside", "section", "style"):
            self.flush()
            if tag in ("ul", "ol"):
                self._lists.append(tag)
            self._skip += tag == "style"
            if tag == "li":
                self._text = "  " * (len(self._lists) - 1) + ("- " if self._lists[-1] == "ul" else "1. ")
            self._text += "#" * int(tag[1]) + " " if tag in ("h1", "h2", "h3") else ""

    def handle_endtag(self, tag: str) -> None:
        if self._skip:
            self._skip -= 1
        elif tag == "table" and self._table is not None:
            self.blocks.append(self._table + "</table>")
            self._table = None
        elif self._table is not None:
            self._table += f"</{tag}>" if tag in ("tr", "td", "th") else ""
        elif tag in ("p", "div", "li", "ul", "ol", "h1", "h2", "h3", "aside", "section"):
            self.flush()
            if tag in ("ul", "ol"):
                self._lists.pop()

    def handle_data(self, data: str) -> None:
        text = re.sub(r"\s+", " ", data)
        if self._skip:
            return
        if self._table is not None:
            self._table += html.escape(text)
        else:
            self._text += text.lstrip() if self._text[-1:] in ("", " ", "\n") else text

    def flush(self) -> None:
        """Ends the block."""
        if self._text.strip(" #"):
            self.blocks.append(self._text.rstrip())
        self._text = ""


def truth_of(source: str) -> str:
    """The true Markdown of a page's body."""
    parser = _Truth()
    parser.feed(source)
    parser.close()
    parser.flush()
    return "\n\n".join(parser.blocks) + "\n"


@dataclass(frozen=True, slots=True)
class Structure:
    """What Markdown has of each kind."""

    tables: int
    titles: tuple[str, ...]
    items: int
    breaks: int


def structure_of(markdown: str) -> Structure:
    """Counts of Markdown with tables in HTML or pipes."""
    lines = markdown.splitlines()
    rules = sum(bool(re.fullmatch(r"\|?[ :|-]*-{3}[ :|-]*\|?", line)) and "|" in line for line in lines)
    return Structure(
        tables=rules + markdown.count("<table"),
        titles=tuple(line.split(" ")[0] for line in lines if re.match(r"#+ ", line)),
        items=sum(bool(re.match(r" *(?:[-*]|\d+[.)]) ", line)) for line in lines),
        breaks=sum(line.endswith(("  ", "\\")) for line in lines),
    )


def read(out: Path, names: list[str]) -> None:
    """Reads the pages and prints what is not as it should be; their Markdown is written beside them."""
    totals: dict[str, list[float]] = {}
    with Ocr() as ocr:
        for name in names:
            truth = (out / f"{name}.md").read_text(encoding="utf-8")
            for kind in ("pdf", "png", "jpg"):
                path = out / f"{name}.{kind}"
                if kind != "pdf" and len(pypdfium2.PdfDocument(out / f"{name}.pdf")) > 1:
                    continue
                markdown = ocr.read(path).markdown
                path.with_suffix(f".{kind}.md").write_text(markdown, encoding="utf-8")
                order, tables = order_score(words_of(truth), words_of(markdown)), table_similarity(truth, markdown)
                row = (order.tau if order else 1.0, order.matched / order.lines if order else 1.0)
                teds = tables.teds if tables else None
                for key, value in ((f"{kind} tau", row[0]), (f"{kind} found", row[1]), (f"{kind} teds", teds)):
                    totals.setdefault(key, []).extend([] if value is None else [value])
                faults = "; ".join(faults_of(structure_of(truth), structure_of(markdown)))
                print(
                    f"{name:22} {kind} {row[0]:6.2f} {row[1]:5.2f} {'' if teds is None else f'{teds:.2f}':>5}", faults
                )
                sys.stdout.flush()
    print({key: round(sum(values) / len(values), 3) for key, values in totals.items() if values})


def words_of(markdown: str) -> list[str]:
    """Stretches of up to six words, in order: lines of Markdown may be whole paragraphs."""
    plain = re.sub(r"<[^>]*>|[|#*\\]|-{3,}|!?\[|\]", " ", html.unescape(markdown))
    return [" ".join(part) for line in plain.splitlines() for part in _sixes(line.split())]


def _sixes(words: list[str]) -> Iterator[list[str]]:
    return (words[i : i + 6] for i in range(0, len(words), 6))


def faults_of(truth: Structure, got: Structure) -> Iterator[str]:
    """What differs, with what it should be."""
    for name in ("tables", "titles", "items", "breaks"):
        is_, should = getattr(got, name), getattr(truth, name)
        if is_ != should:
            if name == "titles":
                yield f"titles {' '.join(is_) or '-'} of {' '.join(should) or '-'}"
            else:
                yield f"{name} {is_} of {should}"


if __name__ == "__main__":
    main()
