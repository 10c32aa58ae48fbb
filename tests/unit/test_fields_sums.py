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
from inkgate.fields.rules.sums import Role, role_of
from inkgate_client.fields.values import Extraction, ExtractionStatus, FieldStatus
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
    wrong = []
    for made in made_invoices(tuple(WORDS), LAYOUTS, HEADS, seed=1):
        extraction = extract(made.page())
        wrong += [
            (made.name, name, value, found(extraction, name))
            for name, value in made.truth.items()
            if found(extraction, name) != value
        ]
    assert wrong == []


def test_a_sum_of_taxes_that_is_not_printed_is_told_and_not_invented() -> None:
    wrong = []
    for seed in (3, 4, 5):
        for made in made_invoices(tuple(WORDS), ("rows_of_rates",), HEADS, seed):
            extraction = extract(made.page())
            tax = extraction.fields["/tax"]
            if tax.status is not FieldStatus.UNGROUNDED or extraction.status is ExtractionStatus.COMPLETE:
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


@pytest.mark.parametrize(
    ("role", "labels"),
    [
        (
            Role.NET,
            (
                "Net total|Subtotal|Sub Total|Total (excl. VAT)|Total before tax|Taxable amount|Amount excluding GST"
                "|Zwischensumme"
                "|Summe netto|Gesamtbetrag netto|Nettobetrag|Betrag ohne MwSt.|Total HT|Total H.T.|Montant hors taxes"
                "|Sous-total"
                "|Base imponible|Total sin IVA|Importe neto|Totale imponibile|Totale IVA esclusa|Subtotaal"
                "|Totaal excl. btw"
                "|Bedrag exclusief BTW|Base tributável|Total sem IVA|VAT 19 % on|MwSt. 19 % von"
            ),
        ),
        (
            Role.TAX,
            (
                "VAT 20 %|Total VAT|Sales tax|GST (10%)|zzgl. 19 % USt.|Umsatzsteuer 19 %|darin enthaltene MwSt."
                "|inkl. 19% MwSt"
                "|Steuern gesamt|TVA 20 %|dont TVA|I.V.A. 21 %|Cuota IVA|di cui IVA|Imposta 22%|Totale imposte"
                "|waarvan BTW|BTW 21%"
                "|Valor do IVA|incl. VAT"
            ),
        ),
        (
            Role.GROSS,
            (
                "Total incl. VAT|Gross total|Total including tax|Gesamtbetrag brutto|Gesamt inkl. 19 % MwSt.|Total TTC"
                "|Total T.T.C."
                "|Montant TTC|Total con IVA|Total (IVA incluido)|Totale IVA inclusa|Totale lordo|Totaal incl. btw"
                "|Bedrag inclusief BTW"
                "|Total com IVA|Total toutes taxes comprises|Total VAT incl.|价税合计"
                "|Bruttobetrag|Total (inclusive of GST)"
            ),
        ),
        (
            Role.TOTAL,
            (
                "Total|Grand total|Invoice total|Gesamtsumme|Rechnungsbetrag|Gesamt|Endbetrag|Summe|Total facture"
                "|Total factura"
                "|Importe total|Suma|Totale|Totale fattura|Totale documento|Totaal|Totaalbedrag"
                "|Total da fatura|合计|Somme"
            ),
        ),
        (
            Role.DUE,
            (
                "Amount due|Balance due|Total due|To pay|Zahlbetrag|Zu zahlen|Restbetrag|Offener Betrag|Net à payer"
                "|Reste à payer"
                "|Solde dû|Total a pagar|Pendiente de pago|Saldo|Totale a pagare|Importo dovuto|Te betalen|Te voldoen"
                "|Openstaand bedrag|Valor em dívida|Remaining balance"
            ),
        ),
        (
            Role.PAID,
            (
                "Deposit|Amount paid|Less deposit|Paid to date|Anzahlung|Bereits bezahlt|abzgl. Abschlag"
                "|Acompte|Déjà payé"
                "|Acompte versé|Anticipo|Pagado a cuenta|Acconto|Pagato|Aanbetaling|Reeds voldaan|Voorschot"
                "|Adiantamento|Sinal|Prepaid"
            ),
        ),
        (
            Role.DISCOUNT,
            (
                "Discount|Discount 10 %|Rebate|Rabatt|Nachlass|Skonto|Remise|Rabais|Escompte|Descuento|Dto. 5 %|Sconto"
                "|Korting"
                "|Desconto|Abatimento|Voucher|Coupon|Less discount|Ristourne|Sconti"
            ),
        ),
        (
            Role.CHARGE,
            (
                "Shipping|Freight|Delivery|Postage|Handling|Versandkosten|Fracht|Porto|Frais de port|Livraison"
                "|Gastos de envío|Portes"
                "|Envío|Spese di spedizione|Trasporto|Verzendkosten|Bezorgkosten|Frete|Portes de envio|Service charge"
            ),
        ),
        (Role.NONE, "Consulting|Beratung|Hosting in May|Conseil|Asesoría|Lavori|Advies|Paint 5 l|Rope|Filter"),
    ],
)
def test_labels_tell_what_an_amount_is(role: Role, labels: str) -> None:
    assert {label: role_of(label) for label in labels.split("|")} == dict.fromkeys(labels.split("|"), role)


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
