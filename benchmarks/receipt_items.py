"""How well the items of receipts are found: pairs of name and price of WildReceipt, and sums of any receipts.

    python -m benchmarks.receipt_items --manifest MANIFEST --read FOLDER [--receipts receipts.jsonl] [--json FILE]

The arguments are those of `benchmarks.fields`. WildReceipt says which texts are names and prices, but not which belong
together: here they do if they have the same place from top to bottom (or, if there are more of one, if they stand on
one row of the true lines). A pair is found if an item has
this amount and a description that begins with this name, in which a fifth of the letters may differ. Items below zero
are discounts, which the truth does not name, and are not counted. Other receipts have no truth of items: of these, the
share is given whose items add up to the printed subtotal or total.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import orjson
from rapidfuzz.distance.Levenshtein import normalized_similarity

from benchmarks.fields import TYPES, kept, read_all, receipts
from inkgate.codec import parse_document
from inkgate.fields.extract import answer
from inkgate.fields.folded import fold
from inkgate.fields.kinds import KINDS
from inkgate.fields.kinds.base import parse
from inkgate.fields.proposed import proposed
from inkgate.fields.rules.rows import PrintedPages
from inkgate.types import Line, PageResult, Quad

ALIKE = 0.8
"""Least likeness of a name's letters and digits."""
Pair = tuple[str, Decimal]


def true_pairs(lines: Sequence[Mapping[str, Any]], truth: Mapping[str, Any]) -> list[Pair]:
    """Pairs of names and prices: those in the same place of both, from top to bottom, if there are as many of both;
    else those of one row, of two names on the row the first.
    """
    page = PageResult(0, lines=tuple(Line(each["text"], _quad(each["box"]), 1.0) for each in lines))
    listed = [truth.get(key, []) for key in ("prod_item", "prod_price")]
    names, prices = (Counter(each if isinstance(each, list) else [each]) for each in listed)
    rows = PrintedPages.of([page]).levelled(0).rows
    named = [at for at, row in enumerate(rows) if any(names[cell.text] for cell in row.cells)]
    if not named:
        return []
    cells = [[cell.text for cell in row.cells] for row in rows[max(0, named[0] - 1) : named[-1] + 2]]
    if names.total() == prices.total():
        own_names, own_prices = (_taken([text for row in cells for text in row], each) for each in (names, prices))
        pairs = list(zip(own_names, own_prices, strict=False))
    else:
        pairs = []
        for row in cells:
            own_names, own_prices = _taken(row, names), _taken(row, prices)
            pairs += [(own_names[0], own_prices[-1])] if own_names and own_prices else []
    numbers = ((name, _number(price)) for name, price in pairs)
    return [(name, number) for name, number in numbers if number is not None]


def _quad(box: Any) -> Quad:  # noqa: ANN401 - as JSON has it
    first, second, third, fourth = ((float(x), float(y)) for x, y in box)
    return (first, second, third, fourth)


def _taken(texts: Sequence[str], left: Counter[str]) -> list[str]:
    """The texts that are among those left, which get fewer."""
    found = []
    for text in texts:
        if left[text] > 0:
            left[text] -= 1
            found.append(text)
    return found


def items_in(pages: Sequence[PageResult]) -> tuple[list[Pair], bool | None]:
    """The items that were found, and whether they add up; None: there is nothing to compare."""
    schema = TYPES.named("receipt")
    found = answer(pages, schema, proposed(pages, schema))
    items = found.data["items"]
    assert isinstance(items, list)
    pairs = [(item["description"] or "", Decimal(item["amount"])) for item in items if item["amount"] is not None]
    return pairs, next((check.passed for check in found.checks if check.code == "sum_of_items"), None)


def right_of(found: Sequence[Pair], wanted: Sequence[Pair]) -> int:
    """How many of the wanted pairs were found."""
    left = list(found)
    right = 0
    for name, price in wanted:
        match = next((each for each in left if each[1] == price and _is_named(each[0], name)), None)
        if match is not None:
            left.remove(match)
            right += 1
    return right


def _is_named(description: str, name: str) -> bool:
    own, true = fold(description), fold(name)
    return normalized_similarity(own[: len(true)], true) >= ALIKE


def _number(text: str) -> Decimal | None:
    value = parse(KINDS["money"], text)
    reading = value.readings[0] if value is not None else None
    return reading if isinstance(reading, Decimal) else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--manifest", type=Path, required=True)
    parser.add_argument("--read", type=Path, required=True)
    parser.add_argument("--receipts", type=Path)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    entries = [each for each in json.loads(asked.manifest.read_text()) if isinstance(each.get("ground_truth"), dict)]
    entries = [each for each in entries if Path(each["path"]).name.startswith(("wildreceipt", "sroie"))]
    folder: Path = asked.manifest.parent
    read_all([folder / each["path"] for each in entries], asked.read)
    sums: dict[str, list[bool | None]] = {}
    wanted = found = right = 0
    for entry in entries:
        file, truth = folder / entry["path"], entry["ground_truth"]
        name = file.name.split("_")[0]
        pairs, adds_up = items_in(parse_document(kept(file, asked.read).read_bytes()).pages)
        sums.setdefault(name, []).append(adds_up)
        if name == "wildreceipt":
            fields = json.loads((folder / truth["fields"]).read_text())
            true = true_pairs(json.loads((folder / truth["lines"]).read_text()), fields)
            own = [each for each in pairs if each[1] >= 0]
            matched = right_of(own, true)
            wanted, found, right = wanted + len(true), found + len(own), right + matched
            if matched < max(len(true), len(own)):
                print(f"{file.name}: {matched} right of {len(true)} wanted and {len(own)} found")
    if asked.receipts is not None:
        sums["receipts as lines"] = [items_in([page])[1] for page, _ in receipts(asked.receipts)]
    precision, recall = (100 * right / max(1, each) for each in (found, wanted))
    print(f"WildReceipt: {wanted} pairs, {found} found, {right} right: precision {precision:.1f}, recall {recall:.1f}")
    for name, held in sums.items():
        print(f"{name}: items of {held.count(True)} of {len(held)} add up, of {held.count(False)} they don't")
    if asked.json is not None:
        report = {"wanted": wanted, "found": found, "right": right, "sums": sums}
        asked.json.write_bytes(orjson.dumps(report, option=orjson.OPT_INDENT_2))


if __name__ == "__main__":
    main()
