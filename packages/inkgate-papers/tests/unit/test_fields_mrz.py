"""Machine-readable zones: what they say, confused characters, and broken check digits."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from inkgate.fields.classify import classify
from inkgate.fields.document_types import DocumentTypes
from inkgate.fields.extract import answer
from inkgate.fields.proposed import proposed
from inkgate_client.fields.values import Extraction
from inkgate_client.types import PageResult
from inkgate_papers.mrz import Mrz, find_mrz
from support.receipts import RECEIPT, page

TYPES = DocumentTypes.load()


def digit(text: str) -> str:
    """ICAO Doc 9303, part 3, 4.9."""
    values = (0 if letter == "<" else int(letter, 36) for letter in text)
    return str(sum(value * (7, 3, 1)[at % 3] for at, value in enumerate(values)) % 10)


def passport(
    number: str = "L0R8902C3", birth: str = "740812", expiry: str = "290415", personal: str = "ZE184226B"
) -> list[str]:
    number, personal = number.ljust(9, "<"), personal.ljust(14, "<")
    first = "P<UTOERIKSSON<<ANNA<MARIA".ljust(44, "<")
    parts = [number + digit(number), birth + digit(birth), expiry + digit(expiry), personal + digit(personal)]
    second = f"{parts[0]}UTO{parts[1]}F{parts[2]}{parts[3]}"
    return [first, second + digit(parts[0] + parts[1] + parts[2] + parts[3])]


def identity_card() -> list[str]:
    number, birth, expiry = "D23145890", "010203", "310405"
    first = ("I<UTO" + number + digit(number)).ljust(30, "<")
    second = (birth + digit(birth) + "M" + expiry + digit(expiry) + "UTO").ljust(29, "<")
    second += digit(first[5:30] + second[0:7] + second[8:15] + second[18:29])
    return [first, second, "ERIKSSON<<ANNA<MARIA".ljust(30, "<")]


def zone_of(lines: Sequence[str]) -> Mrz | None:
    return find_mrz([page("PASSPORT\n" + "\n".join(lines))])


def extraction(lines: Sequence[str], name: str = "passport") -> Extraction:
    pages = [page("UTOPIA\n" + "\n".join(lines))]
    schema = TYPES.named(name)
    return answer(pages, schema, proposed(pages, schema))


def test_a_passport_s_values() -> None:
    found = extraction(passport())
    assert found.data == {
        "surname": "ERIKSSON",
        "given_names": "ANNA MARIA",
        "number": "L0R8902C3",
        "nationality": "UTO",
        "issuing_country": "UTO",
        "birth_date": "1974-08-12",
        "sex": "F",
        "expiry_date": "2029-04-15",
        "personal_number": "ZE184226B",
    }
    number = found.fields["/number"]
    assert (number.origin, number.status.value, number.sources[0].match.value) == ("code", "found", "code")
    assert number.sources[0].lines == (1, 2)
    assert found.status.value == "complete"
    assert [(check.code, check.passed) for check in found.checks] == [("mrz_check_digits", True)]


def test_an_identity_card_s_values() -> None:
    found = extraction(identity_card(), "id_card")
    assert (found.data["number"], found.data["birth_date"], found.data["surname"]) == (
        "D23145890",
        "2001-02-03",
        "ERIKSSON",
    )
    assert found.status.value == "complete"


def test_every_wrong_digit_is_told() -> None:
    """Each digit and letter under a check digit, and each check digit, changed by one."""
    first, second = passport()
    missed = []
    for at, letter in enumerate(second):
        if letter.isdigit():
            changed = second[:at] + str((int(letter) + 1) % 10) + second[at + 1 :]
            found = extraction([first, changed])
            if found.status.value != "needs_review" or all(check.passed for check in found.checks):
                missed.append((at, changed))
    assert not missed


def test_confused_characters_are_read_by_their_places() -> None:
    lines = passport()
    lines[1] = lines[1].replace("740812", "74O8I2")
    lines[0] = lines[0].replace("UTO", "UT0", 1).replace("<<ANNA", "«ANNA").removesuffix("<<")
    zone = zone_of(lines)
    assert zone is not None
    assert zone.valid
    assert (zone.values["birth_date"], zone.values["issuing_country"]) == ("1974-08-12", "UTO")


def test_a_letter_that_its_check_digit_can_not_tell_from_a_digit_stays() -> None:
    """L and 1 give the same check digit, and so do G and 6: only O is read as 0."""
    lines = passport("L898902C3")
    lines[1] = lines[1].replace("L898902C3", "L8989O2C3")
    zone = zone_of(lines)
    assert zone is not None
    assert (zone.values["number"], zone.valid) == ("L898902C3", True)


def test_visas_and_long_numbers_and_days_that_are_none() -> None:
    visa = zone_of(["V<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<", "L8988901C4XXX4009078F96121096ZE184226B<<<<<<"])
    assert visa is not None
    assert visa.valid
    assert (visa.values["number"], visa.values["nationality"]) == ("L8988901C", "XXX")
    birth, expiry = "740812", "120415"
    first = "I<UTOD23145890<734" + digit("D23145890734") + "<" * 11
    second = (birth + digit(birth) + "F" + expiry + digit(expiry) + "UTO").ljust(29, "<")
    second += digit(first[5:30] + second[0:7] + second[8:15] + second[18:29])
    card = zone_of([first, second, "ERIKSSON<<ANNA<MARIA<<<<<<<<<<"])
    assert card is not None
    assert (card.values["number"], card.valid) == ("D23145890734", True)
    never = zone_of(passport(birth="010231"))
    assert never is not None
    assert "birth_date" not in never.values


def test_fillers_that_were_read_as_letters_are_no_names() -> None:
    lines = passport()
    lines[0] = lines[0][:25] + "<KK<KKKK" + lines[0][33:]
    zone = zone_of(lines)
    assert zone is not None
    assert zone.values["given_names"] == "ANNA MARIA"


def test_births_are_past_and_before_the_expiry_and_expiries_near_today() -> None:
    year = datetime.now(UTC).year
    expected = {
        # births and expiries, both on the first of January
        (year - 1, year + 9): (year - 1, year + 9),
        (year + 3, year + 9): (year + 3 - 100, year + 9),
        (year + 9, year + 5): (year + 9 - 100, year + 5),
        (year - 21, year - 25): (year - 121, year - 25),
        (year - 31, year - 25): (year - 31, year - 25),
        (year - 31, year + 20): (year - 31, year + 20),
    }
    read = {}
    for printed in expected:
        birth, expiry = (f"{each % 100:02}0101" for each in printed)
        zone = zone_of(passport(birth=birth, expiry=expiry))
        assert zone is not None
        read[printed] = tuple(int(zone.values[name][:4]) for name in ("birth_date", "expiry_date"))
    assert read == expected


def test_other_papers_have_no_zone_and_receipts_take_nothing_of_one() -> None:
    assert find_mrz([page(RECEIPT)]) is None
    assert find_mrz([PageResult(0)]) is None
    found = extraction(passport(), "receipt")
    assert found.data["total"] is None


def test_a_passport_is_told_by_its_zone() -> None:
    assert classify([page("\n".join(passport()))], TYPES).name == "passport"
    assert classify([page("\n".join(identity_card()))], TYPES).name == "id_card"


@given(st.lists(st.text(st.sampled_from("P<ACI0123456789OZUTO «"), max_size=48), max_size=6))
def test_any_lines_are_read_or_not_without_an_error(lines: list[str]) -> None:
    zone = find_mrz([page("\n".join(line or "x" for line in lines) or "x")])
    assert zone is None or any(zone.checks.values())
