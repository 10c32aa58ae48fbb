"""What a document says is shown, and never runs."""

import pytest

from inkgate.ui.results import to_html


def test_headings_lists_and_tables_are_rendered() -> None:
    html = to_html("# Title\n\n- one\n- two\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n")
    assert "<h1>Title</h1>" in html
    assert "<li>one</li>" in html
    assert "<td>1</td>" in html


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "text <img src=x onerror=alert(1)> text",
        "<iframe src='//elsewhere'></iframe>",
        "[click](javascript:alert(1))",
        "[click](https://elsewhere)",
        "![seen](https://elsewhere/pixel.png)",
        '<table onclick="alert(1)"><tr><td style="x" colspan="2 onload=1">a<script>b</script></td></tr></table>',
        "<table><tr><td><a href='https://elsewhere'>c</a></td></tr></table>",
        "<style>body{display:none}</style>",
        "<table/><svg onload=alert(1)>",
    ],
)
def test_nothing_of_a_document_becomes_a_tag_that_could_do_something(hostile: str) -> None:
    html = to_html(hostile).lower()
    for forbidden in ("<script", "<img", "<iframe", "<a ", "<style", "<svg", 'onclick="', 'style="', "href="):
        assert forbidden not in html.replace("&lt;", "")


def test_a_models_table_keeps_its_cells_and_spans() -> None:
    html = to_html('<table><tr><td rowspan="2">a &amp; b</td><td>c<br>d</td></tr><tr><td>e</table>\n')
    assert '<td rowspan="2">a &amp; b</td>' in html
    assert "<td>c<br>d</td>" in html
    assert html.count("<td") == html.count("</td>") == 3
    assert html.rstrip().endswith("</td></tr></table>\n</div>")


def test_a_picture_is_its_description() -> None:
    assert '<span class="ink-figure">Figure 1</span>' in to_html("![Figure 1](figure-1.png)")
