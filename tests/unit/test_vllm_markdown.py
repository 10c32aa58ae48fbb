"""Markdown, plain text, charts, formulas and fields as models write them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html as lxml_html
from markdown_it import MarkdownIt

from inkgate.engines.vlm.parsers.answer import ParsedAnswer, Parser, json_fields
from inkgate.engines.vlm.parsers.latex import formula
from inkgate.engines.vlm.parsers.markdown import chart_table, markdown, plain, plain_text, safe_markdown
from inkgate.errors import EngineFailed
from inkgate_client.types import Size

PAGE = Size(1000, 1000)

DOCUMENT = r"""# A *small* Report

**Total** of `x_1`: 3 \* 4 &amp; more, see [the site](https://example.org) and ![a chart](c.png).

- first
- [x] second_item
1. third

> quoted

| a | b \| c |
| --- | :-: |
| 1 | 2 |

<table border="1"><tr><td colspan=2>wide</td></tr><tr><td>l</td><td>r</td></tr></table>

$$E = mc^2 * a_1 * b_1$$ and $a_1*b_1*c$ and \(x^*_1\)

---

```mermaid
graph TD; A-->B
```
"""


def test_markdown_is_kept_and_its_text_taken_out() -> None:
    answer = markdown(DOCUMENT, PAGE)
    assert answer.markdown == DOCUMENT.strip().replace(' border="1"', "").replace("colspan=2", 'colspan="2"')
    assert answer.text.split("\n\n") == [
        "A small Report",
        "Total of x_1: 3 * 4 & more, see the site and a chart.",
        "first\nsecond_item\n1. third",
        "quoted",
        "a\tb | c\n1\t2",
        "wide\nl\tr",
        r"$$E = mc^2 * a_1 * b_1$$ and $a_1*b_1*c$ and \(x^*_1\)",
        "graph TD; A-->B",
    ]


def test_html_in_markdown_does_nothing() -> None:
    cases = [
        ("a <script>alert(1)</script> b", "a &lt;script>alert(1)&lt;/script> b"),
        ("<img src=x onerror=alert(1)>text", "text"),
        ('<div style="text-align:center">mid</div>', "mid"),
        ("H<sub>2</sub>O<br/>x<sup class=a>2</sup>", "H<sub>2</sub>O<br>x<sup>2</sup>"),
        ("if a <b and c> d", "if a &lt;b and c> d"),
        ("if n <p and q> m", "if n &lt;p and q> m"),
        ("$a<b$ but a<b, `a<b`", "$a< b$ but a&lt;b, `a< b`"),
        (r"\<script>", r"\< script>"),
        (r"\\<script>", r"\\< script>"),
        ("<<div>script>", "&lt;script>"),
        ("x < y <= z <- w", "x < y <= z <- w"),
        ("<https://example.org>", "&lt;https://example.org>"),
        ("<!-- hidden -->shown", "&lt;!-- hidden -->shown"),
        ("a\n```\n<b onclick=x>\n```\n<i onclick=x>i</i>", "a\n\n```\n<b onclick=x>\n```\n\n<i>i</i>"),
        ("- a\n\n   ```\n<b>", "- a\n\n```\n<b>"),
        ("``````<script>```", "``````< script>```"),
        ("before\n<table><tr><td>cut", "before\n<table><tr><td>cut</td></tr></table>"),
        ("<table></table>\n<script>", "<table></table>\n&lt;script>"),
    ]
    assert [(text, found) for text, safe in cases if (found := safe_markdown(text)) != safe] == []


def test_plain_text_is_what_a_reader_sees() -> None:
    cases = [
        ("snake_case_name and 2*3*4", "snake_case_name and 234"),
        ("C# is ## not a heading", "C# is ## not a heading"),
        ("## Title ##", "Title"),
        ("* * *", ""),
        (r"\# no heading, \_ \| \\", r"# no heading, _ \| " + "\\"),
        ("$5 and $6 *each*", "$5 and $6 each"),
        ("~~~\n# kept\n~~~", "# kept"),
        ("```\ncut off", "cut off"),
    ]
    assert [(markup, found) for markup, text in cases if (found := plain_text(markup)) != text] == []


def test_plain_output_keeps_its_lines() -> None:
    assert plain(" one \n*two*\r\n\n<b>three  \n", PAGE) == ParsedAnswer(text="one\n*two*\n\n<b>three")


def test_a_chart_of_bars_becomes_a_pipe_table() -> None:
    answer = chart_table("Year | Sales\n2023 | 5\n2024 | 7 | x\n", PAGE)
    assert answer.markdown == "| Year | Sales |  |\n| --- | --- | --- |\n| 2023 | 5 |\n| 2024 | 7 | x |"
    assert answer.text == "Year\tSales\n2023\t5\n2024\t7\tx"


@pytest.mark.parametrize("output", ["| a | b |\n| --- | --- |\n| 1 | 2 |", "no bars here", ""])
def test_a_chart_that_is_markdown_already_stays(output: str) -> None:
    assert chart_table(output, PAGE).markdown == output


def test_a_formula_loses_its_delimiters_in_text_and_has_them_in_markdown() -> None:
    cases = [
        r"\frac{a}{b} < 1",
        r"$$\frac{a}{b} < 1$$",
        r"\[ \frac{a}{b} < 1 \]",
        r"$\frac{a}{b} < 1$",
        "```latex\n\\frac{a}{b} < 1\n```",
        r"$$\frac{a}{b} < 1",
        r"\(\frac{a}{b} < 1\)",
    ]
    wrong = [
        output
        for output in cases
        if formula(output, PAGE) != ParsedAnswer(text=r"\frac{a}{b} < 1", markdown="$$\n\\frac{a}{b} < 1\n$$")
    ]
    assert wrong == []


def test_several_formulas_keep_their_delimiters() -> None:
    assert formula("$$a$$\n$$b$$", PAGE) == ParsedAnswer(text="$$a$$\n$$b$$", markdown="$$a$$\n$$b$$")
    assert formula(" ", PAGE) == ParsedAnswer(text="", markdown="")


@pytest.mark.parametrize(
    "output",
    ['{"name": "Ä", "n": 5}', '```json\n{"name": "Ä", "n": 5}\n```', 'Here: {"name": "Ä", "n": 5} as asked {',
     'in {braces}: {"name": "Ä", "n": 5}'],
)  # fmt: skip
def test_fields_are_found_whatever_stands_around_them(output: str) -> None:
    answer = json_fields(output, PAGE)
    assert answer.fields == {"name": "Ä", "n": 5}
    assert answer.text == '{"name": "Ä", "n": 5}'


@pytest.mark.parametrize("output", ["", "no", '{"name": "cut', "{'single': 1}", "[1, 2]", "{" * 5000, '{"a":' * 5000])
def test_fields_that_are_no_json_object_are_an_error(output: str) -> None:
    with pytest.raises(EngineFailed, match="JSON object") as failed:
        json_fields(output, PAGE)
    assert failed.value.code == "engine_output_invalid"


def test_numbers_that_json_clients_cannot_hold_become_text() -> None:
    answer = json_fields('{"a": 1e999, "b": NaN, "c": 12345678901234567890, "d": 1.5}', PAGE)
    assert answer.fields == {"a": "1e999", "b": "NaN", "c": "12345678901234567890", "d": 1.5}


pieces = st.sampled_from(
    ["<table>", "<tr><td>", "</table>", "|", "---", "\n", "```", "~~~", "$", "$$", "\\(", "\\[", "*", "_", "<", "<b>",
     "\\", "`", "#", " ", "a", "[", "](", ")", "{", "}", '"a":', "1", "<script>", "</script>", "<nl>", "&lt;",
     "<img src=x onerror=y>", "<div>", "script>", "<b onclick=x>", "<!--", "-->"]
)  # fmt: skip
outputs = st.lists(pieces, max_size=40).map("".join) | st.text()


def read(parser: Parser, output: str) -> ParsedAnswer | None:
    """The answer, or None for the one error that a parser may raise."""
    try:
        return parser(output, PAGE)
    except EngineFailed as failed:
        if failed.code != "engine_output_invalid":
            raise
        return None


@pytest.mark.parametrize("parser", [markdown, plain, chart_table, formula, json_fields])
@given(output=outputs)
def test_any_output_gives_an_answer_or_the_named_error(parser: Parser, output: str) -> None:
    answer = read(parser, output)
    if answer is not None and answer.fields is not None:
        assert json.loads(answer.text) == answer.fields
    elif answer is not None:
        assert answer.text == answer.text.strip() or parser is not plain


@given(output=outputs)
def test_any_output_renders_to_nothing_that_acts(output: str) -> None:
    printable = "".join(sign for sign in safe_markdown(output) if sign.isprintable() or sign in " \n")
    tree = lxml_html.fragment_fromstring(MarkdownIt().render(printable), create_parent="div")
    assert not {element.tag for element in tree.iter()} & {"script", "img"}
    assert not {name for element in tree.iter() for name in element.attrib} & {"onclick", "onerror", "style"}


@pytest.mark.parametrize(
    "unit",
    ["\\(", "\\[", "$$", "$", "*", "**", "_", "`", "[", "![", "<", "<b", "<table>", "<!--", "|", "<td ", "{", "> ",
     "<script>", "-", "- ", "~", "\\", "&", "[x](", "|-", "| :-"],
)  # fmt: skip
def test_a_loop_of_any_sign_is_read_at_once(unit: str) -> None:
    output = unit * (40_000 // len(unit))
    assert isinstance(markdown(output, PAGE), ParsedAnswer)


@pytest.mark.parametrize("around", [("# x", "y"), ("a\n", "-x"), ("a\n|", "-|x"), ("# x", "#y"), ("a\n- ", "- x")])
@pytest.mark.parametrize("blank", [" ", "\t"])
def test_a_line_of_many_blanks_is_read_at_once(around: tuple[str, str], blank: str) -> None:
    output = around[0] + blank * 60_000 + around[1]
    assert isinstance(markdown(output, PAGE), ParsedAnswer)
