"""Options of a request: lists and texts that a client makes long are refused before they are taken apart."""

from __future__ import annotations

import pytest

from inkgate.api.http.options import MAX_FIELDS, OcrOptions, choose, parse
from inkgate.api.mistral_response import MistralOptions
from inkgate.api.paddlex import PaddlexRequest
from inkgate.api.paddlex_layout import LayoutParsingRequest
from inkgate.api.rapidocr import RapidOcrOptions
from inkgate.errors import InputRejected


def test_names_of_fields_are_taken_as_text_or_as_a_list() -> None:
    assert parse(OcrOptions, {"fields": " total , due  date,,"}).field_names() == ("total", "due date")
    assert parse(OcrOptions, {"fields": ["total", " ", "due\ndate"]}).field_names() == ("total", "due date")
    assert parse(OcrOptions, {}).field_names() == ()


@pytest.mark.parametrize("fields", ["x," * 5_000_000, ["x"] * (MAX_FIELDS + 1), " " * 5_000_000, ["x" * 201]])
def test_too_many_or_too_long_names_of_fields_are_refused(fields: str | list[str]) -> None:
    with pytest.raises(InputRejected, match=r"options_invalid: `fields` may have up to 100 names"):
        parse(OcrOptions, {"fields": fields}).field_names()


def test_only_the_first_of_many_wrong_items_is_told() -> None:
    for model in (OcrOptions, MistralOptions):
        with pytest.raises(InputRejected) as caught:
            parse(model, {"pages": [None] * 100_000})
        assert "pages.list[int].0" in caught.value.detail
        assert "list[int].1" not in caught.value.detail


def test_an_endless_word_is_refused() -> None:
    for name in ("format", "language"):
        with pytest.raises(InputRejected, match=f"options_invalid: {name}: .*at most 100 characters"):
            parse(OcrOptions, {name: "x" * 1_000_000})


def test_an_endless_accept_header_is_refused() -> None:
    with pytest.raises(InputRejected, match="not_acceptable"):
        choose(None, "text/plain," * 10_000)


def test_switches_are_true_or_false_and_nothing_else() -> None:
    for model, name, file in (
        (LayoutParsingRequest, "useLayoutDetection", "x"),
        (PaddlexRequest, "returnWordBox", "x"),
        (MistralOptions, "include_blocks", None),
    ):
        others: tuple[object, ...] = ("no", "false", 0, 1, 2, 0.0, [], "maybe")
        for wrong in others:
            with pytest.raises(InputRejected, match=f"options_invalid: {name}: .*valid boolean"):
                parse(model, {"file": file, name: wrong})
        assert getattr(parse(model, {"file": file, name: False}), name) is False
        assert getattr(parse(model, {"file": file, name: None}), name) is None


def test_switches_of_forms_and_queries_are_texts() -> None:
    for text, value in (
        ("true", True),
        ("True", True),
        ("1", True),
        ("false", False),
        (" FALSE ", False),
        ("0", False),
    ):
        assert parse(RapidOcrOptions, {"use_det": text}).use_det is value
        assert parse(OcrOptions, {}, {"blocks": text}).blocks is value
    others: tuple[object, ...] = ("yes", "on", "2", "maybe", 0, 1.0)
    for wrong in others:
        with pytest.raises(InputRejected, match=r"options_invalid: blocks: .*valid boolean"):
            parse(OcrOptions, {"blocks": wrong})
