"""Tables that are found by their words alone."""

from inkgate_client.types import BlockType
from support.layouts import PAGE, PITCH, arrange, column, line, prose

LEFTS = (200, 330, 460, 540)


def test_names_of_columns_that_nearly_touch_are_the_header() -> None:
    # Names of months fill their columns: between them is less than the gap that parts cells.
    names = [("Station", 110), ("January", 120), ("April", 74), ("July", 60)]
    header = [line(text, left, 300, width) for left, (text, width) in zip(LEFTS, names, strict=True)]
    header[1] = line("January", 330, 300, 122)
    rows = [
        [("Northtown", 120), ("-4.1", 50), ("5.0", 40), ("16.2", 50)],
        [("Harbour", 90), ("1.3", 40), ("8.8", 40), ("18.9", 50)],
        [("East Gate", 118), ("-0.5", 50), ("7.1", 40), ("19.4", 50)],
        [("Mill", 60), ("-1.0", 50), ("6.6", 40), ("18.0", 50)],
    ]
    body = [
        line(text, left, 300 + (i + 1) * PITCH, width)
        for i, row in enumerate(rows)
        for left, (text, width) in zip(LEFTS, row, strict=True)
    ]
    above, below = column(prose("above", 5), 100, 100, 900), column(prose("below", 5), 100, 500, 900)
    found = arrange([*above, *header, *body, *below], PAGE, [])
    tables = [block for block in found.blocks if block.type is BlockType.TABLE]
    assert len(tables) == 1
    assert "| Station | January | April | July |\n| --- |" in found.markdown


def test_a_line_above_a_table_is_no_header() -> None:
    title = [line("Temperatures in May", 200, 300, 190), line("and June", 400, 300, 80)]
    body = [line(f"{i + j}.{i}", left, 300 + (i + 1) * PITCH, 50) for i in range(4) for j, left in enumerate(LEFTS)]
    found = arrange([*title, *body], PAGE, [])
    assert "| Temperatures" not in found.markdown
