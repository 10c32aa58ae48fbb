"""Pipe tables as HTML."""

from inkgate.api.http.conversions import pipe_table_to_html


def test_cells_keep_their_text() -> None:
    cases = [
        (
            "| a | b |\n| --- | :-: |\n| 1 < 2 | x \\| y |",
            (
                "<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody>"
                "<tr><td>1 &lt; 2</td><td>x | y</td></tr></tbody></table>"
            ),
        ),
        (
            "| 1 | 2 |\n| 3 | 4 |",
            "<table><tbody><tr><td>1</td><td>2</td></tr><tr><td>3</td><td>4</td></tr></tbody></table>",
        ),
        ("| a<br>b |", "<table><tbody><tr><td>a<br>b</td></tr></tbody></table>"),
        ("<table><tr><td>1</td></tr></table>", "<table><tr><td>1</td></tr></table>"),
        ("", ""),
    ]
    assert [(markdown, found) for markdown, html in cases if (found := pipe_table_to_html(markdown)) != html] == []
