"""Which type a document is, by its words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from inkgate.errors import InputRejected
from inkgate.extraction.finder import FieldFinder, field_finder
from inkgate.extraction.wanted import CheckedFields
from inkgate.fields.classify import classify
from inkgate.fields.document_types import DocumentTypes, TypePackage, package_checks, package_rules, type_packages
from inkgate.settings import FieldsSettings, Settings
from inkgate_client.fields.values import ExtractionStatus
from inkgate_client.types import PageResult
from support.receipts import RECEIPT, page

TYPES = DocumentTypes.load()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (RECEIPT, "receipt"),
        ("小票\n合计 12.00", "receipt"),
        ("INVOICE\nInvoice number: 7\nBill to: Ann\nTotal 3.00", "invoice"),
        ("Rechnung\nBetrag", "invoice"),
        ("In exchange for changes, the totality of receipts", ""),  # parts of words
        ("Dear Sir, the total of your order is attached.", ""),
        ("", ""),
    ],
)
def test_a_type_shows_in_its_words(text: str, name: str) -> None:
    pages = [page(text)] if text else [PageResult(0)]
    assert classify(pages, TYPES).name == name


def test_a_package_that_fails_keeps_no_document_from_its_type(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(pages: Sequence[PageResult]) -> str:
        raise ValueError(pages[0].text)

    monkeypatch.setattr("inkgate.fields.classify.type_packages", lambda: (TypePackage(Path(), type_of=fails),))
    with capture_logs() as logs:
        assert classify([page(RECEIPT)], TYPES).name == "receipt"
    assert [(log["event"], log["error"]) for log in logs] == [("type_of_failed", "ValueError")]


def test_a_type_that_names_checks_which_nobody_has_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pass.yaml").write_text("name: pass\nx-checks: [zone_digits, iban_check_digits]\nproperties: {a: {}}\n")
    settings = Settings(fields=FieldsSettings(types=[str(tmp_path)]))
    with pytest.raises(InputRejected, match=r"pass names checks .* has: zone_digits\."):
        field_finder(settings)


def test_a_page_without_lines_shows_it_in_its_text() -> None:
    assert classify([PageResult(0, text="Invoice number 7. Due date: May 1")], TYPES).name == "invoice"


def test_papers_that_are_none_of_the_type_asked_for_have_no_values() -> None:
    texts = {"blank": "", "photo": "STOP|\nMain Street|\nCafe Roma|open|", "receipt": RECEIPT}
    alike = {("receipt", "receipt"), ("invoice", "receipt"), ("receipt", "photo"), ("invoice", "photo")}
    finder = FieldFinder(TYPES, FieldsSettings())
    wrong = {}
    for text, printed in texts.items():
        pages = [page(printed)] if printed else [PageResult(0)]
        for name, schema in TYPES.schemas.items():
            found = finder.decide(pages, schema, CheckedFields(schema))
            values = {path: value for path, value in found.data.items() if value not in (None, [])}
            if (name, text) not in alike and (values or found.status is not ExtractionStatus.NEEDS_REVIEW):
                wrong[name, text] = values
    assert wrong == {}


def test_without_packages_their_types_and_codes_are_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    zone = "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<\nL898902C36UTO7408122F1204159ZE184226B<<<<<10"
    assert classify([page(zone)], TYPES).name == "passport"
    cached = (type_packages, package_rules, package_checks)
    monkeypatch.setattr("inkgate.settings.extensions.entry_points", lambda **_: [])
    try:
        for each in cached:
            each.cache_clear()
        alone = DocumentTypes.load()
        assert set(alone.schemas) == {"invoice", "receipt"}
        assert classify([page(zone)], alone).name == ""
        with pytest.raises(InputRejected, match=r"there are invoice, receipt\. The package inkgate-papers has more\."):
            alone.named("passport")
    finally:
        for each in cached:
            each.cache_clear()
