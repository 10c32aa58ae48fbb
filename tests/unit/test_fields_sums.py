"""Net amounts, taxes and totals of invoices, and their numbers and dates: generated in seven languages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import permutations

import pytest

from inkgate.fields.document_types import DocumentTypes
from inkgate.fields.extract import answer
from inkgate.fields.kinds import KINDS
from inkgate.fields.proposed import proposed
from inkgate.fields.trade.words import concepts_in
from inkgate_client.fields.values import Extraction, ExtractionStatus, FieldStatus, Match
from inkgate_client.types import Line, PageResult, Quad, Word
from support.invoices import HEADS, LAYOUTS, WORDS, InvoiceWriter, made_invoices
from support.receipts import page

INVOICE = DocumentTypes.load().named("invoice")


def extract(of: PageResult) -> Extraction:
    return answer([of], INVOICE, proposed([of], INVOICE))


def found(extraction: Extraction, name: str) -> object:
    value = extraction.data[name]
    return "" if value is None else value


def test_values_of_invoices_are_right_in_every_language_and_layout() -> None:
    """The trees saw other invoices. What they miss is flagged."""
    values, wrong, silent = 0, [], []
    for made in made_invoices(tuple(WORDS), LAYOUTS, HEADS, seed=1):
        extraction = extract(made.page())
        values += len(made.truth)
        for name, value in made.truth.items():
            if found(extraction, name) != value:
                wrong.append((made.name, name, value, found(extraction, name)))
                if extraction.fields[f"/{name}"].status is FieldStatus.FOUND:
                    silent.append(wrong[-1])
    assert (silent, wrong if len(wrong) > values / 50 else []) == ([], [])


def test_taxes_are_added_up_where_their_sum_is_not_printed() -> None:
    wrong = []
    for seed in (3, 4, 5):
        for made in made_invoices(tuple(WORDS), ("rows_of_rates",), HEADS, seed):
            tax = extract(made.page()).fields["/tax"]
            places = {source.lines for source in tax.sources if source.match is Match.SUM}
            if (tax.status, tax.value, len(places)) != (FieldStatus.FOUND, made.truth["tax"], 2):
                wrong.append((made.name, seed, tax))
    assert wrong == []


def without_total(writer: InvoiceWriter) -> None:
    writer.stacked(("net", "tax"))


def with_another_total(writer: InvoiceWriter) -> None:
    label = writer.words["gross"][0]
    for amount in (writer.gross, writer.gross + Decimal("7.77")):
        writer.made.row((44, label), (70, writer.money(amount)))


def that_does_not_add_up(writer: InvoiceWriter) -> None:
    writer.gross += Decimal("10.00")
    writer.stacked()


@pytest.mark.parametrize("sums", [without_total, with_another_total, that_does_not_add_up])
def test_totals_that_nothing_settles_are_flagged(sums: Callable[[InvoiceWriter], None]) -> None:
    silent = []
    for language in WORDS:
        for seed in range(4):
            writer = InvoiceWriter.of(language, "lines", seed)
            made = writer.write(sums)
            extraction = extract(made.page())
            if (
                extraction.fields["/total"].status is FieldStatus.FOUND
                or extraction.status is ExtractionStatus.COMPLETE
            ):
                silent.append((made.name, seed, extraction.fields["/total"]))
    assert silent == []


LABELS = {
    "subtotal": (
        "Net total|Subtotal|Sub Total|Total before tax|Taxable amount|Zwischensumme|Summe netto|Gesamtbetrag netto"
        "|Nettobetrag|Total HT|Montant hors taxes|Sous-total|Base imponible|Totale imponibile|Subtotaal|Razem netto"
        "|Základ daně|小计|小計"
    ),
    "tax": (
        "VAT 20 %|Total VAT|Sales tax|GST (10%)|zzgl. 19 % USt.|Umsatzsteuer 19 %|Steuern gesamt|TVA 20 %|I.V.A. 21 %"
        "|Cuota IVA|Imposta 22%|BTW 21%|Valor do IVA|Kwota VAT|DPH 21 %|消費税|税额"
    ),
    "total": (
        "Total|Grand total|Total incl. VAT|Gesamtsumme|Rechnungsbetrag|Total TTC|Importe total|Totale fattura"
        "|Totaalbedrag|Razem|Celkem|合计|合計|T0tal"
    ),
    "due": "Amount due|Balance due|Zahlbetrag|Net à payer|Total a pagar|Te betalen|Do zapłaty|K úhradě|应付金额",
    "paid": "Deposit|Amount paid|Anzahlung|Acompte versé|Anticipo|Acconto|Aanbetaling|Záloha|现金|お預り",
    "discount": "Discount 10 %|Rabatt|Remise|Descuento|Sconto|Korting|Desconto|Sleva|优惠|値引",
    "charge": "Shipping|Freight|Versandkosten|Frais de port|Gastos de envío|Verzendkosten|Doprava|运费|送料",
    "invoice_number": "Invoice no.|Rechnungs-Nr.|Facture n°|Factuurnummer|Číslo faktury|发票号码|請求書番号",
    "other_number": "Order no.|Kundennummer|N° client|Partita IVA|Klantnummer|NIP|IČO|订单号",
    "customer": "Bill to|Rechnungsempfänger|Facturé à|Factuuradres|Nabywca|Odběratel|购买方",
}


@pytest.mark.parametrize("concept", LABELS)
def test_labels_name_concepts(concept: str) -> None:
    labels = LABELS[concept].split("|")
    assert [label for label in labels if concept not in concepts_in(label)] == []


def test_words_of_goods_are_no_amounts() -> None:
    amounts = {"total", "subtotal", "tax", "due", "paid", "discount", "tip", "change"}
    goods = ("Consulting", "Hosting in May", "Lavori", "Rope", "Cornetto")
    named = {label: set(concepts_in(label)) & amounts for label in goods}
    assert {label: found_ for label, found_ in named.items() if found_} == {}


def test_the_sign_of_a_currency_and_the_order_of_rows_change_nothing() -> None:
    rows = ["Net total|{}", "VAT 19 %|{}", "Total|{}"]
    values = ("100.00", "19.00", "119.00")
    wrong = []
    for order in ((0, 1, 2), (2, 0, 1), (2, 1, 0), (1, 0, 2)):
        for form in ("{} EUR", "EUR {}", "€{}", "{}", "$ {}"):
            sums = "\n".join(rows[at].format(form.format(values[at])) for at in order)
            extraction = extract(page(f"Muster GmbH|\nInvoice number: RE-7\nInvoice date: 2026-05-14\n{sums}\n"))
            if (extraction.data["subtotal"], extraction.data["tax"], extraction.data["total"]) != values:
                wrong.append((order, form, extraction.data))
    assert wrong == []


def test_dots_may_lead_to_amounts_and_a_printed_rate_tells_a_tax_in_any_language() -> None:
    wrong = []
    for leader in ("", "....", "." * 160, "_____"):
        for tax in ("VAT 25 %", "Mva 25%", "ДДС 25 %", "ÁFA (25%)", "KDV 25 %", "Mwst. 25%"):
            sums = "\n".join(
                f"{label} {leader} {value} kr"
                for label, value in (
                    ("Subtotal", "400.00"),
                    (tax, "100.00"),
                    ("Total", "500.00"),
                )
            )
            extraction = extract(page(f"Muster GmbH|\nInvoice number: RE-7\nInvoice date: 2026-05-14\n{sums}\n"))
            found_ = tuple(extraction.data[name] for name in ("subtotal", "tax", "total"))
            if found_ != ("400.00", "100.00", "500.00"):
                wrong.append((leader, tax, found_))
    assert wrong == []


def test_of_a_table_by_rate_the_row_of_sums_counts_or_the_total_is_flagged() -> None:
    wrong = []
    rates = "20 %|100.00|20.00|120.00\n5 %|400.00|20.00|420.00\n"
    for heads in (
        "Rate|Net|VAT|Gross",
        "Rate|Assessment|Tax|Total",
        "%|Assiette fiscale|TVA|Montant total",
        "Satz|Basis|USt|Gesamt",
        "Aliquota|Imponibile|Imposta|Totale",
        "Tarief|Grondslag|BTW|Totaal",
        "Tipo|Base|Cuota IVA|Total",
    ):
        for last in ("|500.00|40.00|540.00", "Total|500.00|40.00|540.00", "Sum|500.00|40.00|540.00", "|||540.00"):
            cells = " |".join(last.split("|")) if last.startswith("|") else last
            extraction = extract(
                page(f"Muster GmbH|\nInvoice number: RE-7\nInvoice date: 2026-05-14\n{heads}\n{rates}{cells}\n")
            )
            total = extraction.fields["/total"]
            if total.value != "540.00" and total.status is FieldStatus.FOUND:
                wrong.append((heads, last, total.value, total.confidence))
    assert wrong == []


def narrow(heads: Sequence[tuple[float, str]], values: Sequence[tuple[float, str]]) -> PageResult:
    """A page with heads above values, of which the heads were read as one line; columns in letters."""
    text = " ".join(head for _, head in heads)
    placed = []
    for left, head in heads:
        at = 20 + 10 * left
        for word in head.split():
            placed.append(Word(word, rectangle(at, 100, 10 * len(word)), 0.98))
            at += 10 * (len(word) + 1)
    right = placed[-1].quad[1][0]
    lines = [Line(text, rectangle(20 + 10 * heads[0][0], 100, right - 20), 0.98, tuple(placed))]
    lines += [Line(value, rectangle(20 + 10 * left, 132, 10 * len(value)), 0.98) for left, value in values]
    return PageResult(0, lines=(*lines, Line("Total 119.00 EUR", rectangle(20, 300, 160), 0.98)))


def rectangle(left: float, top: float, width: float) -> Quad:
    return ((left, top), (left + width, top), (left + width, top + 20), (left, top + 20))


def test_heads_of_narrow_columns_that_were_read_as_one_line_are_told_apart() -> None:
    wrong = []
    labels = {"order": "Order number", "number": "Invoice number", "due": "Due date", "date": "Invoice date"}
    values = {"order": "99120", "number": "R-230017", "due": "2026-03-14", "date": "2026-02-14"}
    for order in permutations(labels):
        heads = [(16.0 * at, labels[name]) for at, name in enumerate(order)]
        below = [(16.0 * at, values[name]) for at, name in enumerate(order)]
        extraction = extract(narrow(heads, below))
        if (extraction.data["invoice_number"], extraction.data["date"]) != ("R-230017", "2026-02-14"):
            wrong.append((order, extraction.data["invoice_number"], extraction.data["date"]))
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("80101911/26.06.2025", "2025-06-26"),
        ("80101911 / 26.06.2025", "2025-06-26"),
        ("80101911/26/06/2025", "2025-06-26"),
        ("80101911/2025-06-26", "2025-06-26"),
        ("RE-1012/26.06.2025", "2025-06-26"),
        ("F2025-77/26/06/2025", "2025-06-26"),
        ("2025/0417/26.06.2025", "2025-06-26"),
        ("A4711/25/26.06.2025", "2025-06-26"),
        ("A/2023/44/26/06/2025", "2025-06-26"),
        ("26.06.2025/80101911", "2025-06-26"),
        ("2025-06-26/80101911", "2025-06-26"),
        ("80101911/26 June 2025", "2025-06-26"),
        ("80101911/26. Juni 2025", "2025-06-26"),
        ("12/03/20/2025", None),
        ("2024/06/26/11", None),
        ("INV/2024/06/26", None),
        ("2025/0417", None),
        ("4711/25", None),
        ("12/2025/0417", None),
        ("1/26.06.2025", None),
        ("https://example.com/2024/12/05/news", None),
    ],
)
def test_a_slash_parts_a_date_from_a_number(text: str, day: str | None) -> None:
    assert [KINDS["date"].json(each) for each in KINDS["date"].find(text)] == ([] if day is None else [day])


def test_companies_are_named_without_the_address_in_their_row() -> None:
    extraction = extract(
        page("Nord GmbH, Hafenstrasse 5, 20457 Hamburg|\nRechnungsnummer: 7711\nGesamtbetrag|119,00 EUR\n")
    )
    assert extraction.data["merchant_name"] == "Nord GmbH"
    assert "required_missing" in [check.code for check in extraction.checks if not check.passed]
