import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate.documents.pages import MAX_CHARACTERS, MAX_PARTS, parse_page_list, parse_pages
from inkgate.errors import InputRejected


def test_pages_come_in_the_order_asked_for_each_once() -> None:
    cases = [
        ("1", (0,)),
        ("1-3,7", (0, 1, 2, 6)),
        (" 2 - 3 , 1 ", (1, 2, 0)),
        ("5-", (4, 5, 6, 7, 8, 9)),
        ("3,1-4,3", (2, 0, 1, 3)),
        ("10-", (9,)),
        ("0007", (6,)),
    ]
    assert [(text, found) for text, expected in cases if (found := parse_pages(text).indexes(10)) != expected] == []


def test_the_first_page_may_be_number_0() -> None:
    assert parse_pages("0,2-", first=0).indexes(4) == (0, 2, 3)
    assert parse_page_list([2, 0, 2]).indexes(3) == (2, 0)
    assert parse_page_list([1, 3], first=1).indexes(3) == (0, 2)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "''"),
        ("1,,2", "''"),
        ("1,x-3", "'x-3'"),
        ("-3", "'-3'"),
        ("1-2-3", "'1-2-3'"),
        ("1;2", "'1;2'"),
        ("0-2", "'0-2'"),
        ("5-3", "'5-3'"),
        ("1.5", "'1.5'"),
        ("٣", "'٣'"),
        ("1" * 5000, "'" + "1" * 40 + "…'"),
    ],
)
def test_what_is_no_page_is_named(text: str, named: str) -> None:
    with pytest.raises(InputRejected) as caught:
        parse_pages(text)
    assert caught.value.code == "pages_invalid"
    assert named in caught.value.detail


@pytest.mark.parametrize(
    ("text", "left", "named"),
    [
        ("1,4", (0,), "'4'"),
        ("2-9", (1, 2), "'2-9'"),
        ("1,4-", (0,), "'4-'"),
        ("1-999999999", (0, 1, 2), "'1-999999999'"),
        ("9,1-3", (0, 1, 2), "'9'"),
    ],
)
def test_pages_beyond_the_document_are_left_out_and_named(text: str, left: tuple[int, ...], named: str) -> None:
    selection = parse_pages(text)
    assert selection.indexes(3) == left
    assert selection.note(3) == f"{named} goes beyond the last page: the document has pages 1 to 3."


@pytest.mark.parametrize("text", ["1-3", "2-", "3,1"])
def test_nothing_is_told_of_pages_that_are_there(text: str) -> None:
    assert parse_pages(text).note(3) == ""


@pytest.mark.parametrize("text", ["4", "4-", "9-12,4"])
def test_a_selection_of_which_nothing_is_left_is_refused(text: str) -> None:
    with pytest.raises(InputRejected) as caught:
        parse_pages(text).indexes(3)
    assert caught.value.code == "pages_invalid"
    assert "pages 1 to 3" in caught.value.detail


@pytest.mark.parametrize("numbers", [[], [-1], [0, -5]])
def test_a_list_without_pages_or_with_negative_ones_is_refused(numbers: list[int]) -> None:
    with pytest.raises(InputRejected, match="pages_invalid"):
        parse_page_list(numbers)


def test_a_list_counted_from_0_is_answered_in_its_own_numbers() -> None:
    with pytest.raises(InputRejected, match=r"'3'.*pages 0 to 2"):
        parse_page_list([3, 4]).indexes(3)


def test_pages_named_over_and_over_are_merged_in_linear_time() -> None:
    """Each page is taken once, however many parts name it: this would be 5,000 times 1,000,000 pages."""
    assert parse_pages(",".join(["1-1000000"] * MAX_PARTS)).indexes(1_000_000) == tuple(range(1_000_000))
    back_and_forth = ",".join(f"{page}-{page + 1999}" for page in range(MAX_PARTS, 0, -1))
    assert set(parse_pages(back_and_forth).indexes(MAX_PARTS + 2000)) == set(range(MAX_PARTS + 1999))


@given(st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19)), min_size=1, max_size=8))
def test_pages_are_those_of_the_parts_in_their_order(bounds: list[tuple[int, int]]) -> None:
    parts = [(min(pair), max(pair)) for pair in bounds]
    expected = dict.fromkeys(page for start, end in parts for page in range(start, end + 1))
    text = ",".join(f"{start}-{end}" for start, end in parts)
    assert parse_pages(text, first=0).indexes(20) == tuple(expected)


def test_a_selection_of_too_many_parts_is_refused_before_it_is_split() -> None:
    for text in ("1," * MAX_PARTS, "1" + " " * MAX_CHARACTERS, "1-1900," * 6_000_000):
        with pytest.raises(InputRejected, match=r"pages_invalid.*ranges such as"):
            parse_pages(text)
    with pytest.raises(InputRejected, match=r"pages_invalid.*ranges such as"):
        parse_page_list(range(MAX_PARTS + 1))
    assert parse_page_list(range(MAX_PARTS)).indexes(MAX_PARTS) == tuple(range(MAX_PARTS))
