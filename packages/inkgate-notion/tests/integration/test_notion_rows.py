"""Rows of a Notion database, written by the official SDK to a double of the API that enforces its limits."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from inkgate_client.types import Block, BlockType, CheckMark, Document, DocumentResult, PageResult, Table, TableCell
from inkgate_notion.calls import NotionAccess, NotionPace, NotionRefused, NotionUnavailable
from inkgate_notion.columns import NotionSchemaMismatch
from inkgate_notion.connect import NotionTarget, notion_rows
from inkgate_notion.documents import NotionDocument, notion_document
from inkgate_notion.rows import NotionRows, RowChange
from support.api_client import png
from support.notion import DATABASE, MIB, SOURCE, TOKEN, Fault, NotionDouble, notion_double

pytestmark = pytest.mark.anyio

FIELDS: dict[str, Any] = {
    "document_type": "receipt",
    "status": "complete",
    "data": {
        "merchant_name": "HARBOUR BAKERY",
        "date": "2026-03-14",
        "total": "18.70",
        "paid": True,
        "tax": None,
        "seller": {"city": "Little Port"},
        "items": [{"description": "Bread", "amount": "6.50"}, {"description": "Cake", "amount": None}],
    },
    "fields": {
        "/merchant_name": {"kind": "text", "confidence": 0.9},
        "/date": {"kind": "date", "confidence": 0.99},
        "/total": {"kind": "money", "confidence": 0.985},
        "/paid": {"kind": "boolean", "confidence": 0.97},
        "/tax": {"kind": "money", "confidence": None},
        "/seller/city": {"kind": "text", "confidence": 0.95},
    },
}


class Waits:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    async def sleep(self, pause_s: float) -> None:
        self.slept.append(pause_s)
        self.now += pause_s
        await anyio.lowlevel.checkpoint()


def text_of(count: int, text: str = "Paragraph") -> DocumentResult:
    blocks = tuple(
        Block(BlockType.TEXT, (0, 0, 1, 1), (), f"{text} {number}", f"{text} {number}") for number in range(count)
    )
    page = PageResult(0, text="x", blocks=blocks, markdown="x", engine="fake", confidence=0.8)
    return DocumentResult("receipt.png", "image/png", 10, 1, "fake", (page,))


def a_document(count: int = 2, data: bytes = b"", **fields: Any) -> NotionDocument:  # noqa: ANN401 - of any type
    known = {**FIELDS, "data": {**FIELDS["data"], **fields}}
    return notion_document(Document(data or png(), "in/receipt.png"), text_of(count), known)


@asynccontextmanager
async def rows_of(
    double: NotionDouble,
    waits: Waits | None = None,
    *,
    create: bool = True,
    **target: Any,  # noqa: ANN401 - of NotionTarget
) -> AsyncIterator[NotionRows]:
    waits = waits or Waits()
    access = NotionAccess(target.pop("token", TOKEN), double.url)
    wanted = NotionTarget(access, target.pop("database", DATABASE), create_columns=create, **target)
    async with notion_rows(wanted, NotionPace(clock=lambda: waits.now, sleep=waits.sleep)) as rows:
        yield rows


async def test_a_document_is_one_row_with_typed_fields_its_file_and_its_text() -> None:
    async with notion_double() as double, rows_of(double) as rows:
        written = await rows.put(a_document())
        assert (written.change, written.notes) == (RowChange.CREATED, ())
        [page] = double.rows
        values = double.values(page)
        mark = values.pop("inkgate").split()
        assert (len(mark), len(mark[0])) == (3, 64)
        assert values == {
            "Name": "receipt.png",
            "File": ["receipt.png"],
            "Document type": "receipt",
            "Pages": 1,
            "Confidence": 0.9,
            "Needs review": False,
            "merchant_name": "HARBOUR BAKERY",
            "date": "2026-03-14",
            "total": 18.7,
            "paid": True,
            "tax": None,
            "seller.city": "Little Port",
            "items": "Bread | 6.50\nCake | ",
        }
        assert double.file(page) == png()
        assert double.text(page["id"]) == ["Text read by inkgate", "Paragraph 0", "Paragraph 1"]


async def test_the_same_document_again_changes_nothing_and_other_values_change_only_them() -> None:
    async with notion_double() as double, rows_of(double) as rows:
        await rows.put(a_document())
        del double.requests[:]
        assert (await rows.put(a_document())).change is RowChange.UNCHANGED
        assert double.requests == [f"POST data_sources/{SOURCE}/query"]
        blocks = dict(double.blocks)
        assert (await rows.put(a_document(total="19.70"))).change is RowChange.UPDATED
        [page] = double.rows
        assert double.values(page)["total"] == 19.7
        assert double.blocks == blocks
        assert len(double.uploads) == 1


async def test_other_text_takes_the_place_of_the_old_one_and_leaves_what_people_wrote_beside_it() -> None:
    async with notion_double() as double, rows_of(double) as rows:
        await rows.put(a_document())
        [page] = double.rows
        note = {"type": "paragraph", "paragraph": {"rich_text": [{"type": "text", "text": {"content": "checked"}}]}}
        double._put(page["id"], [note] * 120)
        assert (await rows.put(a_document(3))).change is RowChange.UPDATED
        text = double.text(page["id"])
        assert text == ["checked"] * 120 + ["Text read by inkgate", "Paragraph 0", "Paragraph 1", "Paragraph 2"]


LONG = "POST data_sources/.*"
CRASHES = [
    ("after the upload", Fault("POST pages", times=9)),
    ("the upload's answer", Fault("POST file_uploads/.*/send", done=True, times=9)),
    ("the row's answer", Fault("POST pages", done=True)),
    ("before the text", Fault("PATCH blocks/.*/children", times=9)),
    ("inside of the text", Fault("PATCH blocks/.*/children", skip=2, times=9)),
    ("the answer of a part of the text", Fault("PATCH blocks/.*/children", skip=1, done=True)),
    ("before the end is noted", Fault("PATCH pages/.*", times=9)),
    ("the end's answer", Fault("PATCH pages/.*", done=True)),
    ("a server's error", Fault("PATCH blocks/.*/children", status=502)),
]


@pytest.mark.parametrize(("where", "fault"), CRASHES, ids=[where for where, _ in CRASHES])
async def test_wherever_it_breaks_off_the_next_attempt_ends_with_one_whole_row(where: str, fault: Fault) -> None:
    async with notion_double() as double:
        double.faults.append(replace(fault))
        async with rows_of(double) as rows:
            try:
                await rows.put(a_document(250))
            except NotionUnavailable:
                assert fault.times == 9
        double.faults.clear()
        async with rows_of(double) as rows:  # a new process
            await rows.put(a_document(250))
            assert (await rows.put(a_document(250))).change is RowChange.UNCHANGED
        [page] = double.rows
        expected = ["Text read by inkgate", *(f"Paragraph {number}" for number in range(250))]
        assert double.text(page["id"]) == expected
        assert double.file(page) == png()


async def test_the_pace_is_kept_and_pauses_that_notion_asks_for_hold_for_all() -> None:
    waits = Waits()
    async with notion_double() as double, rows_of(double, waits) as rows:
        await rows.put(a_document())
        assert waits.now == pytest.approx((len(double.requests) - 1) / 3)
        double.faults += [Fault("POST pages", 429, "7"), Fault("POST pages", 529, "3"), Fault("POST pages", 409)]
        before = waits.now
        await rows.put(a_document(data=png() + b"2"))
        assert waits.now - before >= 7 + 3 + 1
        assert len(double.rows) == 2


async def test_a_pause_that_is_too_long_is_left_to_the_caller() -> None:
    async with notion_double() as double, rows_of(double) as rows:
        double.faults.append(Fault("POST pages", 429, "3600"))
        with pytest.raises(NotionUnavailable) as away:
            await rows.put(a_document())
        assert away.value.retry_after_s == 3600
        assert double.rows == []


@pytest.mark.parametrize("order", [("1", "2"), ("2", "1")])
async def test_two_processes_with_the_same_document_leave_one_row(order: tuple[str, str]) -> None:
    async with notion_double() as double, rows_of(double) as one, rows_of(double) as other:
        pages, barrier, waiting = iter(order), anyio.Event(), [0]

        async def both_have_looked(request: str) -> None:
            if request == "POST pages" and not barrier.is_set():
                waiting[0] += 1
                if waiting[0] == 2:
                    new_id = double.new_id

                    def ordered() -> str:
                        return next(pages, "") + new_id()

                    double.new_id = ordered
                    barrier.set()
                await barrier.wait()

        double.before = both_have_looked
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one.put, a_document(3))
            tasks.start_soon(other.put, a_document(3))
        [page] = double.rows
        assert len(double.pages) == 2
        assert len(double.values(page)["inkgate"].split()) == 3
        assert len(double.text(page["id"])) == 4


async def test_two_processes_that_mend_the_same_row_leave_its_text_once() -> None:
    async with notion_double() as double, rows_of(double) as one, rows_of(double) as other:
        double.faults.append(Fault("PATCH blocks/.*", times=9))
        with pytest.raises(NotionUnavailable):
            await one.put(a_document(250))
        double.faults.clear()
        [page] = double.rows
        both, waiting = anyio.Event(), [0]

        async def both_have_looked(request: str) -> None:
            if request == f"PATCH blocks/{page['id']}/children" and not both.is_set():
                waiting[0] += 1
                if waiting[0] == 2:
                    both.set()
                await both.wait()

        async def put(rows: NotionRows) -> None:
            with suppress(NotionUnavailable):
                await rows.put(a_document(250))

        double.before = both_have_looked
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(put, one)
            tasks.start_soon(put, other)
        await one.put(a_document(250))
        assert double.text(page["id"]) == ["Text read by inkgate", *(f"Paragraph {number}" for number in range(250))]
        assert len(double.rows) == 1


async def test_a_row_in_the_trash_is_made_again() -> None:
    async with notion_double() as double, rows_of(double) as rows:
        await rows.put(a_document())
        double.rows[0]["in_trash"] = True
        assert (await rows.put(a_document())).change is RowChange.CREATED
        assert len(double.rows) == 1


async def test_a_row_that_is_trashed_while_it_is_written_is_made_again() -> None:
    async with notion_double() as double, rows_of(double) as rows:

        async def trash(request: str) -> None:
            if request.startswith("PATCH pages/"):
                double.before = None
                double.rows[0]["in_trash"] = True

        double.before = trash
        await rows.put(a_document())
        [page] = double.rows
        assert len(double.values(page)["inkgate"].split()) == 3


async def test_missing_columns_are_named_with_their_types() -> None:
    async with notion_double() as double:
        with pytest.raises(NotionSchemaMismatch) as misfit:
            async with rows_of(double, create=False):
                pass
        for name in ("`inkgate` (rich_text)", "`File` (files)", "`Confidence` (number)", "`Needs review` (checkbox)"):
            assert name in str(misfit.value)
        double.add_columns(inkgate="rich_text", Total="number")
        columns = {"Total": "fields.total", "When": "fields.date"}
        async with rows_of(double, create=False, columns=columns) as rows:
            with pytest.raises(NotionSchemaMismatch, match=r"no columns `When` \(date\)"):
                await rows.put(a_document())
            double.add_columns(When="date")  # meanwhile
            await rows.put(a_document())
        [page] = double.rows
        assert double.values(page) | {"inkgate": ""} == {
            "Name": "receipt.png",
            "inkgate": "",
            "Total": 18.7,
            "When": "2026-03-14",
        }


async def test_a_column_of_a_type_that_can_t_be_written_is_named() -> None:
    async with notion_double() as double:
        double.add_columns(inkgate="rich_text", total="formula")
        async with rows_of(double) as rows:
            with pytest.raises(NotionSchemaMismatch, match=r"`total` is of the type formula.*Make it number"):
                await rows.put(a_document())


async def test_a_value_that_does_not_fit_its_column_leaves_the_cell_empty_and_is_told_without_the_value() -> None:
    async with notion_double() as double:
        double.add_columns(inkgate="rich_text", N="number", Day="date")
        columns = {"N": "fields.merchant_name", "Day": "fields.total"}
        async with rows_of(double, columns=columns) as rows:
            written = await rows.put(a_document())
        assert written.notes == ("column `N`: the value is not a number", "column `Day`: the value is not a date")
        assert (double.values(double.rows[0])["N"], double.values(double.rows[0])["Day"]) == (None, None)


async def test_tables_marks_and_long_texts_keep_within_the_limits() -> None:
    """The double refuses whatever is longer, wider, deeper or larger than Notion allows."""
    cells = tuple(TableCell(row, column, f"{row}:{column}", header=row == 0) for row in range(250) for column in (0, 1))
    box = (0.0, 0.0, 1.0, 1.0)
    blocks = (
        Block(BlockType.TITLE, box, (), "Report", "# Report", level=1),
        Block(BlockType.TEXT, box, (), "", "字" * 50_000 + "𝄞" * 30_000),
        Block(BlockType.TABLE, box, (), "", "", table=Table(250, 2, cells)),
        Block(BlockType.LIST, box, (), "", "- one\n  goes on\n- two\n3. three"),
        Block(BlockType.FORMULA, box, (), "E", "$$E = mc^2$$"),
        Block(BlockType.CHECKBOX, box, (), "", "", checkbox=CheckMark(checked=True, label="agreed", confidence=0.9)),
    )
    page = PageResult(0, text="x", markdown="x", blocks=blocks)
    pages = (page, *(replace(page, index=index, blocks=None, markdown=f"Page *{index}*") for index in range(1, 120)))
    result = DocumentResult("report.pdf", "application/pdf", 10, 120, "fake", pages)
    async with notion_double() as double, rows_of(double) as rows:
        await rows.put(notion_document(Document(b"%PDF-1.7", "report.pdf"), result, None))
        [row] = double.rows
        text = double.text(row["id"])
    assert text[:3] == ["Text read by inkgate", "Page 1", "Report"]
    assert "".join(text).count("字") == 50_000
    assert "".join(text).count("𝄞") == 30_000
    assert [each for each in text if ":" in each] == [f"{number}:0{number}:1" for number in range(250)]
    assert "one\ngoes on" in text
    assert {"two", "3. three", "agreed", "Page 119"} <= set(text)


async def test_a_long_name_and_long_values_are_shortened_or_in_pieces() -> None:
    known = {**FIELDS, "data": {"notes": "word " * 3000}, "fields": {}}
    document = notion_document(Document(png(), "n" * 3000 + ".PNG"), text_of(1), known)
    async with notion_double() as double, rows_of(double) as rows:
        await rows.put(document)
        values = double.values(double.rows[0])
        assert values["notes"] == "word " * 3000
        assert len(values["Name"]) <= 2000


async def test_large_files_are_sent_in_parts_and_too_large_ones_are_left_out() -> None:
    large = b"%PDF-1.7" + bytes(21 * MIB)
    async with notion_double(most_file_bytes=30 * MIB) as double, rows_of(double) as rows:
        assert (await rows.put(a_document(data=large))).notes == ()
        assert double.file(double.rows[0]) == large
        assert [name for name in double.requests if name.endswith("/send")][2:] != []
    async with notion_double() as double, rows_of(double) as rows:
        written = await rows.put(a_document(data=large))
        assert written.notes == ("the file is larger than the 5 MB that the workspace allows; the row has none",)
        assert double.values(double.rows[0])["File"] == []
        assert (await rows.put(a_document(data=large))).change is RowChange.UNCHANGED


async def test_a_database_is_named_by_its_address_its_id_or_a_data_source() -> None:
    plain = DATABASE.replace("-", "")
    for name in (f"https://www.notion.so/acme/Scans-{plain}?v={SOURCE}", plain, DATABASE, SOURCE):
        async with notion_double() as double, rows_of(double, database=name) as rows:
            await rows.put(a_document())
            assert len(double.rows) == 1


async def test_what_is_wrong_with_the_settings_is_said() -> None:
    async with notion_double() as double:
        with pytest.raises(NotionSchemaMismatch, match="neither the address nor the ID"):
            async with rows_of(double, database="https://www.notion.so/acme"):
                pass
        with pytest.raises(NotionSchemaMismatch, match="add the connection"):
            async with rows_of(double, database="0" * 32):
                pass
        with pytest.raises(NotionSchemaMismatch, match=r"there is no value `total`"):
            async with rows_of(double, columns={"Total": "total"}):
                pass
        with pytest.raises(NotionRefused, match="401 unauthorized") as refused:
            async with rows_of(double, token="ntn_other"):  # noqa: S106
                pass
        assert refused.value.of_settings
        assert "ntn_other" not in repr(refused.value)
        double.sources.append("1f2e3d4c-0000-4000-8000-000000000003")
        with pytest.raises(NotionSchemaMismatch, match="several data sources"):
            async with rows_of(double):
                pass


async def test_a_file_that_notion_refuses_is_sent_again_the_next_time() -> None:
    async with notion_double() as double, rows_of(double) as rows:
        double.faults.append(Fault("POST file_uploads", 400))
        [note] = (await rows.put(a_document())).notes
        assert note.startswith("the row has no file: Notion answered 400")
        assert double.values(double.rows[0])["File"] == []
        assert (await rows.put(a_document())).notes == ()
        assert double.file(double.rows[0]) == png()
        assert (await rows.put(a_document())).change is RowChange.UNCHANGED


async def test_a_document_without_a_known_type_is_reviewed_by_its_pages() -> None:
    unknown: dict[str, Any] = {"document_type": None, "status": "needs_review", "data": {}, "fields": {}}
    document = notion_document(Document(png(), "letter.png"), text_of(1), unknown)
    assert (document.values["needs_review"].value, document.values["confidence"].value) == (False, 0.8)


async def test_documents_that_need_a_column_for_other_kinds_of_values_make_it_once() -> None:
    known = {**FIELDS, "fields": {**FIELDS["fields"], "/total": {"kind": "text", "confidence": 0.9}}}
    other = notion_document(Document(png() + b"x", "b.png"), text_of(2), known)
    async with notion_double() as double, rows_of(double) as rows, anyio.create_task_group() as tasks:
        del double.requests[:]
        tasks.start_soon(rows.put, a_document())
        tasks.start_soon(rows.put, other)
    assert double.requests.count(f"PATCH data_sources/{SOURCE}") == 1
    assert [double.values(row)["total"] for row in double.rows] == [18.7, 18.7]


@pytest.mark.parametrize("name", ["inkgate", "Name", "File"])
async def test_a_field_with_the_name_of_a_column_that_has_something_else_has_one_of_its_own(name: str) -> None:
    async with notion_double() as double, rows_of(double) as rows:
        known = {"document_type": "receipt", "status": "complete", "data": {name: "own"}}
        await rows.put(notion_document(Document(png(), "receipt.png"), text_of(1), known))
        values = double.values(double.rows[0])
        assert (values[f"{name} (field)"], values["Name"], values["File"]) == ("own", "receipt.png", ["receipt.png"])


@pytest.mark.parametrize("stem", ["😀" * 90, "a" * 190])
async def test_the_file_s_name_is_as_long_as_notion_allows_and_keeps_its_suffix(stem: str) -> None:
    async with notion_double() as double, rows_of(double) as rows:
        await rows.put(notion_document(Document(png(), f"in/{stem}.png"), text_of(1), FIELDS))
        [name] = double.values(double.rows[0])["File"]
        assert len(name.encode("utf-16-le")) // 2 >= 99
        assert name.endswith(f"{stem[0]}.png")


async def test_files_that_people_put_into_other_columns_don_t_keep_the_document_s_file_out() -> None:
    async with notion_double() as double, rows_of(double) as rows:
        double.faults.append(Fault("POST file_uploads", 400))
        await rows.put(a_document())
        [page] = double.rows
        file = {"type": "external", "name": "a", "external": {"url": "https://example.org/a"}}
        page["properties"]["Own"] = {"id": "own", "type": "files", "files": [file]}
        await rows.put(a_document())
        assert double.file(page) == png()
