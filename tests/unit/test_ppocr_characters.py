"""Doubtful characters are decided by their neighbours; certain ones, codes and addresses stay."""

from __future__ import annotations

import numpy as np
import pytest

from inkgate.engines.ppocr.characters import disambiguate
from inkgate.engines.ppocr.recognition import RecognizedText

PROSE = "The tracks may be overdubbed and all effects are recorded while the sequence plays in perfect sync. " * 6
FRENCH = "Il a été là où la forêt touche à la côte, près des bois, et même le garçon a goûté les pâtes. "
SPANISH = "El señor había comido allí también; qué música más tranquila, según él, en el jardín del niño. "
VIETNAMESE = "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền. "


def read(text: str, doubt: float = 0.7) -> RecognizedText:
    """A reading where the characters after a `~` have the confidence `doubt`, and all others 0.99."""
    characters, confidences = [], []
    doubtful = False
    for character in text:
        if character == "~":
            doubtful = True
            continue
        characters.append(character)
        confidences.append(doubt if doubtful else 0.99)
        doubtful = False
    positions = np.linspace(0.1, 0.9, len(characters), dtype=np.float32)
    return RecognizedText("".join(characters), np.array(confidences, np.float32), positions)


def disambiguated(text: str, *others: str, doubt: float = 0.7) -> str:
    """What `disambiguate` makes of the first line of a page with these others."""
    return disambiguate([read(text, doubt), *map(read, others)])[0].text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Te~1: 727-2879", "Tel: 727-2879"),
        ("She~l~1 Mahkota", "Shell Mahkota"),
        ("f~1oor and r~0om", "floor and room"),
        ("P~0S:2", "POS:2"),
        ("THANK Y~0U", "THANK YOU"),
        ("F~1RST", "FIRST"),
        ("CA~5H ~8ACK", "CASH 8ACK"),  # nothing but a house number may begin with a digit
        ("250m~1 or 3m~1", "250ml or 3ml"),
        ("蒙牛100m~1优益", "蒙牛100ml优益"),
        ("1~B51-B, JALAN", "1851-B, JALAN"),
        ("in 2~O17", "in 2017"),
        ("12.5~O", "12.50"),
        ("$~O.50", "$0.50"),
        ("~l2.50", "12.50"),
        ("3,67~SE-02", "3,675E-02"),
        ("1~O/~O3/2018 12:0~O", "10/03/2018 12:00"),
    ],
)
def test_look_alikes_are_what_the_rest_of_the_word_or_number_is(before: str, after: str) -> None:
    assert disambiguated(before) == after


@pytest.mark.parametrize(
    "text",
    [
        "HA~06HD~01-3",  # codes that mix letters and digits
        "P~04",
        "R~000242600",
        "S~1P03201705170016",
        "AJTPM7071RSD~0",
        "C~O2 and H2~O",
        "B~12",
        "No~1.Jalan",  # 0.85: a number of its own
        "given by~1,7",  # a footnote mark
        "10.00~S",  # a code of tax
        "1.5~l",  # litres
        "~S9.20",  # may be a dollar
        "12~B",
        "~5Our",
        "www.she~1l.com",
        "info@te~1eco.de",
        "x~0",
    ],
)
def test_codes_units_and_addresses_stay(text: str) -> None:
    assert disambiguated(text, doubt=0.85) == text.replace("~", "")


def test_certain_characters_stay() -> None:
    texts = ["Te1: P0S Shel1", "12.5O", "MÍDI", PROSE]
    assert [reading.text for reading in disambiguate([read(text) for text in texts])] == texts


@pytest.mark.parametrize(
    ("page", "before", "after"),
    [
        (PROSE, "All M~ÍDI effects, simulta~ņeous tra~çk", "All MIDI effects, simultaneous track"),
        (SPANISH, "pariente, ~çómo; do~ș", "pariente, cómo; dos"),
        (FRENCH, "all~ûres, for~êt, cr~oître", "allûres, forêt, croître"),
        (FRENCH, "au b~ořd de l'eau, do~ș", "au bořd de l'eau, dos"),
        (VIETNAMESE, "ng~ười", "người"),
        ("A receipt of few words", "Caf~é", "Café"),  # too little text to tell its language
    ],
)
def test_accents_that_the_pages_language_lacks_are_specks(page: str, before: str, after: str) -> None:
    assert disambiguated(before, page) == after


def test_a_speck_read_with_confidence_does_not_make_a_language() -> None:
    assert disambiguated("tra~çk", SPANISH, SPANISH, "lā") == "track"


AMOUNTS = ["12.50", "RM 3.00", "1,207.95", "$0.80", "15.50 S", "Total"]


def test_a_gap_in_an_amount_is_its_point() -> None:
    (amount, *_) = disambiguate([read("150 00"), *map(read, AMOUNTS)])
    assert amount.text == "150.00"
    assert amount.confidences[3] == 0.5
    assert amount.confidence < 0.95


def test_a_gap_is_the_comma_where_amounts_have_one() -> None:
    assert disambiguated("17 00", "12,50", "3,00", "4,95", "0,80", "15,50") == "17,00"


@pytest.mark.parametrize("text", ["150 00 12", "Room 17 00", "1 200", "12345 00"])
def test_other_gaps_stay(text: str) -> None:
    assert disambiguated(text, *AMOUNTS) == text


def test_a_gap_stays_on_a_page_of_few_amounts() -> None:
    assert disambiguated("17 00", *AMOUNTS[:4]) == "17 00"


def test_places_and_confidences_stay() -> None:
    before = read("Te~1: 12.5~O")
    (after,) = disambiguate([before])
    assert after.text == "Tel: 12.50"
    assert np.array_equal(after.confidences, before.confidences)
    assert np.array_equal(after.positions, before.positions)


def test_no_lines_and_empty_lines_are_settled() -> None:
    assert disambiguate([]) == []
    assert disambiguated("") == ""


SIMPLE, FULL = "国家发展和改革委员会关于进一步规范经营许可的决定", "國家發展和改革委員會關於進一步規範經營許可的決定"
JAPANESE = "国の発展について、国会で質問がありました"


@pytest.mark.parametrize(
    ("before", "others", "after"),
    [
        ("勉~強", SIMPLE, "勉强"),
        ("勉強", SIMPLE, "勉強"),  # read with confidence, as in the name of a firm from Taiwan
        ("勉~强", FULL, "勉強"),
        ("勉~強", FULL, "勉強"),
        ("~发~后", FULL, "~发~后".replace("~", "")),  # of several traditional characters, and of both scripts
        ("勉~強", JAPANESE, "勉強"),
        ("勉~強", SIMPLE + FULL, "勉強"),
        ("勉~強", "好", "勉強"),
    ],
)
def test_doubtful_characters_take_the_form_of_the_chinese_of_their_page(before: str, others: str, after: str) -> None:
    assert disambiguated(before, others) == after
