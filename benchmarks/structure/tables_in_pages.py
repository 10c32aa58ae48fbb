"""Makes pages with a table between paragraphs of prose, and their manifest for `inkgate eval`.

    python -m benchmarks.structure.tables_in_pages MANIFEST OUT

MANIFEST: has documents with `kind` "table image", a text and a `table.html`. OUT: a folder. The prose and its truth are
drawn; the table is the picture.
"""

from __future__ import annotations

import argparse
import json
import shutil
from itertools import cycle, islice
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

_WIDTH, _HEIGHT, _MARGIN, _LINE = 1240, 1754, 100, 36
_PROSE = [
    "The",
    "harbour",
    "lay",
    "quiet",
    "in",
    "the",
    "early",
    "light",
    "and",
    "nothing",
    "moved",
    "but",
    "the",
    "gulls",
    "above",
    "it.",
    "Three",
    "boats",
    "had",
    "come",
    "in",
    "during",
    "the",
    "night,",
    "their",
    "nets",
    "still",
    "wet,",
    "their",
    "lamps",
    "put",
    "out.",
    "On",
    "the",
    "quay",
    "a",
    "man",
    "in",
    "a",
    "long",
    "coat",
    "counted",
    "crates",
    "into",
    "a",
    "ledger,",
    "and",
    "each",
    "number",
    "he",
    "wrote",
    "he",
    "read",
    "again",
    "aloud,",
    "as",
    "if",
    "somebody",
    "were",
    "there",
    "to",
    "hear",
    "it.",
]


def page(table: Image.Image, first: int) -> tuple[Image.Image, list[str], list[str]]:
    """A page with the table, and its lines above and below. `first`: the word of the prose to begin with."""
    scale = min((_WIDTH - 2 * _MARGIN) / table.width, 2.0, 900 / table.height)
    table = table.convert("RGB").resize(
        (round(table.width * scale), round(table.height * scale)), Image.Resampling.LANCZOS
    )
    picture = Image.new("RGB", (_WIDTH, _HEIGHT), "white")
    pen, font = ImageDraw.Draw(picture), ImageFont.load_default(24)
    words = islice(cycle(_PROSE), first, None)

    def prose(y: int, count: int) -> list[str]:
        rows = []
        for row in range(count):
            text = next(words)
            while pen.textlength(f"{text} harbour", font) < _WIDTH - 2 * _MARGIN:
                text = f"{text} {next(words)}"
            pen.text((_MARGIN, y + row * _LINE), text, 0, font)
            rows.append(text)
        return rows

    above = prose(_MARGIN, 8)
    top = _MARGIN + 8 * _LINE + 40
    picture.paste(table, ((_WIDTH - table.width) // 2, top))
    below = top + table.height + 40
    return picture, above, prose(below, max(3, min(10, (_HEIGHT - _MARGIN - below) // _LINE)))


def main() -> None:
    """Writes the pages."""
    parser = argparse.ArgumentParser(description="Pages with a table between paragraphs.")
    parser.add_argument("manifest", type=Path)
    parser.add_argument("out", type=Path)
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    folder, items = asked.manifest.parent, []
    tables = [item for item in json.loads(asked.manifest.read_text()) if item.get("kind") == "table image"]
    for number, item in enumerate(tables):
        name = Path(item["path"]).stem
        picture, above, below = page(Image.open(folder / item["path"]), number * 37)
        picture.save(asked.out / f"{name}.png", dpi=(150, 150))
        inside = (folder / item["ground_truth"]["text"]).read_text().splitlines()
        (asked.out / f"{name}.txt").write_text("\n".join([*above, *inside, *below, ""]))
        shutil.copy(folder / item["ground_truth"]["table.html"], asked.out / f"{name}.table.html")
        truth = {"text": f"{name}.txt", "table.html": f"{name}.table.html"}
        items.append({"path": f"{name}.png", "language": "en", "kind": "table within a page", "ground_truth": truth})
    (asked.out / "manifest.json").write_text(json.dumps(items, indent=1))
    print(f"{len(items)} pages in {asked.out}")


if __name__ == "__main__":
    main()
