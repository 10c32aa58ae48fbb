"""Write invoices and receipts with exact truth: `python -m training.fields.generate OUT --documents N --seed S --half tuning`."""

import argparse
import json
import multiprocessing
import random
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from training.fields import invoice, receipt
from training.fields.bill import Kind, make_bill
from training.fields.paper import Press, press
from training.fields.photo import photograph
from training.fields.regions import pick_region
from training.fields.sheet import Sheet
from training.fields.words import Half

_RECEIPTS = 0.4
"""The share of receipts."""
_ATTEMPTS = 8
"""How often a document that doesn't fit its paper is drawn again."""


def layouts(kind: Kind, half: Half) -> list[str]:
    """The names of a half's layouts."""
    if kind == "invoice":
        return [name for name, layout in invoice.LAYOUTS.items() if layout.half == half]
    return [name for name, layout in receipt.LAYOUTS.items() if layout.half == half]


def compose(seed: str, half: Half, attempt: int = 0) -> tuple[str, str, Sheet, tuple[int, int]]:
    """The name, the HTML, the sheet and the paper's size of one document. Attempts differ in all but kind, layout and country."""
    rng = random.Random(f"fields-{half}-{seed}")
    kind: Kind = "receipt" if rng.random() < _RECEIPTS else "invoice"
    region = pick_region(rng, tuning=half == "tuning")
    layout = rng.choice(layouts(kind, half))
    if attempt:
        rng = random.Random(f"fields-{half}-{seed}-{attempt}")
    bill = make_bill(rng, kind, region, half)
    draw = invoice.draw_invoice if kind == "invoice" else receipt.draw_receipt
    sheet, html, size = draw(rng, bill, layout)
    return f"{kind}-{region.country.lower()}-{layout}-{seed}", html, sheet, size


def _write(path: Path, data: bytes) -> None:
    """Write the file so that it is whole or not there."""
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(data)
    part.replace(path)


def _json(value: Any) -> bytes:  # noqa: ANN401 - JSON
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _print(printer: Press, folder: Path, seed: str, half: Half, scans: Mapping[Kind, float]) -> bool:
    """Write one document; False if no attempt fits its paper."""
    for attempt in range(_ATTEMPTS):
        name, html, sheet, (width, height) = compose(seed, half, attempt)
        if (folder / f"{name}.fields.json").is_file():
            return True
        printed = printer.print_document(html, width, height)
        if printed is None:
            continue
        pdf, page = printed
        truth = {**sheet.truth(html), "layout": name.split("-")[2], **page}
        scanned = random.Random(f"scan-{half}-{seed}").random() < scans[sheet.bill.kind]
        if scanned and page["pages"] == 1:
            data, seen = photograph(pdf, page, f"{half}-{seed}", receipt=sheet.bill.kind == "receipt")
            _write(folder / f"{name}-scan.jpg", data)
            _write(folder / f"{name}-scan.fields.json", _json({**truth, **seen}))
        _write(folder / f"{name}.pdf", pdf)
        _write(folder / f"{name}.fields.json", _json(truth))
        return True
    return False


def _print_share(seeds: list[str], folder: Path, half: Half, scans: Mapping[Kind, float]) -> None:
    with press() as printer:
        for seed in seeds:
            if not _print(printer, folder, seed, half, scans):
                print(f"{seed}: no attempt fits its paper", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--half", choices=("tuning", "judging"), required=True)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument(
        "--scans", type=float, default=0.0, help="the share of documents that are scanned or photographed too"
    )
    parser.add_argument("--receipt-scans", type=float, help="that of receipts, if another")
    options = parser.parse_args()
    of_receipts = options.scans if options.receipt_scans is None else options.receipt_scans
    scans: dict[Kind, float] = {"invoice": options.scans, "receipt": of_receipts}
    options.folder.mkdir(parents=True, exist_ok=True)
    seeds = [f"{options.seed}-{n:05}" for n in range(options.documents)]
    start = time.perf_counter()
    processes = [
        multiprocessing.Process(
            target=_print_share, args=(seeds[n :: options.workers], options.folder, options.half, scans)
        )
        for n in range(options.workers)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    print(f"{len(seeds)} documents in {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
