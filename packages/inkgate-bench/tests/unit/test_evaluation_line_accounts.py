"""Every recognised line stands in the Markdown once: what counts as that, and what is lost or doubled."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate_bench.accuracy.line_accounts import account_lines, reduced, reduced_markdown
from inkgate_client.escape import of_text


@pytest.mark.parametrize(
    ("lines", "markdown"),
    [
        (["one two", "three"], "one two three"),
        (["three", "one two"], "one two\n\nthree"),  # in another order
        (["hyphen-", "ated words"], "hyphenated words"),
        (["# 1 * 2_3", "a|b <i> &amp;"], "\\# 1 \\* 2\\_3 | a\\|b \\<i> \\&amp;"),
        (["Name", "Total 5.00"], "| Name | Total |\n| --- | --- |\n|  | 5.00 |"),
        (["Name", "a < b"], "<table><tr><td rowspan=2>Name</td><td>a &lt; b</td></tr></table>"),
        (["o first item", "o second item"], "- first item\n- second item"),  # bullets that were read as letters
        (["12", "2012", "20"], "2012\n\n20\n\n12"),  # a short line is not found within a long one
        (["same", "same"], "same\n\nsame"),
        (["4.80", "4.80", "0.00"], "TOTAL 4.80\n\n4.80 0.00"),  # 0.00 is not cut out of 4.80 0.00
        (["10,000", "10,000 (1)"], "| 10,000 | 10,000 (1) |"),
        (["ﬁne ½ ＡＢ", "第一章 总则"], "fine 1⁄2 AB 第一章总则"),
        (["Strasse"], "**Straße**"),
        (["---", "*", ""], ""),  # without letters and digits there is nothing to find
        ([], "anything"),
        (["fig", "left"], "![a picture](fig.png)\n\nleft <!-- x --> fig"),
    ],
)
def test_what_stands_there_once_is_neither_lost_nor_doubled(lines: list[str], markdown: str) -> None:
    account = account_lines(lines, markdown)
    assert (account.lost, account.doubled) == ((), ())
    assert account.counted == sum(bool(reduced(line)) for line in lines)


@pytest.mark.parametrize(
    ("lines", "markdown", "lost", "doubled"),
    [
        (["one", "two"], "one", (1,), ()),
        (["one", "two"], "", (0, 1), ()),
        (["same", "same"], "same", (1,), ()),
        (["one line", "two"], "one line two one line", (), (0,)),
        (["one"], "one one one", (), (0, 0)),
        (["1", "2"], "1 1 2", (), ()),  # too short to be more than chance
        (["a long line of text that was cut off"], "a long line of text", (0,), ()),
        (["12", "2012"], "2012", (0,), ()),
    ],
)
def test_what_is_missing_is_lost_and_what_stands_there_twice_is_doubled(
    lines: list[str], markdown: str, lost: tuple[int, ...], doubled: tuple[int, ...]
) -> None:
    account = account_lines(lines, markdown)
    assert (account.lost, account.doubled) == (lost, doubled)


def test_places_follow_the_order_of_the_markdown() -> None:
    assert account_lines(["right", "left", "-"], "left right").places == (4, 0, None)


def test_lines_with_the_same_phrases_keep_their_places() -> None:
    lines = ["the dog jumped over", "the fox. the dog", "jumped over the fox.", "the dog jumped over the fox."]
    places = account_lines(lines, " ".join(lines)).places
    assert places == tuple(sorted(place for place in places if place is not None))


def test_markdown_is_reduced_to_what_it_shows() -> None:
    assert reduced_markdown("# A\\_b <br> &amp; ![x](y.png) `c`\n\n1. d") == "abc1d"


@given(st.lists(st.text("aAbc 1*_#|<&;-\\`~[]()!.ß第", max_size=12), max_size=12), st.randoms())
def test_own_markdown_of_any_lines_holds_each_once(lines: list[str], random: object) -> None:
    del random
    account = account_lines(lines, of_text("\n".join(lines)))
    assert account.lost == ()
    assert account.doubled == ()
