"""Items: rows of tables as arrays of objects."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from inkgate.fields.document_types import DocumentTypes
from inkgate.fields.extract import answer
from inkgate.fields.proposed import proposed
from inkgate.fields.schema import FieldSchema
from inkgate_client.fields.values import Extraction
from inkgate_client.types import Block, BlockType, Line, PageResult, Table, TableCell

INVOICE = DocumentTypes.load().named("invoice")
ROWS = """
Pos|Description|Qty|Unit price|Amount
1|Rope, 10 m|2|4.25|8.50
2|Anchor|1|20.00|20.00
|with chain|||
3|Sail cloth|3|1.10|3.30
Subtotal||||31.80
VAT 20 %||||6.36
"""


def page(text: str, index: int = 0, *, header: bool = True, continues: bool = False) -> PageResult:
    """A page with nothing but a table."""
    lines: list[Line] = []
    cells = []
    rows = [row.split("|") for row in text.strip().splitlines()]
    for at, row in enumerate(rows):
        for column, content in enumerate(row):
            left, top = 200.0 * column, 30.0 * at
            numbers: tuple[int, ...] = ()
            if content:
                numbers = (len(lines),)
                quad = ((left, top), (left + 150, top), (left + 150, top + 20), (left, top + 20))
                lines.append(Line(content, quad, 0.98))
            cells.append(TableCell(at, column, content, lines=numbers, header=header and at == 0))
    table = Table(len(rows), max(map(len, rows)), tuple(cells), continues)
    block = Block(BlockType.TABLE, (0, 0, 1000, 1000), tuple(range(len(lines))), text, text, table=table)
    return PageResult(index, lines=tuple(lines), blocks=(block,))


def found(*pages: PageResult, schema: FieldSchema = INVOICE) -> Extraction:
    return answer(pages, schema, proposed(pages, schema))


def items(extraction: Extraction) -> Any:  # noqa: ANN401
    return extraction.data["items"]


def test_rows_become_items_until_the_sums() -> None:
    extraction = found(page(ROWS))
    assert items(extraction) == [
        {"description": "Rope, 10 m", "quantity": "2", "unit_price": "4.25", "amount": "8.50"},
        {"description": "Anchor with chain", "quantity": "1", "unit_price": "20.00", "amount": "20.00"},
        {"description": "Sail cloth", "quantity": "3", "unit_price": "1.10", "amount": "3.30"},
    ]
    amount = extraction.fields["/items/1/amount"]
    assert (amount.text, amount.origin, amount.sources[0].label) == ("20.00", "table", "Amount")
    passed = {check.code: check.passed for check in extraction.checks}
    assert passed["item_amounts"]
    assert passed["sum_of_items"]


def test_an_item_that_does_not_multiply_is_invalid_and_no_other() -> None:
    extraction = found(page(ROWS.replace("|3|1.10|", "|3|1.70|")))
    statuses = {path: field.status.value for path, field in extraction.fields.items() if path.endswith("/amount")}
    assert statuses == {"/items/0/amount": "found", "/items/1/amount": "found", "/items/2/amount": "invalid"}
    assert extraction.status.value == "needs_review"


def test_a_table_goes_on_over_the_page() -> None:
    first = page("\n".join(ROWS.strip().splitlines()[:3]))
    second = page("\n".join(ROWS.strip().splitlines()[3:]), 1, header=False, continues=True)
    extraction = found(first, second)
    assert [item["amount"] for item in items(extraction)][:2] == ["8.50", "20.00"]
    assert extraction.fields["/items/2/amount"].sources[0].page == 1


def test_numbers_in_the_schema_s_own_types_and_in_inner_objects() -> None:
    properties = {
        "what": {"type": "string", "title": "Description"},
        "how_many": {"type": "integer", "title": "Qty"},
        "price": {"type": "object", "properties": {"value": {"type": "number", "title": "Amount"}}},
    }
    schema = FieldSchema.of(
        {
            "type": "object",
            "properties": {"rows": {"type": "array", "items": {"type": "object", "properties": properties}}},
        }
    )
    rows: Any = found(page(ROWS), schema=schema).data["rows"]
    assert rows[0] == {"what": "Rope, 10 m", "how_many": 2, "price": {"value": 8.5}}


def test_other_tables_and_arrays_of_texts_give_no_items() -> None:
    assert items(found(page("Name|Town\nAnn|Oslo\nBea|Rome"))) == []
    names = FieldSchema.of({"properties": {"names": {"type": "array", "items": {"type": "string"}}}})
    assert found(page(ROWS), schema=names).data == {"names": []}


def test_cells_without_lines_and_too_many_rows_are_left_out() -> None:
    many = page("Description|Amount\n" + "\n".join(f"Thing {number}|1.00" for number in range(1200)))
    assert len(items(found(many))) == 1000
    bare = replace(many, lines=())
    assert items(found(bare)) == []
