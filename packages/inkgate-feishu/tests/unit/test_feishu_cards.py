"""What people say to the Feishu bot, and the cards that it shows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from inkgate_client import JobFieldsFound
from inkgate_client.extracted import Fields
from inkgate_client.fields.values import Extraction, ExtractionStatus
from inkgate_feishu.cards import MAX_BYTES, FieldCards, changed_values, form_values
from inkgate_feishu.choices import Choice, shipped_words
from inkgate_feishu.received import card_proof, message_files, parse_message, parse_press

WORDS = shipped_words()
TYPES = (*WORDS.types, "MyType")


def found(data: dict[str, Any], type_name: str = "receipt") -> JobFieldsFound[dict[str, Any]]:
    extraction = Extraction(type_name, data, {}, (), ExtractionStatus.COMPLETE)
    return JobFieldsFound(data, Fields(extraction, data), "complete", 1, ())


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("receipt", "receipt"),
        ("please read it as Markdown", "markdown"),
        ("这是一张增值税发票", "cn_vat_invoice"),  # whose title holds 发票, the title of another type
        ("发票", "invoice"),
        ("mytype", "MyType"),
        ("字段", "fields"),
        ("hello", None),
        ("textile", None),
        ("", None),
    ],
)
def test_words_choose_what_is_answered(said: str, name: str | None) -> None:
    assert WORDS.choice(said, TYPES) == (Choice(name) if name else None)


def test_only_a_word_alone_holds_for_a_chat() -> None:
    assert WORDS.choice_alone("小票。", TYPES) == Choice("receipt")
    assert WORDS.choice_alone("MyType", TYPES) == Choice("MyType")
    assert WORDS.choice_alone("what does the contract say?", TYPES) is None


def test_a_card_of_any_document_is_one_that_feishu_takes() -> None:
    cards = FieldCards(WORDS, "secret", "job-1", "oc_1")
    many = {f"field {number}": "长" * 5000 for number in range(300)} | {"items": [{"a": "長" * 999}] * 200}
    for made in (cards.answer("a.pdf", found(many)), cards.form(found(many))):
        assert len(json.dumps(made, ensure_ascii=False).encode()) <= MAX_BYTES
    short = cards.answer("a.pdf", found({f"f{number}": "1" for number in range(300)}))
    assert json.dumps(short).count('"tag"') <= 200
    assert "job-1" in json.dumps(cards.answer("a.pdf", found(many))["body"]["elements"][-2])


def test_only_what_was_changed_is_sent_with_the_types_that_it_had() -> None:
    data = {
        "total": "30.20",
        "count": 3,
        "rate": 0.5,
        "paid": True,
        "note": None,
        "items": [{"amount": "1"}],
        "x/y": "z",
    }
    assert form_values(data)[-1] == ("/x~1y", "z")
    entered = dict(form_values(data))
    assert changed_values(data, entered) == {}
    entered |= {"/total": " ", "/count": "1,204", "/rate": "x", "/paid": "否", "/items/0/amount": "2", "/other": "3"}
    assert changed_values(data, entered) == {
        "/total": None,
        "/count": 1204,
        "/rate": "x",
        "/paid": False,
        "/items/0/amount": "2",
    }
    for text in ("12,50", "inf", "nan", "1e999", "9" * 30, "１２"):  # for the service to refuse: no number, or another
        assert changed_values({"count": 3}, {"/count": text}) == {"/count": text}
    assert changed_values({"count": 3}, {"/count": "-1,204,000.50"}) == {"/count": -1204000.5}


def test_events_of_any_form_are_no_error() -> None:
    for event in (
        {},
        {"message": 3},
        {"message": {"chat_type": "p2p", "content": "["}},
        {"message": {"mentions": None}},
    ):
        message = parse_message(event, "ou_bot")
        assert message is None or not message.files
    assert (
        message_files({"msg_type": "post", "content": '{"content": [[3, {"image_key": "a"}], 4]}'}, "om")[0].key == "a"
    )
    assert not message_files({"msg_type": "post", "content": '{"zh_cn": {"content": "x"}}'}, "om")
    for press in ({}, {"action": {"value": "x"}}, {"action": {"value": {"job": "j", "proof": "é"}}}):
        assert parse_press(press, "secret") is None


def test_a_press_counts_in_the_chat_of_its_card_only() -> None:
    value = {
        "action": "save",
        "job": "j",
        "proof": card_proof("secret", "j", "oc_1"),
        "version": 2,
        "paths": {"f0": "/a"},
    }
    press = {"action": {"value": value, "form_value": {"f0": "x", "f1": 3}}, "context": {"open_chat_id": "oc_1"}}
    taken = parse_press(press, "secret")
    assert taken is not None
    assert (taken.version, taken.paths, taken.form) == (2, {"f0": "/a"}, {"f0": "x"})
    assert parse_press(press | {"context": {"open_chat_id": "oc_2"}}, "secret") is None
    assert parse_press(press, "another secret") is None
