"""Passports whose zone is cut off: values by their printed labels."""

from __future__ import annotations

import pytest

from inkgate.fields.document_types import DocumentTypes
from inkgate.fields.extract import answer
from inkgate.fields.proposed import proposed
from inkgate_client.types import Line, PageResult
from inkgate_papers.passports import ZONE_NOT_READ

ENGLISH = """
PASSPORT|Code of State|Passport No.
|UTO|X68361106
Surname
ERIKSSON
Given names
ANNA MARIA
Sex|Date of birth
F|02 SEP 1993
Date of expiry
20 JAN 2035
"""
FRENCH = """
PASSEPORT|No du passeport
|X68361106
Nom/Surname
ERIKSSON
Prénoms/Given names
ANNA MARIA
Sexe/Sex|Date de naissance
F|02 09 1993
Date d'expiration
20 01 2035
"""
CHINESE = """
护照|护照号/Passport No.
|X68361106
姓/Surname
ERIKSSON
名/Given names
ANNA MARIA
性别/Sex|出生日期/Date of birth
F|02 SEP 1993
有效期至/Date of expiry
20 JAN/JANV 2035
"""


def page(text: str) -> PageResult:
    lines = []
    for at, row in enumerate(text.strip().splitlines()):
        for column, content in enumerate(row.split("|")):
            left, top, right = 300.0 * column, 30.0 * at, 300.0 * column + 12 * len(content)
            if content:
                lines.append(Line(content, ((left, top), (right, top), (right, top + 20), (left, top + 20)), 0.98))
    return PageResult(0, lines=tuple(lines))


@pytest.mark.parametrize("text", [ENGLISH, FRENCH, CHINESE])
def test_printed_labels_give_the_values_and_somebody_has_to_look(text: str) -> None:
    schema = DocumentTypes.load().named("passport")
    pages = [page(text)]
    found = answer(pages, schema, proposed(pages, schema))
    names = ("surname", "given_names", "number", "birth_date", "sex", "expiry_date")
    wanted = ["ERIKSSON", "ANNA MARIA", "X68361106", "1993-09-02", "F", "2035-01-20"]
    assert [found.data[name] for name in names] == wanted
    assert found.notes == (ZONE_NOT_READ,)
    assert found.status.value == "needs_review"
