"""The fields of an invoice: number, dates, net amount and tax that make the total, accounts, currency, its issuer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Final, cast

from inkgate.fields.folded import fold
from inkgate.fields.kinds import KINDS
from inkgate.fields.kinds.accounts import iban_holds, vat_id_holds
from inkgate.fields.kinds.base import ParsedValue
from inkgate.fields.rules.candidates import FieldCandidate, LabelReader, LabelWeight, candidates_of, is_word, weigh
from inkgate.fields.rules.invoices import INVOICE_WORD, LONGEST_ROW, find_number
from inkgate.fields.rules.rows import PrintedPages, PrintedRow
from inkgate.fields.rules.sums import Role, find_sums, is_exceeded, likely_total, sum_candidates
from inkgate.fields.rules.totals import amounts_of, number_of

_TITLE: Final = re.compile(rf"^\W*(.{{3,60}}?)\W+(?:tax\s+)?{INVOICE_WORD}\W*$", re.IGNORECASE)
"""A row with a name and the word for an invoice, and nothing else."""
_DIGIT: Final = re.compile(r"\d")
_DATE: Final = tuple(
    LabelWeight.of(pattern, weight)
    for pattern, weight in (
        (
            (
                rf"{INVOICE_WORD}.{{0,20}}(?:dat[aeu]|fecha|\bdu\b|\bvom\b|\bdel\b)"
                rf"|(?:dat[aeu]m?|fecha).{{0,12}}{INVOICE_WORD}"
            ),
            4.0,
        ),
        (rf"{INVOICE_WORD}|issued?|[eé]miss|emisi[oó]n|emess|ausgestellt|ausstellung|uitgifte|beleg", 1.5),
        (r"dat[aeu]|datum|fecha|\bdu\b|\bvom\b|日期", 1.0),
        (
            (
                r"order|bestel|commande|pedido|auftrag|ordin|encomenda|liefer|lever|deliver|livraison|consegna|entrega"
                r"|ship|versand|envio"
                r"|print|birth|period|leistung"
            ),
            -3.0,
        ),
        (
            (
                r"\bdue\b|limite|[eé]ch[eé]ance|f[aä]llig|ablauf|verval|scadenza|venc(?:imi?ento|e\b)|pay|until"
                r"|bis\b|jusqu"
                r"|expir|valid"
                r"|betal|paga|pago|paiement|r[eé]gl|uiterlijk|zahl"
            ),
            -4.0,
        ),
    )
)
_DATE_LABEL: Final = 60
"""Characters before a date that are its label."""
_DUE: Final = re.compile(
    r"\bdue\b|pay(?:able|ment)?\s+(?:by|before|until)|limite de paiement|[eé]ch[eé]ance|f[aä]llig|zahlbar bis"
    r"|vervaldatum"
    r"|uiterlijk|betalen (?:voor|v[oó]or)|scadenza|vencimi?ento|[àa] r[eé]gler|到期",
    re.IGNORECASE,
)
_NET: Final = re.compile(
    r"sub[- ]?\s?tota|zwischensumme|exclu|excl?\b|\bex\b|zonder|hors\s+tax|\bHT\b|\bH\.T\.|nett?o|\bnet\b"
    r"|ohne\s+(?:mwst|ust)|untaxed|before\s+(?:tax|vat)|base\s+imponible|imponibile|sous[- ]total|taxable|不含税|小计",
    re.IGNORECASE,
)
_TAX: Final = re.compile(
    r"\b(?:tax|vat|gst|btw|tva|iva|mwst|ust|moms|mva|umsatzsteuer|mehrwertsteuer)\b|税额|税金", re.IGNORECASE
)
_TOTAL: Final = re.compile(r"\btotal|totaal|gesamt|summe|amount due|payer|betalen|合计", re.IGNORECASE)
_RATES: Final = tuple(map(Decimal, (3, 5, 6, 7, 8, 9, 10, 12, 13, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 27)))
"""Usual rates of a tax, in percent."""
_CENTS: Final = Decimal("0.02")
_MAX_AMOUNTS: Final = 300
"""Maximum amounts of an invoice that are combined: pairs with the total only, in linear time."""
_BUYER: Final = re.compile(
    r"bill(?:ing|ed)?\s+(?:to|address)|ship(?:ping|ped)?\s+(?:to|address)|sold\s+to|customer|client|kunde|klant"
    r"|buyer|attn",
    re.IGNORECASE,
)
_SELLER: Final = re.compile(
    r"^\W*(?:sold\s+by|seller|supplier|vendor|issued\s+by|service\s+provider|from|verkäufer|verkoper|vendeur"
    r"|fournisseur"
    r"|销售方|供应商)\s*[:：]\s*(?P<value>[^:：]{3,80})$",
    re.IGNORECASE,
)
_FORM: Final = (
    r"(?:gmbh|ag|kg|ug|ltd\.?|limited|llc|inc\.?|corp\.?|plc|b\.?v\.?|n\.?v\.?|s\.?a\.?(?:s|rl)?\.?|s\.?r\.?l\.?"
    r"|s\.?p\.?a\.?"
    r"|s\.?l\.?|oy|ab|a/s|aps|as)"
)
_IMPRINT: Final = re.compile(
    rf"(?P<name>[^\W\d_][\w&.' -]{{1,50}}?)\s+(?P<form>{_FORM})(?=$|\s*[,·|–−-]|\s+au\s+capital|\s*\()", re.IGNORECASE
)
"""The name of a company with its legal form, as it stands in a footer."""
_DOMAIN: Final = re.compile(
    r"(?:www\.|https?://(?:www\.)?|@|(?<=\s))([a-z0-9-]{3,40})\.(?:[a-z]{2,3}\.)?[a-z]{2,4}\b", re.IGNORECASE
)
"""A website or the domain of a mail address: its name."""
_HEAD_ROWS: Final = 12
_FOOT_ROWS: Final = 12
OF_IMPRINT: Final = 0.8
"""How sure the company of a foot is."""
_WITH_CHECK, _WITHOUT_CHECK, _LABELLED, _SUMMED = 1.0, 0.85, 0.9, 0.96
_DOUBTFUL: Final = 0.5
"""Score of a total that may be another amount: it is flagged."""


def read_invoice(pages: PrintedPages, total: FieldCandidate | None) -> dict[str, list[FieldCandidate]]:
    """The fields that were found, by name, with what else they may be. `total`: of the document, if it is known."""
    amounts = amounts_of(pages)[:_MAX_AMOUNTS]
    dates = _dates(pages)
    found = {
        "invoice_number": find_number(pages),
        "date": _best_date(dates),
        "due_date": _due_date(dates),
        "iban": _account(pages),
        "vat_id": _vat_id(pages),
        "currency": _currency(pages),
        "merchant_name": _issuer(pages),
    }
    every = {name: [candidate] for name, candidate in found.items() if candidate is not None}
    if found["date"] is None and any(weigh(each.label[-_DATE_LABEL:], _DATE) < 0 for each in dates):
        every["date"] = _unlabelled(dates)
    return every | _sums(pages, amounts, total)


def _sums(
    pages: PrintedPages, amounts: Sequence[FieldCandidate], total: FieldCandidate | None
) -> dict[str, list[FieldCandidate]]:
    """Net amount, tax and total, with what else they may be; an empty list says that there is none."""
    candidates = sum_candidates(pages, amounts)
    sums = None if total is None else find_sums(candidates)
    if sums is not None:
        parts = {"subtotal": sums.net, "tax": sums.tax}
        exceeded = is_exceeded(sums, candidates)
        return {"total": [replace(sums.gross, score=_DOUBTFUL if exceeded else 1.0)]} | {
            name: [replace(each, score=_DOUBTFUL if exceeded else _SUMMED)] for name, each in parts.items()
        }
    found: dict[str, list[FieldCandidate]] = {}
    subtotal, tax = _parts_of(amounts, total)
    if subtotal is not None:
        found["subtotal"] = [subtotal]
    taxes = {each.number: each.found for each in candidates if each.role is Role.TAX}
    if tax is not None:
        found["tax"] = [tax]
    elif len(taxes) < 2:
        found["tax"] = [replace(each, score=_LABELLED) for each in taxes.values()]
    if total is not None:
        likely = likely_total(candidates, total)
        found["total"] = [replace(likely.found, score=1.0 if likely.sure else _DOUBTFUL), *likely.others]
    return found


def _short(pages: PrintedPages) -> list[PrintedRow]:
    return [row for row in pages.rows if len(row.text) <= LONGEST_ROW]


def _in_row(row: PrintedRow, text: str, score: float, label: str = "") -> FieldCandidate:
    """A text of a row, with the lines that have a part of it."""
    whole = fold(text)
    lines = tuple(cell.line for cell in row.cells if (part := fold(cell.text)) and (part in whole or whole in part))
    return FieldCandidate(text, row.page, row.number, lines or row.lines, label, None, score)


def _dates(pages: PrintedPages) -> list[FieldCandidate]:
    """All dates, each with the label nearest to it."""
    reader = LabelReader(pages, KINDS["date"].find)
    return [replace(each, label=_label(reader, each)) for each in candidates_of(pages, KINDS["date"])]


def _label(reader: LabelReader, date: FieldCandidate) -> str:
    """What stands before the date in its cell; else left of it, or above, whichever names a date."""
    near, _ = reader.near(date, _names_date)
    if _names_date(near) or (is_word(near) and reader.has_own(date)):
        return near.strip()
    head = reader.head(date)
    if _names_date(head) and not _DIGIT.search(head):
        return head
    return near.strip() if is_word(near) else date.label


def _names_date(label: str) -> bool:
    return any(each.pattern.search(label[-_DATE_LABEL:]) for each in _DATE)


def _best_date(dates: Sequence[FieldCandidate]) -> FieldCandidate | None:
    """The best labelled date; without a label that speaks for it, none."""
    scored = [replace(each, score=weigh(each.label[-_DATE_LABEL:], _DATE)) for each in dates]
    best = max(scored, key=lambda each: (each.score, -each.row), default=None)
    return None if best is None or best.score < 1.0 else replace(best, score=0.97 if best.score >= 4 else _LABELLED)


def _unlabelled(dates: Sequence[FieldCandidate]) -> list[FieldCandidate]:
    """The only date that no label calls another; none if there are several."""
    left = {each.value.readings: each for each in dates if each.value and weigh(each.label[-_DATE_LABEL:], _DATE) >= 0}
    return [replace(each, score=_WITHOUT_CHECK) for each in left.values()] if len(left) == 1 else []


def _due_date(dates: Sequence[FieldCandidate]) -> FieldCandidate | None:
    due = next((each for each in dates if _DUE.search(each.label[-_DATE_LABEL:])), None)
    return None if due is None else replace(due, score=_LABELLED)


def _parts_of(
    amounts: Sequence[FieldCandidate], total: FieldCandidate | None
) -> tuple[FieldCandidate | None, FieldCandidate | None]:
    """Net amount and tax that make the total, by labels, row and rate; else a net amount that is labelled."""
    printed = [each for each in amounts if each.value is not None and each.value.unit != "%"]
    whole = Decimal(0) if total is None else number_of(total)
    by_number: dict[Decimal, list[FieldCandidate]] = {}
    for each in printed:
        by_number.setdefault(number_of(each), []).append(each)
    best: tuple[float, FieldCandidate, FieldCandidate] | None = None
    for tax in printed:
        amount = number_of(tax)
        for net in by_number.get(whole - amount, ())[:_FOOT_ROWS] if 0 < amount <= whole / 2 else ():
            score = _fit(net, tax)
            if score >= 2 and (best is None or score > best[0]):
                best = (score, net, tax)
    if best is not None:
        return replace(best[1], score=_SUMMED), replace(best[2], score=_SUMMED)
    labelled = next((each for each in printed if _NET.search(each.label) and 0 < number_of(each) <= whole), None)
    if labelled is not None:
        return replace(labelled, score=_LABELLED), None
    return _untaxed(printed, whole), None


def _fit(net: FieldCandidate, tax: FieldCandidate) -> float:
    """How much speaks for a net amount and a tax, other than their sum."""
    base, amount = number_of(net), number_of(tax)
    usual = base > 0 and any(abs(base * rate / 100 - amount) <= _CENTS for rate in _RATES)
    score = 2.0 * bool(_TAX.search(tax.label)) + 2.0 * bool(_NET.search(net.label))
    return score + 1.5 * usual + 1.0 * (net.row == tax.row)


def _untaxed(printed: Sequence[FieldCandidate], whole: Decimal) -> FieldCandidate | None:
    """Returns the amount above the taxes that is the total under another name, if the only taxes are of zero."""
    taxes = [each for each in printed if _TAX.search(each.label)]
    if not taxes or any(number_of(each) for each in taxes) or whole <= 0:
        return None
    same = [each for each in printed if number_of(each) == whole and not _TOTAL.search(each.label)]
    return replace(same[-1], score=_LABELLED) if same else None


def _account(pages: PrintedPages) -> FieldCandidate | None:
    """The first IBAN whose check digits hold."""
    found = _by_row(pages, "iban")
    good = [each for each in found if iban_holds(_reading(each))]
    return replace(good[0], score=_WITH_CHECK) if good else replace(found[0], score=_WITHOUT_CHECK) if found else None


def _vat_id(pages: PrintedPages) -> FieldCandidate | None:
    """The first VAT number whose check digits hold and that is not the buyer's; else the first that may be one."""
    found = [each for each in _by_row(pages, "vat_id") if not _BUYER.search(each.label)]
    good = [each for each in found if vat_id_holds(_reading(each))]
    unknown = [each for each in found if vat_id_holds(_reading(each)) is None and _TAX.search(each.label)]
    best = next(iter(good or unknown), None)
    return None if best is None else replace(best, score=_WITH_CHECK if good else _WITHOUT_CHECK)


def _by_row(pages: PrintedPages, kind: str) -> list[FieldCandidate]:
    return [each for each in candidates_of(pages, KINDS[kind]) if each.value is not None]


def _reading(candidate: FieldCandidate) -> str:
    return cast("str", cast("ParsedValue", candidate.value).readings[0])


def _currency(pages: PrintedPages) -> FieldCandidate | None:
    """The currency that is printed most often; a code or a name before a sign that several currencies have."""
    found = _by_row(pages, "currency")
    if not found:
        return None
    counts = Counter(_reading(each) for each in found)
    most = counts.most_common(1)[0][0]
    clear = [each for each in found if _reading(each) == most and not cast("ParsedValue", each.value).ambiguous]
    signs = [each for each in found if _reading(each) == most]
    return replace(clear[0], score=_SUMMED) if clear else replace(signs[0], score=_WITHOUT_CHECK)


def _issuer(pages: PrintedPages) -> FieldCandidate | None:
    """Who is named as the seller; a name before the word for an invoice; or the company of the imprint."""
    rows = _short(pages)
    for row in rows:
        for cell in row.cells:
            match = _SELLER.match(cell.text[:LONGEST_ROW])
            if match:
                return _in_row(row, match["value"].strip(" ,.;"), _WITHOUT_CHECK, cell.text[: match.start("value")])
    everything = fold(" ".join(row.text for row in rows))
    for row in rows[:_HEAD_ROWS]:
        for cell in row.cells:
            match = _TITLE.match(cell.text[:LONGEST_ROW])
            if match and not _DIGIT.search(match[1]) and everything.count(fold(match[1])) > 1:
                return _in_row(row, match[1], _WITHOUT_CHECK)
    return _of_imprint(pages, rows)


def _of_imprint(pages: PrintedPages, rows: Sequence[PrintedRow]) -> FieldCandidate | None:
    """The company that the foot of a page names first; without its legal form if the website is called so."""
    domains = {fold(match[1]) for row in rows for match in _DOMAIN.finditer(row.text)}
    last = {row.page: row.number for row in pages.rows}
    for row in pages.rows:
        if last[row.page] - row.number < _FOOT_ROWS and (match := _IMPRINT.match(row.text[:120].lstrip(" •·*"))):
            brand = fold(match["name"]) in domains
            return _in_row(row, match["name"] if brand else f"{match['name']} {match['form']}", OF_IMPRINT)
    return None
