"""Writes the gallery of the documentation: pages beside the Markdown that inkgate makes of them.

    python -m benchmarks.structure.gallery MANIFEST [--before RESULTS]

Writes docs/concepts/gallery.md and docs/assets/gallery/. MANIFEST: as for `inkgate eval`. RESULTS: a folder of
reading.py, of an older checkout: its Markdown is shown, too, where it differs. Pages and remarks stand in gallery.toml;
only documents whose licence allows it may be listed there, because the pictures are copied.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import tomllib
from dataclasses import dataclass, replace
from html import escape
from io import BytesIO
from pathlib import Path

import anyio
import orjson
from markdown_it import MarkdownIt
from PIL import Image

from inkgate.bootstrap import running
from inkgate.caller import NO_CALLER
from inkgate.documents.pages import parse_page_list
from inkgate.service.gateway import Gateway
from inkgate.service.reader import CheckedOptions
from inkgate.settings import load_settings
from inkgate_client.types import Document, PageResult, Task, TaskKind

HERE = Path(__file__).parent
PAGE = Path("docs/concepts/gallery.md")
ASSETS = Path("docs/assets/gallery")
WIDTH, HEIGHT, QUALITY = 760, 1000, 55
"""Largest picture in pixels, and its quality as WebP: about 50 kB."""
_INTRODUCTION = """# Gallery

Pages of real documents beside the Markdown that the embedded engine makes of them, rendered. The worst ones are first,
each with what is right and what is wrong. Parts that were left out, such as page numbers, are listed below the
Markdown. *Before* opens that of an earlier version where it differs. `python -m benchmarks.structure.gallery` writes
this page and `docs/assets/gallery/`.
"""


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A page to show: `path` of the document in the manifest, number of the page from 1."""

    path: str
    remark: str
    page: int = 1

    @property
    def name(self) -> str:
        """Name of its files."""
        return f"{Path(self.path).stem}-{self.page}"


@dataclass(frozen=True, slots=True)
class ReadExhibit:
    """The exhibit as it was read, its picture as WebP, and its Markdown of before; empty if that is the same."""

    exhibit: Exhibit
    source: str
    result: PageResult
    picture: bytes
    before: str = ""


async def _read(gateway: Gateway, exhibit: Exhibit, file: Path, source: str) -> ReadExhibit:
    document = Document(await anyio.Path(file).read_bytes(), file.name)
    options = CheckedOptions(task=Task(kind=TaskKind.PARSE), pages=parse_page_list([exhibit.page], first=1))
    admission = gateway.admit(NO_CALLER, len(document.data), wait_s=math.inf)
    async with admission as admitted, admitted.read(document, options) as reading:
        (result,) = (await reading.all()).pages
    admission = gateway.admit(NO_CALLER, len(document.data), wait_s=math.inf)
    async with admission as admitted:
        pixels = await admitted.picture(document, exhibit.page, 2 * HEIGHT)
    image = Image.fromarray(pixels.rgb).rotate(-result.rotation, expand=True)
    image.thumbnail((WIDTH, HEIGHT))
    packed = BytesIO()
    image.convert("RGB").save(packed, "WEBP", quality=QUALITY)
    return ReadExhibit(exhibit, source, result, packed.getvalue())


async def read_all(manifest: Path, exhibits: list[Exhibit]) -> list[ReadExhibit]:
    """The exhibits, read with the default settings."""
    entries = {entry["path"]: entry for entry in json.loads(await anyio.Path(manifest).read_text("utf-8"))}
    async with running(load_settings()) as service:
        return [
            await _read(service.gateway, each, manifest.parent / each.path, _source(entries[each.path]))
            for each in exhibits
        ]


def with_before(read: ReadExhibit, results: Path) -> ReadExhibit:
    """The exhibit with the Markdown that the results have of it."""
    kept = orjson.loads((results / f"{read.exhibit.path.replace('/', '__')}.json").read_bytes())
    before = kept["pages"][read.exhibit.page - 1]["markdown"] or ""
    return read if before == read.result.markdown else replace(read, before=before)


def _source(entry: dict[str, str]) -> str:
    return f"[{entry['source_repo']}](https://github.com/{entry['source_repo']}), {entry['licence']}"


def page_of(exhibits: list[ReadExhibit]) -> str:
    """The documentation's page."""
    return "\n".join([_INTRODUCTION, *(_section(each) for each in exhibits)])


def _section(read: ReadExhibit) -> str:
    exhibit = read.exhibit
    parts = [
        f"## {exhibit.path.split('/')[-1]}" + (f", page {exhibit.page}" if exhibit.page > 1 else ""),
        f"{exhibit.remark.strip()} Source: {read.source}.",
        f'--8<-- "{exhibit.name}.html"',
    ]
    return "\n\n".join(parts) + "\n"


def shown(read: ReadExhibit) -> str:
    """The part of the page that shows the picture, the Markdown, the one of before, and what was left out."""
    exhibit = read.exhibit
    parts = [
        '<div class="gallery" markdown>',
        f"![{escape(exhibit.path)}](../assets/gallery/{exhibit.name}.webp)",
        f'<div markdown="0">\n{_html(read.result.markdown or "")}\n</div>',
        "</div>",
    ]
    if read.result.left_out:
        left = "; ".join(f"{escape(part.text)} ({part.reason.value})" for part in read.result.left_out)
        parts.append(f"<p>Left out: {left}</p>")
    if read.before:
        before = f'<div markdown="0">\n{_html(read.before)}\n</div>'
        parts.append(f'<details markdown="1"><summary>Before</summary>\n\n{before}\n\n</details>')
    return "\n\n".join(parts) + "\n"


def _html(markdown: str) -> str:
    """Rendered, without empty lines, which end HTML; headings are paragraphs, to stay out of the contents."""
    html: str = MarkdownIt("commonmark").enable("table").render(markdown)
    for level in range(1, 7):
        html = html.replace(f"<h{level}>", f'<p class="h{level}">').replace(f"</h{level}>", "</p>")
    return "\n".join(line for line in html.splitlines() if line.strip())


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--before", type=Path, metavar="RESULTS")
    args = parser.parse_args()
    listed = tomllib.loads((HERE / "gallery.toml").read_text("utf-8"))["page"]
    exhibits = anyio.run(read_all, args.manifest, [Exhibit(**entry) for entry in listed])
    if args.before is not None:
        exhibits = [with_before(each, args.before) for each in exhibits]
    shutil.rmtree(ASSETS, ignore_errors=True)
    ASSETS.mkdir(parents=True)
    for each in exhibits:
        (ASSETS / f"{each.exhibit.name}.webp").write_bytes(each.picture)
        (ASSETS / f"{each.exhibit.name}.html").write_text(shown(each), "utf-8")
    PAGE.write_text(page_of(exhibits), "utf-8")


if __name__ == "__main__":
    main()
