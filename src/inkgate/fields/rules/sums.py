"""Which amounts of a paper are net, tax and gross: what their labels say, in seven languages, and what adds up."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum, auto
from functools import lru_cache
from itertools import combinations
from typing import Final

from inkgate.fields.kinds import KINDS
from inkgate.fields.kinds.base import ParsedValue
from inkgate.fields.rules.candidates import FieldCandidate, LabelReader, is_word
from inkgate.fields.rules.rows import PrintedPages

_LONGEST: Final = 120
"""Characters of a label that are looked at, from its end."""
_MAX_AMOUNTS: Final = 300
"""Maximum amounts of a paper that are combined."""
_MAX_ADDED: Final = 5
"""Taxes that are added up, and discounts and charges: all their subsets are tried."""
_MAX_TAXES: Final = 20
"""Amounts that may be the tax; a table by rate has one a row."""
_MAX_WHOLES: Final = 60
"""Amounts that may be the total, the last ones: 60 totals, 46 taxes and 32 adjustments are tried in 0.1 s."""
_MIN_SCORE: Final = 6.0
"""Minimum score of net, tax and gross that decide: two of them are labelled, and the tax has a usual rate or the third
a label."""
_CENTS: Final = Decimal("0.02")
_ROUNDING: Final = Decimal("0.05")
"""Totals are rounded to five cents in many countries."""
_RATES: Final = tuple(
    map(
        Decimal,
        (
            "2.1",
            "2.6",
            "3",
            "3.8",
            "4",
            "5",
            "5.5",
            "6",
            "7",
            "7.7",
            "8",
            "8.1",
            "9",
            "10",
            "12",
            "13",
            "14",
            "15",
            "16",
        ),
    )
) + tuple(map(Decimal, range(17, 28)))
"""Usual rates of a tax, in percent."""
_RATE: Final = re.compile(r"(\d{1,2}(?:[.,]\d{1,2})?)\s?%")


class Role(Enum):
    """What an amount is by its label."""

    NET = auto()
    TAX = auto()
    GROSS = auto()
    TOTAL = auto()
    """A total of net or gross amounts; the label doesn't tell."""
    DUE = auto()
    PAID = auto()
    DISCOUNT = auto()
    CHARGE = auto()
    NONE = auto()


_TAX_WORD: Final = (
    r"(?:tax(?:es?)?|vat|gst|hst|pst|qst|sst|mwst|ust|(?!steuer(?:n(?:umme)?r|satz|frei|pflicht|id|bemess))\w*steuer\w*"
    r"|(?:mwst|ust|btw)-?\s?\w*(?:betrag|bedrag)|tva|iva|btw|moms|mva|impuestos?|tass[ae]|belasting(?:en)?"
    r"|impost[aeio]s?|impots?)"
)
_TAX: Final = re.compile(rf"\b{_TAX_WORD}\b|税")
_NOT_TAX: Final = re.compile(
    r"\btax(?:able)? (?:invoice|period|date|point|id|no)\b|\b(?:vat|tax) ?(?:reg|id|no|number)\b"
)
_BASE: Final = re.compile(r"\b(?:on|of|auf|von|sur|sobre|su|over|van|de)\s*(?:[€$£]|eur|usd|gbp)?\s*$")
"""Behind the word for a tax: what it is computed from follows."""
_DUE: Final = re.compile(
    r"\b(?:(?:amount|balance|total|payment|sum|invoice|now)s? (?:now )?(?:due|payable|outstanding|owing|owed)"
    r"|to pay|be paid"
    r"|payable|outstanding|remaining|remainder|balance|zu (?:be)?zahlen\w*|(?:noch )?zahlbar\w*|zahl(?:ungs)?betrag"
    r"|rest(?:betrag|zahlung|forderung|summe)?|offene?[rs]?|fallig\w*|a (?:payer|regler|pagar)|(?:da|a) pagare"
    r"|te (?:betalen|voldoen)|saldo|solde|reste|restante?|resto|pend(?:iente|ente|ant)s?|residuo|dovuto"
    r"|verschuldigd|devido"
    r"|openstaand\w*|em (?:falta"
    r"|divida)"
    r"|por (?:pagar|liquidar)|du)\b"
)
_CARRIED: Final = re.compile(
    r"\b(?:previous|prior|brought|last|vorig\w*|vorherig\w*|precedent\w*|anterior|vorige|ubertrag)\b"
)
_PAID: Final = re.compile(
    r"\b(?:depos[ií]t\w*|down ?payments?|pre-?pa(?:id|yments?)|paid|advance|payments?|\w*zahlung(?:en)?|abschlag\w*"
    r"|bereits|geleistet\w*|bezahlt|gezahlt|erhalten\w*|acomptes?|versee?s?|arrhes|paye|regle|anticip[oi]\w*"
    r"|pagad[oa]s?|pagos?"
    r"|acconto|acconti|versat[oi]|pagat[oi]|\w*betaling(?:en)?|borg|depot|voldaan|voorschot|betaald|reeds"
    r"|vooruitbetaald"
    r"|adiantamentos?|sinal"
    r"|recebido|cash|tender\w*|visa|master\s?card|change|credits?|gutschrift)\b"
)
_DISCOUNT: Final = re.compile(
    r"(?<!after )(?<!nach )(?<!apres )(?<!dopo )(?<!na )(?<!con )(?<!com )"
    r"\b(?:dis[ck](?:ount)?s?|rebates?|vouchers?|coupons?|savings?|rabatt\w*|nachlass\w*|preisnachlass|skonto"
    r"|remises?|rabais"
    r"|ristournes?|escompte|reductions?|descuentos?|dto|bonificacion|sconti?o?|korting\w*|descontos?|abatimento)\b"
)
_CHARGE: Final = re.compile(
    r"\b(?:shipping|freight|delivery|postage|handling|carriage|transport\w*|surcharge|service (?:charge|\d)|svc"
    r"|gratuity|tip|fees?"
    r"|versand\w*|fracht\w*"
    r"|porto|liefer(?:ung|kosten)|zuschlag|frais|port|livraison|envios?|portes|gastos|spedizione|trasporto|spese"
    r"|verzend\w*|bezorg\w*|vracht\w*|frete|entrega|expedicao|toeslag)\b"
)
_NET: Final = re.compile(
    r"\b(?:nett?o?|net\w*betrag|netto\w*|sub[ -]?\s?tota[al]?l\w*|subtotale?|sub[ -]?totais|zwischensumme"
    r"|totale? par[cz]iale?|total partiel"
    r"|sous[ -]?total"
    r"|untaxed|taxable|taxfree|pre-?tax|warenwert|assiette|\w*imponib\w*|bases?|incidencia|i?liquido|grondslag|maatstaf"
    r"|\w*bemessungsgrundlage|steuerpflichtig\w*|ht|hors[ -]taxes?|hors[ -]tva|htva)\b|不含税|小计"
)
_GROSS: Final = re.compile(
    r"\b(?:gross|brutto\w*|\w+brutto|bruto|brut|lordo|ttc|toutes taxes(?: comprises)?|tvac|ivato)\b|价税合计"
)
_INCLUDED: Final = re.compile(
    r"\b(?:incl?|inclu\w*|inkl\w*|einschl\w*|compris\w*|inbegrepen|tvac)\b"
    rf"|\b(?:con|com|mit|with|avec|met|after|nach|c/) ?(?:[\d.,]+ ?% ?)?{_TAX_WORD}\b"
)
_OF_WHICH: Final = re.compile(
    r"\b(?:davon|darin|dont|di cui|waarvan|of which|thereof|de los cuales|dos quais|enthalten\w*)\b"
)
_EXCLUDED: Final = re.compile(
    r"\b(?:excl?|exclu\w*|exkl\w*|esclus\w*|ex)\b"
    rf"|\b(?:hors|ohne|sin|senza|sem|sans|zonder|before|without|w/?o|net of|antes d[eo]|prima d[ei]ll?|avant|vor|s/)"
    rf" ?(?:[\w.,%]+ )?{_TAX_WORD}\b"
)
_PLUS: Final = re.compile(r"\b(?:zzgl|zuzuglich|plus|mas|piu|mais|add)\b|\+")
_SUM: Final = re.compile(
    r"\b(?:\w*total\w*|totale|totaal\w*|tot|\w*summe|sums?|suma|somma|somme|gesamt\w*|endbetrag|rechnungsbetrag"
    r"|factuurbedrag|jumlah"
    r"|(?:invoice|bill) amount|importe (?:de la )?factura|(?:valor|importo) (?:d[ao] )?fat\w+"
    r"|mont(?:ant|o) (?:de la )?fact\w+)\b"
    r"|合计|总计|總計"
)
_AMOUNT_WORD: Final = re.compile(r"\b(?:amount|\w*betrag|bedrag|importe?|importo|valor|montant|monto|price|preis)\b")
_LEADERS: Final = re.compile(r"[.·…_-]{3,}")
"""Dots or lines that lead from a label to its amount."""
_SPELLED: Final = re.compile(r"\b(\w)\.\s?(?=\w\b)")


def role_of(label: str) -> Role:
    """What the label says of the amount behind it."""
    text = _plain_label(label)
    sums = _SUM.search(text)
    taxed = _TAX.search(text)
    included, excluded = _INCLUDED.search(text), _EXCLUDED.search(text)
    if _DUE.search(text) and not _CARRIED.search(text) and not (taxed and not included and not excluded):
        return Role.DUE
    if _PAID.search(text):
        return Role.PAID
    if not sums and not _NET.search(text):
        if _DISCOUNT.search(text):
            return Role.DISCOUNT
        if _CHARGE.search(text):
            return Role.CHARGE
    return _role_of_sum(text, taxed=bool(taxed), included=bool(included), excluded=bool(excluded))


def _role_of_sum(text: str, *, taxed: bool, included: bool, excluded: bool) -> Role:
    """Net, tax or gross."""
    is_sum = bool(_SUM.search(text))
    is_net, is_gross = bool(_NET.search(text)), bool(_GROSS.search(text))
    named = is_sum or bool(_AMOUNT_WORD.search(text))
    of_which = taxed and _OF_WHICH.search(text)
    if not of_which and (excluded or (taxed and _BASE.search(text)) or (is_net and not is_gross)):
        return Role.NET
    added = taxed and not included and _PLUS.search(text)
    if not (of_which or added) and (is_gross or (included and (named or not taxed))):
        return Role.GROSS
    if taxed:
        return Role.TAX
    return Role.TOTAL if is_sum else Role.NONE


def _plain_label(label: str) -> str:
    """Returns the label in lower case, without accents, currencies, and the dots of h.t. and i.v.a."""
    text = "".join(
        c
        for c in unicodedata.normalize("NFKD", _LEADERS.sub(" ", label)[-_LONGEST:].casefold())
        if not unicodedata.combining(c)
    )
    text = _NOT_TAX.sub(" ", _SPELLED.sub(r"\1", text.replace("’", "'")))
    return " ".join(text.split())


@dataclass(frozen=True, slots=True)
class SumCandidate:
    """An amount with its role. `rate`: of the tax in percent, as its label says; None without one."""

    found: FieldCandidate
    number: Decimal
    role: Role
    rate: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Sums:
    """Net, tax and gross that add up.

    Attributes:
        tax: its text is the sum of the taxes where several are printed and their sum is not.
        rank: of two, the one with the greater rank is the paper's: labelled as gross, larger, better labelled. Smaller
            ones are of one of several rates.
    """

    net: FieldCandidate
    tax: FieldCandidate
    gross: FieldCandidate
    rank: tuple[bool, Decimal, float]


def sum_candidates(pages: PrintedPages, amounts: Sequence[FieldCandidate]) -> list[SumCandidate]:
    """The amounts (rates are none) with what they are by the label left of them, or the head of their column."""
    reader = LabelReader(pages, _amounts_in)
    printed = [each for each in amounts if each.value is not None and each.value.unit != "%"]
    roles = lru_cache(maxsize=None)(role_of)  # of this paper only: labels are its text
    return [_read_role(reader, each, roles) for each in printed[-_MAX_AMOUNTS:]]


def _amounts_in(text: str) -> list[ParsedValue]:
    """The amounts in a text; rates and whole numbers without a currency are none."""
    return [each for each in KINDS["money"].find(text) if each.unit != "%" and (each.decimals == 2 or each.unit)]


def _read_role(reader: LabelReader, found: FieldCandidate, role_of_label: Callable[[str], Role]) -> SumCandidate:
    """The amount with its role."""
    near, shared = reader.near(found, lambda label: role_of_label(label) is not Role.NONE)
    role, head = role_of_label(near), Role.NONE
    if not is_word(near) or (role in {Role.TOTAL, Role.TAX, Role.NONE} and (shared or reader.values_beside(found))):
        head = role_of_label(reader.head(found))
        if head is not Role.NONE and (role is not Role.NONE or head is not Role.TOTAL or not is_word(near)):
            role = head
        elif shared:
            role = Role.NONE
    rate = _RATE.search(near)
    number = found.value.readings[0] if found.value else None
    return SumCandidate(
        found,
        number if isinstance(number, Decimal) else Decimal(0),
        role,
        Decimal(rate[1].replace(",", ".")) if rate else None,
    )


_OF_NET: Final = {Role.NET: 3.0, Role.TOTAL: 1.5, Role.NONE: 0.0}
_OF_GROSS: Final = {Role.GROSS: 3.0, Role.TOTAL: 2.5, Role.DUE: 2.0, Role.NONE: 0.0}


def find_sums(candidates: Sequence[SumCandidate]) -> Sums | None:
    """Net, tax and gross that add up and are labelled so, the largest; None if no amounts do."""
    nets: dict[Decimal, SumCandidate] = {}
    for each in candidates:
        if each.role in _OF_NET and each.number > 0:
            stored = nets.get(each.number)
            if stored is None or _OF_NET[each.role] > _OF_NET[stored.role]:
                nets[each.number] = each
    gross = [each for each in candidates if each.role in _OF_GROSS and each.number > 0][-_MAX_WHOLES:]
    taxes, shifts = list(_taxes(candidates)), [Decimal(0), *adjustments(candidates)]
    best: Sums | None = None
    for whole in gross:
        for tax, share in taxes:
            for shift in shifts:
                net = nets.get(whole.number - tax.number - shift)
                if net is None or net.found is whole.found or tax.number > net.number:
                    continue
                score = _OF_NET[net.role] + share + _OF_GROSS[whole.role]
                usual = _is_usual(net.number + shift, tax)
                if tax.role is Role.NONE and not usual:
                    continue
                in_row = net.found.row == tax.found.row == whole.found.row
                score += 1.5 * usual + 1.0 * in_row - 1.0 * (shift != 0)
                rank = (whole.role is not Role.NONE, whole.number, score)
                if score >= _MIN_SCORE and (best is None or rank > best.rank):
                    best = Sums(net.found, tax.found, whole.found, rank)
    return best


def _taxes(candidates: Sequence[SumCandidate]) -> Iterator[tuple[SumCandidate, float]]:
    """Taxes, and what speaks for each: single ones, and the sum of several."""
    single = [each for each in candidates if each.role is Role.TAX and each.number > 0][-_MAX_TAXES:]
    for each in single:
        yield each, 3.0
    foreign = [each for each in candidates if each.role is Role.NONE and each.rate and each.number > 0]
    for each in foreign[-_MAX_TAXES:]:  # the word for the tax is of another language
        yield each, 1.0
    apart = list({each.found.row: each for each in single}.values())[:_MAX_ADDED]
    printed = {each.number for each in single}
    for count in range(2, len(apart) + 1):
        for chosen in combinations(apart, count):
            number = sum((each.number for each in chosen), Decimal(0))
            if number not in printed:
                first = chosen[0].found
                text = f"{number:.2f}"
                yield SumCandidate(replace(first, text=text, value=None), number, Role.TAX), 2.5


def _is_usual(net: Decimal, tax: SumCandidate) -> bool:
    """Whether the tax has its printed rate, or, without one, a usual rate."""
    return any(abs(net * rate / 100 - tax.number) <= _CENTS for rate in _rates_of(tax))


def _rates_of(tax: SumCandidate) -> Sequence[Decimal]:
    return _RATES if tax.rate is None else (tax.rate,)


def adjustments(candidates: Sequence[SumCandidate]) -> list[Decimal]:
    """What discounts and charges may add to the net amount, each with its sign, or some of them together."""
    discounts = [-abs(each.number) for each in candidates if each.role is Role.DISCOUNT]
    charges = [abs(each.number) for each in candidates if each.role is Role.CHARGE]
    parts = [*discounts, *charges][:_MAX_ADDED]
    chosen = (each for count in range(1, len(parts) + 1) for each in combinations(parts, count))
    return [number for number in dict.fromkeys(sum(each, Decimal(0)) for each in chosen) if number]


def is_exceeded(sums: Sums, candidates: Sequence[SumCandidate]) -> bool:
    """Whether a larger amount is labelled as the total, or is the sum of two in its row: these sums may be of one rate
    or one section.
    """
    larger = [each for each in candidates if each.number > sums.rank[1]]
    if any(each.role in {Role.GROSS, Role.TOTAL} for each in larger):
        return True
    rows: dict[int, list[Decimal]] = {}
    for each in candidates:
        rows.setdefault(each.found.row, []).append(each.number)
    return any(
        first + second == each.number
        for each in larger
        for first, second in combinations(rows[each.found.row][:_MAX_ADDED], 2)
    )


@dataclass(frozen=True, slots=True)
class LikelyTotal:
    """The total of a paper on which nothing adds up. `others`: what else it may be; `sure`: whether nothing speaks
    against it. The text of `found` is net and tax together where no amount but the net one may be the total.
    """

    found: FieldCandidate
    others: Sequence[FieldCandidate] = ()
    sure: bool = True


def likely_total(candidates: Sequence[SumCandidate], total: FieldCandidate) -> LikelyTotal:
    """The total by the roles of the amounts. `total`: what the labels alone speak for."""
    by_role: dict[Role, list[SumCandidate]] = {}
    for each in candidates:
        if each.number > 0:
            by_role.setdefault(each.role, []).append(each)
    own = next((each for each in candidates if _place(each.found) == _place(total)), None)
    ranked = [each for role in (Role.GROSS, Role.TOTAL, Role.DUE) for each in reversed(by_role.get(role, []))]
    best = own if own is not None and own.role in _OF_GROSS else next(iter(ranked), own)
    if best is None:
        return LikelyTotal(total)
    best = _before_deposit(best, by_role)
    taxes = by_role.get(Role.TAX, [])
    if best.role is Role.NET and len(taxes) == 1 and is_on_top(best.number, taxes[0].number):
        return LikelyTotal(replace(best.found, text=f"{best.number + taxes[0].number:.2f}", value=None), (), sure=False)
    others = {each.number: each.found for each in ranked if each.number != best.number}
    return LikelyTotal(best.found, tuple(others.values()), _is_sure(best, by_role, candidates))


def _is_sure(best: SumCandidate, by_role: Mapping[Role, Sequence[SumCandidate]], every: Sequence[SumCandidate]) -> bool:
    """Whether no other amount is as likely the total, and net amount and tax don't make another one."""
    if best.role not in _OF_GROSS:
        return False
    wholes = {each.number: each for role in (Role.GROSS, Role.TOTAL) for each in by_role.get(role, [])}
    wholes.pop(best.number, None)
    taxes, nets = by_role.get(Role.TAX, []), by_role.get(Role.NET, [])
    added = [each.number for role in (Role.TAX, Role.PAID) for each in by_role.get(role, [])] + adjustments(every)
    for other in wholes.values():
        differs = abs(best.number - other.number)
        taxed = other.role is not best.role and is_on_top(min(other.number, best.number), differs)
        if not (differs in added or taxed or sum(wholes) == best.number):
            return False
    if nets and taxes:
        made = {net.number + tax.number for net in nets for tax, _ in _taxes(every)}
        return any(abs(each - best.number) <= _ROUNDING for each in made)
    if taxes and best.role is not Role.GROSS:
        return any(_is_included(best.number, tax.number, _rates_of(tax)) for tax in taxes)
    return True


def _place(found: FieldCandidate) -> tuple[int, tuple[int, ...], ParsedValue | None]:
    return found.row, found.lines, found.value


def _before_deposit(best: SumCandidate, by_role: Mapping[Role, Sequence[SumCandidate]]) -> SumCandidate:
    """The total of which a deposit leaves what is due, if that was taken for the total."""
    paid = [each.number for each in by_role.get(Role.PAID, [])]
    for role in (Role.GROSS, Role.TOTAL):
        for each in by_role.get(role, []):
            if any(each.number - part == best.number for part in paid):
                return each
    return best


def _is_included(whole: Decimal, tax: Decimal, rates: Sequence[Decimal] = _RATES) -> bool:
    """Whether the amount has the tax in it, by one of the rates."""
    return any(abs(whole * rate / (100 + rate) - tax) <= _CENTS for rate in rates)


def is_on_top(amount: Decimal, tax: Decimal) -> bool:
    """Whether the tax is one of the amount at a usual rate, and not in it at another."""
    return any(abs(amount * rate / 100 - tax) <= _CENTS for rate in _RATES) and not _is_included(amount, tax)
