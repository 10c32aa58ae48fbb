"""Forms: values below labels in boxes, and check boxes by the label beside them."""

from __future__ import annotations

import pytest

from inkgate.fields.extract import answer
from inkgate.fields.rules.extractor import propose
from inkgate.fields.rules.form_boxes import MAX_ENTRIES, form_entries
from inkgate.fields.rules.form_fields import FormReader
from inkgate.fields.rules.form_words import fit, words_in
from inkgate.fields.schema import FieldSchema
from inkgate_client.fields.values import Extraction, FieldStatus, Proposal
from inkgate_client.types import Block, BlockType, Line, PageResult, Table, TableCell

BOXES = [
    ["LENDER'S name, street address, city", "or foreign postal code", "", "Harbour Bank", "7 Quay Road", "Oldport"],
    ["1 Mortgage interest received", "from borrower(s)", "", "$", "1,250.40"],
    ["2 Points paid", "", "$"],
    ["LENDER'S TIN", "", "11-2233445"],
    ["BORROWER'S name", "", "Amy Lee", "", "Street address (including apt. no.)", "", "43 Hill Road", "",
     "City, state, ZIP", "", "Oldport 12345"],
    ["3 Refund of interest [x] 4 Insurance", "", "$", "300"],
    ["Signed [ ]"],
]  # fmt: skip
"""The lines of each box, top to bottom; an empty one is a gap."""


def line(text: str, left: float, top: float) -> Line:
    right = left + 9 * len(text)
    return Line(text, ((left, top), (right, top), (right, top + 16), (left, top + 16)), 0.99)


def form(boxes: list[list[str]], source: str = "text_layer") -> PageResult:
    """A page with a table of one row, a box a cell."""
    lines: list[Line] = []
    cells: list[TableCell] = []
    for column, texts in enumerate(boxes):
        first, top = len(lines), 100.0
        for text in texts:
            if text:
                lines.append(line(text, 800.0 * column, top))
            top += 22.0 if text else 12.0
        own = tuple(range(first, len(lines)))
        cells.append(TableCell(0, column, " ".join(filter(None, texts)), lines=own))
    table = Table(1, len(boxes), tuple(cells))
    block = Block(BlockType.TABLE, (0, 0, 9000, 900), tuple(range(len(lines))), "", "", table=table)
    return PageResult(0, lines=tuple(lines), blocks=(block,), source=source)


def extract(page: PageResult, *names: str, **types: str) -> Extraction:
    properties = {name: {"type": "string"} for name in names} | {name: {"type": kind} for name, kind in types.items()}
    schema = FieldSchema.of({"properties": properties})
    return answer([page], schema, propose([page], schema))


def test_values_stand_below_the_label_in_their_box() -> None:
    names = ("LenderName", "LenderAddress", "MortgageInterestReceived", "PointsPaid", "LenderTIN", "BorrowerName",
             "BorrowerAddress", "Insurance", "Pets")  # fmt: skip
    assert extract(form(BOXES), *names).data == {
        "LenderName": "Harbour Bank",
        "LenderAddress": "7 Quay Road Oldport",
        "MortgageInterestReceived": "1,250.40",
        "PointsPaid": None,
        "LenderTIN": "11-2233445",
        "BorrowerName": "Amy Lee",
        "BorrowerAddress": "43 Hill Road Oldport 12345",
        "Insurance": "300",
        "Pets": None,
    }


def test_an_amount_in_a_box_is_a_number_where_the_schema_wants_one() -> None:
    assert extract(form(BOXES), mortgage_interest="number").data == {"mortgage_interest": 1250.4}


def test_check_boxes_are_booleans_by_their_label() -> None:
    found = extract(form(BOXES), RefundOfInterest="boolean", signed="boolean", LenderTIN="boolean")
    assert found.data == {"RefundOfInterest": True, "signed": False, "LenderTIN": None}
    source = found.fields["/signed"].sources[0]
    assert (source.text, source.label) == ("[ ]", "Signed")
    assert found.fields["/LenderTIN"].status is FieldStatus.NOT_FOUND


def test_check_boxes_outside_forms_have_their_label_on_either_side() -> None:
    lines = (
        line("[x] Married [ ] Single", 0, 0),
        line("Pets: [ ] Car: [x]", 0, 40),
        line("[x]", 0, 80),
        line("Smoker", 40, 80),
    )
    found = extract(
        PageResult(0, lines=lines), **dict.fromkeys(("married", "single", "pets", "car", "smoker"), "boolean")
    )
    assert found.data == {"married": True, "single": False, "pets": False, "car": True, "smoker": True}


def test_a_given_boolean_is_kept_only_if_the_box_agrees() -> None:
    page, schema = form(BOXES), FieldSchema.of({"properties": {"signed": {"type": "boolean"}}})
    true, false = (answer([page], schema, {"/signed": [Proposal(mark, "given", 1.0)]}) for mark in ("[x]", "[ ]"))
    assert true.data == {"signed": None}
    assert true.fields["/signed"].status is FieldStatus.UNGROUNDED
    assert false.data == {"signed": False}


def test_tables_are_no_forms() -> None:
    rows = [["Item"], ["Price"], ["Pen"], ["1.00"], ["Ink"], ["2.00"]]
    assert form_entries([form(rows)]) == []


@pytest.mark.parametrize(
    ("wanted", "label", "fits"),
    [
        ("federal income tax withheld", "4 Federal lncome tax withheld", True),
        ("direct sale 5000", "7 Payer made direct sales totaling $5,000 or more", True),
        ("account number", "Account (see instructions)", True),
        ("state income", "15 State tax withheld", False),
        ("rents", "2 Royalties", False),
    ],
)
def test_labels_fit_if_they_have_the_words_of_the_field(wanted: str, label: str, fits: bool) -> None:
    assert (fit(wanted, words_in(label)) >= 0.5) is fits


def test_hostile_forms_are_bounded() -> None:
    cells = [[f"Label {i} [x] " * 12, "", "x " * 100] for i in range(1500)]
    reader = FormReader.of([form(cells)])
    assert len(reader.entries) <= MAX_ENTRIES
    schema = FieldSchema.of_names([f"label {i} " + "word " * 30 for i in range(100)])
    for leaf in schema.leaves:
        reader.mark(leaf)
    assert reader.left < 0
    alone = PageResult(0, lines=tuple(line("[ ]", 0, 30.0 * i) for i in range(2000)))
    assert len(form_entries([alone])) == 2000
