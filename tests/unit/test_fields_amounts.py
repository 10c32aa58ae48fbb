"""Amounts, taxes and currencies of invoices and receipts, and labels whose values were not found."""

from __future__ import annotations

import pytest

from inkgate.fields.document_types import DocumentTypes
from inkgate.fields.extract import answer
from inkgate.fields.proposed import proposed
from inkgate.fields.rules.rows import PrintedPages
from inkgate.fields.schema import FieldSchema
from inkgate.fields.trade.amounts import amounts_on
from inkgate.fields.trade.hypotheses import Likely, has_all_included, parts_of, sets_of
from inkgate_client.fields.values import Extraction, ExtractionStatus, FieldStatus, Match, Proposal
from support.receipts import page

TYPES = DocumentTypes.load()


def extract(text: str, name: str = "invoice") -> Extraction:
    schema, read = TYPES.named(name), page(text)
    return answer([read], schema, proposed([read], schema))


def invoice(*sums: str, head: str = "12 Mill Lane, Leeds LS1 4AB", foot: str = "Thank you.") -> str:
    rows = ["Redwood Design Ltd|INVOICE", head, "Invoice number: 26008761", "Invoice date: 2018-07-10"]
    rows += ["Bill to:", "Old Mill Farm Shop Ltd", "Description|Amount", "Design work|100.00", "Printing|50.00"]
    return "\n".join([*rows, *sums, foot])


TWO_RATES = ("Subtotal|150.00", "VAT 20 %|20.00", "VAT 5 %|2.50", "Total|172.50")


def test_taxes_of_two_rates_are_added_up_and_each_has_its_place() -> None:
    found = extract(invoice(*TWO_RATES))
    tax = found.fields["/tax"]
    assert (tax.value, tax.text, tax.status) == ("22.50", "20.00 + 2.50", FieldStatus.FOUND)
    assert [(source.text, source.match) for source in tax.sources] == [("20.00", Match.SUM), ("2.50", Match.SUM)]
    assert {check.code: check.passed for check in found.checks}["subtotal_plus_tax"]


def test_a_single_one_of_two_taxes_is_not_told_for_sure() -> None:
    for sums in ((*TWO_RATES[:3], "Total|190.00"), ("VAT 20 %|20.00", "VAT 5 %|2.50", "Total|190.00")):
        found = extract(invoice(*sums))
        assert found.fields["/tax"].status is not FieldStatus.FOUND
        assert found.status is ExtractionStatus.NEEDS_REVIEW


def test_taxes_inside_of_a_total_fit_it_by_their_rates() -> None:
    assert has_all_included(17250, [(2000, 0.2), (250, 0.05)])
    assert not has_all_included(19000, [(2000, 0.2), (250, 0.05)])
    assert not has_all_included(17250, [(2000, 0.2), (250, 0.0)])
    assert not has_all_included(17250, [])


def test_what_is_missing_of_a_sum_of_taxes_may_be_any_printed_amount() -> None:
    places = [(2000, 0.9), (250, 0.0), (17250, 0.0)]
    assert parts_of(places, 2250) == (0, 1)
    assert parts_of(places, 2251) == ()


def test_no_tax_lowers_the_amount() -> None:
    likely = Likely({17250: 0.9}, {15000: 0.9}, {-2000: 0.5, 2250: 0.5}, {}, [])
    assert all(each.tax != -2000 for each in sets_of(likely) if each.total)


def test_sums_of_credit_notes_count_as_those_of_invoices() -> None:
    above = Likely({17250: 0.9}, {15000: 0.9}, {2250: 0.5}, {2000: 0.5}, [(2250, 0.5)])
    below = Likely({-17250: 0.9}, {-15000: 0.9}, {-2250: 0.5}, {-2000: 0.5}, [(-2250, 0.5)])
    measured = {(each.total, each.net, each.tax): each.measures for each in sets_of(above)}
    for each in sets_of(below):
        values = (None if cents is None else -cents for cents in (each.total, each.net, each.tax))
        assert measured.pop(tuple(values)) == each.measures  # type: ignore[arg-type]
    assert measured == {}


@pytest.mark.parametrize(
    ("foot", "sign", "currency"),
    [
        ("Sydney NSW 2000", "$", "AUD"),
        ("Springfield, IL 62704", "$", "USD"),
        ("Toronto, ON M5V 2T6", "$", "CAD"),
        ("GST no. 123", "$", None),
        ("〒100-0001 東京都", "¥", "JPY"),
        ("税号: 91115204395MA7431H6", "￥", "CNY"),
        ("Tel: +46 31 759 57 81", "kr ", "SEK"),
        ("CVR-nr. 12345678", "kr ", "DKK"),
    ],
)
def test_a_sign_of_several_currencies_is_the_one_of_the_country(foot: str, sign: str, currency: str | None) -> None:
    found = extract(invoice(f"Total|{sign}150.00", foot=foot)).fields["/currency"]
    if currency is None:
        assert found.status is FieldStatus.UNCERTAIN
    else:
        assert (found.value, found.status, found.text) == (currency, FieldStatus.FOUND, sign.strip())


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("VAT Reg No: 123 4567 89", "/vat_id"),
        ("纳税人识别号: 91112917653MA5947R0", "/vat_id"),
        ("Payment due by: 2018-08-10", "/due_date"),
        ("Settle no later than 2018-08-10", "/due_date"),
    ],
)
def test_a_label_without_a_value_needs_review(line: str, path: str) -> None:
    found = extract(invoice("Subtotal|150.00", "VAT 20 %|30.00", "Total|180.00", foot=line))
    check = next(each for each in found.checks if each.code == "label_without_value")
    assert found.fields[path].value is not None or (not check.passed and path in check.paths)
    assert found.fields[path].value is not None or found.status is ExtractionStatus.NEEDS_REVIEW


def test_fields_of_other_kinds_may_be_checked_for_labels() -> None:
    names = ("tax", "total", "date", "due_date")
    properties = {name: {"type": "string", "x-kind": "text"} for name in names}
    schema = FieldSchema.of({"type": "object", "properties": properties, "x-checks": ["label_without_value"]})
    read = page(invoice("VAT|30.00", "Total|180.00", foot="Due date: 2018-08-10").replace("Invoice date", "Made"))
    for found in ({}, {"/date": "Made: 2018-07-10", "/total": "Total"}):
        given = {path: [Proposal(text, "given", 1.0)] for path, text in found.items()}
        checks = {check.code: check.passed for check in answer([read], schema, given).checks}
        assert checks == {"label_without_value": False}


def amounts(text: str) -> list[str]:
    return [each.spot.text for each in amounts_on(PrintedPages.of([page(text)]))]


@pytest.mark.parametrize(
    ("text", "label", "amount", "cents"),
    [
        ("合計金額は12,340円です", "合計金額は", "12,340円", 1234000),
        ("共计人民币1,234.00元整", "共计", "人民币1,234.00元", 123400),
        ("ご請求金額¥4,417-（税込）", "ご請求金額", "¥4,417-", 441700),
        ("税額は500円", "税額は", "500円", 50000),
        ("합계 12,340원", "합계 ", "12,340원", 1234000),
        ("Summa 1 518,15 kr-", "Summa ", "1 518,15 kr-", -151815),
        ("Summe -Fr. 2'060.88", "Summe ", "-Fr. 2'060.88", -206088),
    ],
)
def test_amounts_in_sentences(text: str, label: str, amount: str, cents: int) -> None:
    (found,) = amounts_on(PrintedPages.of([page(text)]))
    assert (found.spot.text, found.cents, found.around.texts["near"]) == (amount, cents, label)


def test_years_and_numbers_of_sections_are_no_amounts() -> None:
    assert amounts("合計|令和5年|第3条|2024年1月7日|12,340円") == ["12,340円"]


def test_a_paper_without_decimals_has_the_numbers_in_columns_of_amounts() -> None:
    text = "品名|数量|  金額\nペン|2|¥1,200\n紙|1|   500\n合計|3|¥1,700\n登録番号|T12|No.7"
    assert amounts(text) == ["¥1,200", "500", "¥1,700"]


def test_the_number_and_date_of_the_original_invoice_are_not_those_of_a_credit_note() -> None:
    for number, day in (
        ("Original invoice no.: 4711", "Date of original invoice: 2018-05-03"),
        ("Zu Rechnung Nr.: 4711", "Datum der Ursprungsrechnung: 2018-05-03"),
        ("Facture d'origine: 4711", "Date de la facture d'origine: 2018-05-03"),
        ("Fattura di riferimento: 4711", "Data fattura originale: 2018-05-03"),
        ("Factura rectificada: 4711", "Fecha factura rectificada: 2018-05-03"),
        ("原发票号码: 4711", "原开票日期: 2018-05-03"),
    ):
        text = invoice("Subtotal|-150.00", "VAT 20 %|-30.00", "Total|-180.00").replace("INVOICE", "CREDIT NOTE")
        found = extract(text.replace("Bill to:", f"{number}\n{day}\nBill to:"))
        assert (found.data["invoice_number"], found.data["date"]) == ("26008761", "2018-07-10"), number
        assert (found.data["subtotal"], found.data["tax"], found.data["total"]) == ("-150.00", "-30.00", "-180.00")


def test_a_date_with_another_label_is_not_told_for_sure() -> None:
    text = invoice("Subtotal|150.00", "VAT 20 %|30.00", "Total|180.00", foot="Thank you.")
    found = extract(text.replace("Invoice date: 2018-07-10", "Please pay by: 2018-08-10"))
    assert found.fields["/date"].status is not FieldStatus.FOUND


def test_an_address_of_one_line_without_a_town_needs_review() -> None:
    sums = ("Subtotal|150.00", "VAT 20 %|30.00", "Total|180.00")
    checks = {check.code: check.passed for check in extract(invoice(*sums, head="Rua das Flores, 88")).checks}
    assert not checks.get("address_complete", False)
    checks = {check.code: check.passed for check in extract(invoice(*sums, head="12 Mill Lane, 1030 Leeds")).checks}
    assert checks.get("address_complete", True)


@pytest.mark.parametrize(
    "sums",
    [
        ("Subtotal|50.00", "Tax|4.50", "Tip|9.00", "Total|63.50"),
        ("Subtotal|50.00", "Tax|4.50", "Gratuity 18 %|9.00", "Total|63.50"),
    ],
)
def test_the_tax_beside_a_tip_is_found(sums: tuple[str, ...]) -> None:
    rows = ["LITTLE HARBOUR GRILL", "12 Main Street", "Springfield, IL 62704", "07/14/2023 18:29", "Burger|50.00"]
    found = extract("\n".join([*rows, *sums]), "receipt")
    assert (found.data["subtotal"], found.data["tax"], found.data["total"]) == ("50.00", "4.50", "63.50")
    assert found.fields["/tax"].status is FieldStatus.FOUND


def test_two_included_taxes_of_a_receipt_are_added_up() -> None:
    rows = ["LITTLE HARBOUR GRILL", "Hauptstr. 1", "10115 Berlin", "14.07.2023 18:29", "Espresso|10.70", "Wein|23.80"]
    rows += ["Summe|34.50", "MwSt. 7 % enthalten|0.70", "MwSt. 19 % enthalten|3.80"]
    tax = extract("\n".join(rows), "receipt").fields["/tax"]
    assert (tax.value, tax.status) == ("4.50", FieldStatus.FOUND)


@pytest.mark.parametrize("charge", ["Shipping|30.00", "Express courier|30.00", "Previous balance|30.00"])
def test_a_charge_is_no_tax_for_sure(charge: str) -> None:
    found = extract(invoice("Subtotal|150.00", charge, "Total|180.00"))
    assert found.fields["/tax"].status is not FieldStatus.FOUND


def test_a_charge_beside_a_tax_is_not_added_to_it() -> None:
    found = extract(invoice("Subtotal|150.00", "VAT 20 %|30.00", "Fuel|15.00", "Total|195.00"))
    assert found.fields["/tax"].status is not FieldStatus.FOUND
    assert found.status is ExtractionStatus.NEEDS_REVIEW


def test_a_tax_without_decimals_needs_review() -> None:
    found = extract(invoice("Subtotal|150.00", "VAT 20 %|30", "Total|180.00"))
    assert found.status is ExtractionStatus.NEEDS_REVIEW


@pytest.mark.parametrize(
    ("foot", "currency"),
    [
        ("Santa Fe, New Mexico 87501", None),
        ("Interest under the LATE PAYMENT ACT 1998", None),
        ("Auckland 1010", "NZD"),
    ],
)
def test_names_that_are_like_those_of_countries_tell_no_currency(foot: str, currency: str | None) -> None:
    field = extract(invoice("Subtotal|$150.00", "Tax 20 %|$30.00", "Total|$180.00", foot=foot)).fields["/currency"]
    if currency is None:
        assert field.status is FieldStatus.UNCERTAIN
    else:
        assert field.value == currency


def test_fridays_are_no_francs() -> None:
    sums = ("Subtotal EUR|150.00", "VAT 20 %|30.00", "Total EUR|180.00")
    assert extract(invoice(*sums, foot="Jeden Fr. geschlossen\nMo. - Fr. 9-17")).data["currency"] == "EUR"
    assert extract(invoice(*(each.replace("EUR", "Fr.") for each in sums))).data["currency"] == "CHF"


@pytest.mark.parametrize(
    "account", ["DE89 3704 0044 0532 013 00", "GBZ9 NWBK 6016 1331 9268 19", "DE89 3704 0044 0532 0130 01"]
)
def test_a_misread_account_needs_review(account: str) -> None:
    found = extract(invoice("Subtotal|150.00", "VAT 20 %|30.00", "Total|180.00", foot=f"IBAN: {account}"))
    assert found.fields["/iban"].status is not FieldStatus.FOUND
    assert found.status is ExtractionStatus.NEEDS_REVIEW


def test_of_two_accounts_the_customers_is_left_out() -> None:
    foot = "We debit your account IBAN: DE89 3704 0044 0532 0130 00\nOur account IBAN: GB29 NWBK 6016 1331 9268 19"
    found = extract(invoice("Subtotal|150.00", "VAT 20 %|30.00", "Total|180.00", foot=foot))
    assert found.data["iban"] == "GB29NWBK60161331926819"


@pytest.mark.parametrize("line", ["Mobile 01/07/2018 - 31/07/2018", "Customer: John Smith\nMobile: 07700 900123"])
def test_dates_and_customers_telephones_are_no_telephone_of_a_shop(line: str) -> None:
    text = f"Harbour Cafe Ltd\n12 Mill Lane\nLeeds LS1 4AB\n2018-07-10 12:30\nCoffee|20.00\nTotal|20.00\n{line}"
    assert extract(text, "receipt").data["phone"] is None


def test_a_receipt_without_a_total_needs_review() -> None:
    found = extract("Harbour Cafe Ltd\n12 Mill Lane\nLeeds LS1 4AB\n2018-07-10 12:30\nThank you", "receipt")
    assert found.status is ExtractionStatus.NEEDS_REVIEW


@pytest.mark.parametrize(
    ("sums", "total"),
    [
        (("Total incl. GST|8.11", "Rounding|-0.01", "Total rounded|8.10"), "8.10"),
        (("Total|15.39", "Rounding|0.01", "Grand TotalRM15.40"), "15.40"),
        (("Total|15.40", "Rounding|0.00", "Cash|15.40"), "15.40"),
    ],
)
def test_the_rounded_total_is_the_total(sums: tuple[str, ...], total: str) -> None:
    text = "\n".join(
        ["Harbour Cafe Ltd", "12 Mill Lane", "2018-07-10 12:30", "Coffee|1.00", "Tea|3.00", *sums, "Cash|20.00"]
    )
    assert extract(text, "receipt").data["total"] == total


RECEIPT = """LITTLE HARBOUR TRADING SDN BHD
NO. 7, JALAN PASIR 3/1,
TAMAN SELATAN, 81100 JOHOR BAHRU
TEL: 07-123 4567
RECEIPT
Date: 23/04/2018 18:29|Cashier: AMY
"""


@pytest.mark.parametrize(
    ("rows", "total"),
    [
        ("Bread|10.60\nSalt|5.60\nTotal 6% supplies (inc. GST)|10.60\nTotal 0% supplies|5.60\nTotal|16.20", "16.20"),
        ("Parking 3 hours\nGrand Total|28.50\nCash|50.00\nChange|21.50\nTotal this month|57.00", "28.50"),
        ("Lunch\nTotal food|20.00\nTotal drinks|8.50\nTotal|28.50\nCash|50.00\nTotal day|48.50", "28.50"),
        ("Printed pages|12,345\nTotal pages|12,345\nAmount|150.00", "150.00"),
    ],
)
def test_a_larger_total_is_the_total_only_as_the_sum_of_totals_by_rate(rows: str, total: str) -> None:
    assert extract(RECEIPT + rows, "receipt").data["total"] == total


def test_papers_in_yen_may_have_a_quantity_with_decimals() -> None:
    text = "株式会社山田\n請求書\n作業|8.25|1,000|8,250\n運搬|1|5,000|5,000\n小計|13,250\n消費税 10%|1,325\n合計|14,575"
    assert extract(text).data["total"] == "14575.00"
