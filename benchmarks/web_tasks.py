"""Everyday tasks on the web page, done as a person does them: clicks, keys, and seconds.

    PYTHONPATH=tests python -m benchmarks.web_tasks [--only PART] [--json FILE]

The service runs in its own process with the embedded engine, the page in a real Chromium (`apt-get install chromium`).
Each task begins on the loaded page and ends when its result was checked: the clipboard, the saved file, or what is
shown. A click is a click, a tap, a drop, or a choice in a list or in the system's dialogue of files. A key is one key
or one shortcut; typed text is counted apart, by characters. `reading` are the seconds that the person waited for the
service. The rest is the page: a person also looks and thinks, which is not in it. The exit status is 1 if a task can't
be done.
"""

from __future__ import annotations

import argparse
import base64
import csv
import io
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pypdfium2
from PIL import Image, ImageDraw, ImageFont
from playwright.sync_api import Browser, Download, Error, Locator, Page, expect

from support.browser import chromium, drop, running_page, visit
from support.server import Server

ROOT = Path(__file__).parents[1]
REPORT = ROOT / "examples" / "report.png"
RECEIPT = ROOT / "src" / "inkgate" / "ui" / "assets" / "samples" / "receipt.png"
PHOTO = ROOT / "tests" / "data" / "specimens" / "train_ticket_paper.jpg"
BROKEN = ROOT / "tests" / "data" / "images" / "broken.png"
PAGES = 20
RECEIPTS = 30
WORD, WORD_PAGE = "lighthouse", 17
PASTE = """async (encoded) => {
  const bytes = Uint8Array.from(atob(encoded), (one) => one.charCodeAt(0));
  await navigator.clipboard.write([new ClipboardItem({ "image/png": new Blob([bytes], { type: "image/png" }) })]);
}"""


@dataclass
class WebTask:
    """What a task cost."""

    name: str
    clicks: int = 0
    keys: int = 0
    typed: int = 0
    seconds: float = 0
    reading: float = 0
    fault: str = ""


@dataclass
class Visitor:
    """A person at the page; everything they do is counted."""

    page: Page
    folder: Path
    cost: WebTask
    saved: list[Path] = field(default_factory=list)

    def click(self, what: str | Locator) -> None:
        self.cost.clicks += 1
        self._at(what).click()

    def press(self, key: str) -> None:
        self.cost.keys += 1
        self.page.keyboard.press(key)

    def write(self, text: str) -> None:
        self.cost.typed += len(text)
        self.page.keyboard.type(text)

    def drop(self, *files: Path | tuple[str, bytes]) -> None:
        self.cost.clicks += 1
        began = time.monotonic()
        drop(self.page, *files)
        self.cost.seconds -= time.monotonic() - began  # it goes from this program to the browser, not through a hand

    def choose_file(self, button: str, file: Path) -> None:
        """Presses the button and chooses in the dialogue of the system."""
        self.cost.clicks += 1
        with self.page.expect_file_chooser() as chooser:
            self.click(button)
        chooser.value.set_files(file)

    def choose(self, what: str, value: str) -> None:
        """Opens a list and chooses."""
        self.cost.clicks += 2
        self.page.select_option(what, value)

    def save(self, *clicks: str) -> Path:
        """Clicks, the last of which saves a file."""
        for each in clicks[:-1]:
            self.click(each)
        with self.page.expect_download() as download:
            self.click(clicks[-1])
        saved: Download = download.value
        path = self.folder / saved.suggested_filename
        saved.save_as(path)
        return path

    def clipboard(self) -> str:
        return str(self.page.evaluate("navigator.clipboard.readText()"))

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """For the service."""
        began = time.monotonic()
        yield
        self.cost.reading += time.monotonic() - began

    def await_read(self, count: int = 1) -> None:
        with self.waiting():
            expect(self.page.locator("#files .file.done")).to_have_count(count)

    def _at(self, what: str | Locator) -> Locator:
        return self.page.locator(what) if isinstance(what, str) else what


def drawn(*rows: str) -> Image.Image:
    image = Image.new("RGB", (1000, 120 + 70 * len(rows)), "white")
    for place, row in enumerate(rows):
        ImageDraw.Draw(image).text((60, 60 + 70 * place), row, "black", ImageFont.load_default(34))
    return image


@cache
def scan(pages: int = PAGES) -> tuple[str, bytes]:
    """A PDF of pictures, one of which has the word."""
    images = [
        drawn(
            f"Chapter {number}",
            "The harbour lay quiet in the early light,",
            f"and beyond the {WORD if number == WORD_PAGE else 'old storehouse'} nothing moved.",
        )
        for number in range(1, pages + 1)
    ]
    file = io.BytesIO()
    images[0].save(file, "PDF", save_all=True, append_images=images[1:], resolution=150)
    return "scan.pdf", file.getvalue()


@cache
def smudged() -> tuple[str, bytes]:
    """A note in which a word is crossed out."""
    image = drawn("Little Harbour Books", "Open daily from nine to five", "Closed on Wednesday")
    for left in range(240, 420, 16):
        ImageDraw.Draw(image).line((left, 200, left + 8, 245), "black", 2)
    file = io.BytesIO()
    image.save(file, "PNG")
    return "note.png", file.getvalue()


def table_of_a_screenshot(visitor: Visitor) -> None:
    """paste a screenshot, copy its table as CSV"""
    visitor.page.evaluate(PASTE, base64.b64encode(REPORT.read_bytes()).decode())
    visitor.press("Control+V")
    visitor.await_read()
    visitor.click(".csv")
    expect(visitor.page.locator(".csv")).to_have_text("Copied")
    assert "Gaza & West Bank,2.60\r\n" in visitor.clipboard()


def word_of_a_long_pdf(visitor: Visitor) -> None:
    """read a scanned PDF of 20 pages, find a word"""
    visitor.drop(scan())
    visitor.await_read()
    visitor.press("/")
    visitor.write(WORD)
    expect(visitor.page.locator("#find-count")).to_have_text("1 of 1")
    expect(visitor.page.locator("#page-number")).to_have_value(str(WORD_PAGE))
    expect(visitor.page.locator("#viewer polygon.picked")).to_have_count(1)


def doubtful_word(visitor: Visitor) -> None:
    """correct a doubtful word, download the text"""
    visitor.drop(smudged())
    visitor.await_read()
    visitor.press("n")
    before = visitor.page.locator("#result-preview mark:focus").inner_text()
    visitor.press("Enter")
    visitor.write("Wednesday")
    visitor.press("Enter")
    text = visitor.save(".menu summary", "[data-format=markdown]").read_text(encoding="utf-8")
    assert "Wednesday" in text
    assert before not in text.split()


def fields_of_a_receipt(visitor: Visitor) -> None:
    """extract a receipt's fields, correct one, download"""
    visitor.click("#tab-extract")
    visitor.drop(RECEIPT)
    merchant = visitor.page.locator("#fields-list .field").filter(has_text="merchant").first.locator("input")
    with visitor.waiting():
        expect(merchant).to_be_visible()
    visitor.click(merchant)
    visitor.press("Control+A")
    visitor.write("Harbour Bakery Ltd")
    visitor.press("Enter")
    saved = json.loads(visitor.save("#fields-json").read_text(encoding="utf-8"))
    assert saved["data"]["merchant_name"] == "Harbour Bakery Ltd"
    assert saved["data"]["total"] == "18.70"


@cache
def receipts(count: int = RECEIPTS) -> tuple[tuple[str, bytes], ...]:
    """Receipts, each with a total of its own."""
    made = []
    for number in range(1, count + 1):
        tea, cake = 200 + 10 * number, 350
        image = drawn(
            "Little Harbour Books",
            f"Receipt no. {1000 + number}      Date: 2026-03-{number % 28 + 1:02}",
            f"Tea                              {tea / 100:.2f}",
            f"Apple cake                       {cake / 100:.2f}",
            f"Total                            {(tea + cake) / 100:.2f}",
            "Paid in cash. Thank you!",
        )
        file = io.BytesIO()
        image.save(file, "PNG")
        made.append((f"receipt-{number:02}.png", file.getvalue()))
    return tuple(made)


def receipts_into_one_sheet(visitor: Visitor) -> None:
    """30 receipts into one sheet"""
    visitor.click("#tab-extract")
    visitor.drop(*receipts())
    with visitor.waiting():
        read = f"{RECEIPTS} of {RECEIPTS} documents read"
        expect(visitor.page.locator("#extract-total")).to_have_text(read, timeout=RECEIPTS * 20_000)
    book = zipfile.ZipFile(visitor.save("#sheet-xlsx"))
    rows = book.read("xl/worksheets/sheet1.xml").decode().count("<row ")
    assert rows == RECEIPTS + 1
    wanted = sum(200 + 10 * number + 350 for number in range(1, RECEIPTS + 1)) / 100
    table = visitor.save("#sheet-csv").read_text(encoding="utf-8-sig")
    visitor.cost.clicks -= 1  # the second file is a check of the first
    found = sum(float(row["total"] or 0) for row in csv.DictReader(io.StringIO(table)))
    assert abs(found - wanted) < wanted / 10, (found, wanted)


def items_of_an_invoice(visitor: Visitor) -> None:
    """correct an item, remove one, add one, save as Excel"""
    visitor.click("#tab-extract")
    visitor.drop(RECEIPT)
    first = visitor.page.get_by_label("description, row 1")
    with visitor.waiting():
        expect(first).to_be_visible()
    visitor.click(first)
    visitor.press("Control+A")
    visitor.write("Rye bread")
    visitor.click(visitor.page.get_by_role("button", name="Remove row 2"))
    visitor.click(visitor.page.get_by_role("button", name="Add a row"))
    visitor.write("Jam")
    visitor.press("Tab")
    texts = zipfile.ZipFile(visitor.save("#fields-xlsx")).read("xl/sharedStrings.xml").decode()
    assert "Rye bread" in texts
    assert "Jam" in texts
    assert "Coffee" not in texts


def files_with_a_broken_one(visitor: Visitor) -> None:
    """several files, one broken: see why"""
    visitor.drop(REPORT, BROKEN, RECEIPT)
    visitor.await_read(2)
    visitor.click(visitor.page.locator("#files .file.failed .file-name"))
    problem = visitor.page.locator("#failure .problem")
    with visitor.waiting():
        expect(problem).to_contain_text("broken.png: The image is damaged")
    expect(problem).to_contain_text("What to do: Open it in a viewer")


def files_after_an_outage(visitor: Visitor) -> None:
    """the network was down for three files: retry them"""
    visitor.page.context.set_offline(True)
    visitor.drop(REPORT, RECEIPT, smudged())
    expect(visitor.page.locator("#files .file.failed")).to_have_count(3)
    visitor.page.context.set_offline(False)
    visitor.click("#retry-failed")
    visitor.await_read(3)


def photo_on_a_phone(visitor: Visitor) -> None:
    """on a phone: from a photo to copied text"""
    visitor.choose_file("#choose", PHOTO)
    visitor.await_read()
    expect(visitor.page.locator("#copy-page")).to_be_in_viewport()
    visitor.click("#copy-page")
    expect(visitor.page.locator("#copy-page")).to_have_text("Copied")
    assert len(visitor.clipboard()) > 40
    assert visitor.page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0


def job_to_its_result(visitor: Visitor) -> None:
    """add a job, follow it to its end, open its result"""
    visitor.click("#tab-jobs")
    visitor.drop(scan(5))
    row = visitor.page.locator(".job").first
    with visitor.waiting():
        expect(row.locator(".badge")).to_have_text("done")
    visitor.click(row.locator("[data-act=show]"))
    expect(visitor.page.locator("#result-preview")).to_contain_text("Chapter 1")
    expect(visitor.page.locator("#page-count")).to_have_text("of 5")


def error_in_chinese(visitor: Visitor) -> None:
    """switch to Chinese, understand an error"""
    visitor.choose("#language", "zh")
    visitor.drop(BROKEN)
    with visitor.waiting():
        expect(visitor.page.locator("#failure .problem")).to_contain_text("图像已损坏")
    problem = visitor.page.locator("#failure .problem")
    expect(problem).to_contain_text("解决办法： 请在看图软件中打开并重新保存，然后发送新文件。")
    assert not re.search("[a-z]+ [a-z]+ [a-z]+", problem.inner_text())


def searchable_pdf(visitor: Visitor) -> None:
    """turn a scan into a searchable PDF"""
    visitor.drop(scan(3))
    visitor.await_read()
    with visitor.waiting():
        path = visitor.save(".menu summary", "[data-format=pdf]")
    with pypdfium2.PdfDocument(path) as pdf:
        assert "Chapter 3" in pdf[2].get_textpage().get_text_range()


def copied_curl(visitor: Visitor) -> None:
    """copy the curl line, run it"""
    name, data = scan(1)
    (visitor.folder / name).write_bytes(data)
    visitor.drop((name, data))
    visitor.await_read()
    visitor.click("#code-button")
    visitor.click("#code-copy")
    expect(visitor.page.locator("#code-copy")).to_have_text("Copied")
    with visitor.waiting():
        command = ["bash", "-ec", visitor.clipboard()]
        done = subprocess.run(command, cwd=visitor.folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "Chapter 1" in done.stdout, done.stdout


TASKS: tuple[Callable[[Visitor], None], ...] = (
    table_of_a_screenshot,
    word_of_a_long_pdf,
    doubtful_word,
    fields_of_a_receipt,
    items_of_an_invoice,
    receipts_into_one_sheet,
    files_with_a_broken_one,
    files_after_an_outage,
    photo_on_a_phone,
    job_to_its_result,
    error_in_chinese,
    searchable_pdf,
    copied_curl,
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="part of a task's name")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--wait", type=float, default=60, help="how long a person waits for anything (default: 60 s)")
    asked = parser.parse_args()
    expect.set_options(timeout=asked.wait * 1000)
    scan(), scan(5), scan(3), scan(1), smudged(), receipts()  # made before the clock runs
    with running_page() as server, chromium() as browser:
        costs = [perform(task, browser, server, asked.wait) for task in TASKS if asked.only in task.__name__]
    load = os.getloadavg()[0]
    print(f"\nload {load:.1f} at the end, {os.cpu_count()} cores, {datetime.now(UTC):%Y-%m-%d}")
    if asked.json:
        about = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "load": load, "cores": os.cpu_count()}
        about |= {"machine": platform.machine(), "tasks": [asdict(cost) for cost in costs]}
        asked.json.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    sys.exit(any(cost.fault for cost in costs))


def perform(task: Callable[[Visitor], None], browser: Browser, server: Server, wait_s: float) -> WebTask:
    cost = WebTask((task.__doc__ or "").strip())
    phone = task is photo_on_a_phone
    width, height = (390, 844) if phone else (1280, 860)
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            visit(browser, server, width=width, height=height) as page,
        ):
            page.set_default_timeout(wait_s * 1000)
            page.context.grant_permissions(["clipboard-read", "clipboard-write"])
            began = time.monotonic()
            task(Visitor(page, Path(folder), cost))
            cost.seconds += time.monotonic() - began
    except (AssertionError, Error) as error:
        cost.fault = str(error).strip()[:500] or type(error).__name__
    row = f"| {cost.name} | {cost.clicks} | {cost.keys} | {cost.typed} | {cost.seconds:.1f} | {cost.reading:.1f} |"
    print(row, f"FAILED: {cost.fault}" if cost.fault else "", flush=True)
    return cost


if __name__ == "__main__":
    print("| task | clicks | keys | characters | seconds | of which reading |\n| --- | --- | --- | --- | --- | --- |")
    main()
