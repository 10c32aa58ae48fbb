"""Tables: OTSL to HTML, and HTML made safe and whole."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from lxml import html as lxml_html

from inkgate.engines.vlm.parsers.markup import cell_rows, sanitize_html, table_text
from inkgate.engines.vlm.parsers.otsl import otsl_table, otsl_to_html
from inkgate_client.types import Size

PAGE = Size(1000, 1000)


def test_otsl_becomes_html_with_spans() -> None:
    cases = [
        (
            "<fcel>a<fcel>b<nl><fcel>c<ecel><nl>",
            "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td><td></td></tr></table>",
        ),
        (
            "<fcel>wide<lcel><fcel>x<nl><fcel>1<fcel>2<fcel>3<nl>",
            '<table><tr><td colspan="2">wide</td><td>x</td></tr><tr><td>1</td><td>2</td><td>3</td></tr></table>',
        ),
        (
            "<fcel>high<fcel>1<nl><ucel><fcel>2<nl><ucel><fcel>3<nl>",
            '<table><tr><td rowspan="3">high</td><td>1</td></tr><tr><td>2</td></tr><tr><td>3</td></tr></table>',
        ),
        (
            "<fcel>big<lcel><fcel>1<nl><ucel><xcel><fcel>2<nl>",
            '<table><tr><td colspan="2" rowspan="2">big</td><td>1</td></tr><tr><td>2</td></tr></table>',
        ),
        ("<ched>head<nl><fcel>a<nl>", "<table><tr><th>head</th></tr><tr><td>a</td></tr></table>"),
        ("<lcel><fcel>a<nl>", "<table><tr><td></td><td>a</td></tr></table>"),
        ("<fcel>a<xcel><nl>", "<table><tr><td>a</td><td></td></tr></table>"),
        ("<fcel>1 < 2 & <b>x</b><nl>", "<table><tr><td>1 &lt; 2 &amp; &lt;b&gt;x&lt;/b&gt;</td></tr></table>"),
        ("<fcel>two\nlines<nl>", "<table><tr><td>two<br>lines</td></tr></table>"),
        ("<fcel>a<fcel>cut of", "<table><tr><td>a</td><td>cut of</td></tr></table>"),
        ("<nl><nl>", ""),
    ]
    assert [(otsl, found) for otsl, html in cases if (found := otsl_to_html(otsl)) != html] == []


def test_a_table_that_is_no_rectangle_of_cells_keeps_every_text() -> None:
    # The second row's <ucel> has only one of the two columns that the cell above spans.
    assert cell_rows(otsl_to_html("<fcel>a<lcel><nl><ucel><fcel>b<nl>")) == [["a"], ["", "b"]]


def test_an_otsl_answer_has_html_as_markdown_and_tabs_in_its_text() -> None:
    answer = otsl_table("<fcel>a<fcel>b &amp; c<nl><fcel>1<ecel><nl>", PAGE)
    assert answer.markdown == "<table><tr><td>a</td><td>b &amp; c</td></tr><tr><td>1</td><td></td></tr></table>"
    assert answer.text == "a\tb & c\n1"


def test_a_table_answered_without_otsl_is_still_read() -> None:
    assert otsl_table("<table><tr><td onclick=x>a</td></tr>", PAGE).markdown == "<table><tr><td>a</td></tr></table>"
    assert otsl_table("just text", PAGE).text == "just text"


otsl_pieces = st.sampled_from(
    ["<fcel>", "<ecel>", "<lcel>", "<ucel>", "<xcel>", "<nl>", "<ched>", "a", "<", "\n", "&lt;"]
)


@given(st.lists(otsl_pieces, max_size=40).map("".join) | st.text())
def test_any_otsl_gives_rows_whose_cells_do_not_overlap(otsl: str) -> None:
    html = otsl_to_html(otsl)
    if not html:
        return
    taken: set[tuple[int, int]] = set()
    rows = lxml_html.fragment_fromstring(html).xpath("./tr")
    for r, row in enumerate(rows):
        c = 0
        for cell in row:
            while (r, c) in taken:
                c += 1
            wide, high = int(cell.get("colspan", 1)), int(cell.get("rowspan", 1))
            area = {(r + i, c + j) for i in range(high) for j in range(wide)}
            assert not area & taken
            assert r + high <= len(rows)
            taken |= area


def test_html_keeps_its_tables_and_loses_the_rest() -> None:
    cases = [
        (
            '<TABLE border="1" style="x"><tr class=a><td rowspan="2" colspan=\'3\' onclick="x()">a</td></tr></TABLE>',
            '<table><tr><td colspan="3" rowspan="2">a</td></tr></table>',
        ),
        ("<table><tr><td>a<script>alert(1)</script>b</td></tr></table>", "<table><tr><td>aalert(1)b</td></tr></table>"),
        ("<table><tr><td>a<script>alert(1)", "<table><tr><td>aalert(1)</td></tr></table>"),
        ("<table><tr><td><img src=x onerror=y>a</td></tr></table>", "<table><tr><td>a</td></tr></table>"),
        ("<table><tr><td>H<sub>2</sub>O<br/>&lt;b&gt;", "<table><tr><td>H<sub>2</sub>O<br>&lt;b&gt;</td></tr></table>"),
        ("<table><tr><td>1<td>2<tr><td>3", "<table><tr><td>1</td><td>2</td></tr><tr><td>3</td></tr></table>"),
        (
            "<table><thead><tr><th>h</thead><tbody><td>d",
            "<table><thead><tr><th>h</th></tr></thead><tbody><tr><td>d</td></tr></tbody></table>",
        ),
        ("<table>lost<tr><td>a</td></tr></table>", "<table><tr><td>lost</td></tr><tr><td>a</td></tr></table>"),
        ("<table><tr><td>a</td></tr><tr><td co", "<table><tr><td>a</td></tr><tr></tr></table>"),
        ("<table><tr><td>a</p></td></b></tr></table></table>", "<table><tr><td>a</td></tr></table>"),
        (
            "<table><tr><td><table><tr><td>in</td></tr></table>out</td></tr></table>",
            "<table><tr><td><table><tr><td>in</td></tr></table>out</td></tr></table>",
        ),
        (
            "<table><tr><td rowspan=99999 colspan=0>a</td></tr></table>",
            '<table><tr><td rowspan="1000">a</td></tr></table>',
        ),
        ("<scr<script>x</script>ipt>alert(1)</script>", "&lt;scrxipt&gt;alert(1)"),
        ("a <!-- b --> c", "a &lt;!-- b --&gt; c"),
    ]
    assert [(html, found) for html, safe in cases if (found := sanitize_html(html)) != safe] == []


def test_table_text_is_rows_of_cells() -> None:
    html = "<table><caption>Sums</caption><tr><th>a<th>b<br>c</tr><tr><td> 1 <td>&lt;2&gt;</tr></table>"
    assert table_text(html) == "Sums\na\tb c\n1\t<2>"


html_pieces = st.sampled_from(
    [
        "<table>",
        "</table>",
        "<tr>",
        "</tr>",
        "<td>",
        "<td colspan=2>",
        "</td>",
        "<thead>",
        "</thead>",
        "<caption>",
        "<b>",
        "</b>",
        "<br>",
        "a",
        " ",
        "<",
        ">",
        "&",
        "<script>",
        "</script>",
        "<!--",
        "<img src=x onerror=y>",
        "<p>",
        "</",
    ]
)


@given(st.lists(html_pieces, max_size=30).map("".join) | st.text())
def test_any_html_comes_out_safe_well_formed_and_stable(html: str) -> None:
    safe = sanitize_html(html)
    assert sanitize_html(safe) == safe
    allowed = {
        "div",
        "table",
        "thead",
        "tbody",
        "tfoot",
        "tr",
        "td",
        "th",
        "caption",
        "br",
        "b",
        "strong",
        "i",
        "em",
        "u",
        "s",
        "sub",
        "sup",
    }
    printable = "".join(sign for sign in safe if sign.isprintable() or sign == " ")
    tree = lxml_html.fragment_fromstring(printable, create_parent="div")
    assert {element.tag for element in tree.iter()} <= allowed
    assert {name for element in tree.iter() for name in element.attrib} <= {"rowspan", "colspan"}


def test_a_loop_of_nested_tables_is_cut_at_a_depth() -> None:
    assert sanitize_html("<table><tr><td>" * 5000).count("<table>") < 64
