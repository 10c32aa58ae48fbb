"""Sellers and buyers: names, addresses and numbers."""

import random
from dataclasses import dataclass

from training.fields import identifiers, naming
from training.fields.addresses import address
from training.fields.regions import Region
from training.fields.words import Half, form, name, town

_OTHERWISE = 0.65
"""The share of firms of the tuning half that naming.py calls."""
_DOMAINS = {
    "US": "com",
    "GB": "co.uk",
    "AU": "com.au",
    "CZ": "cz",
    "JP": "co.jp",
    "CN": "com.cn",
    "IN": "in",
    "MY": "com.my",
    "SG": "com.sg",
    "KR": "co.kr",
    "TW": "com.tw",
    "ID": "co.id",
}
_BANKS = [
    "Volksbank",
    "Sparkasse",
    "National Bank",
    "Credit Union",
    "Banca Popolare",
    "Crédit Mutuel",
    "Barclays",
    "Rabobank",
    "Caja Rural",
    "Raiffeisenbank",
]
_ASIAN_BANKS = {"zh": ("中国工商银行", "招商银行", "中国建设银行"), "ja": ("みずほ銀行", "三井住友銀行", "三菱UFJ銀行")}


@dataclass(frozen=True, slots=True)
class Party:
    """A seller or buyer. `iban` is the account's number where the country has no IBANs."""

    name: str
    person: str
    address: tuple[str, ...]
    phone: str
    email: str
    web: str
    vat_id: str
    iban: str
    has_iban: bool
    bank: str
    bic: str


def _firm(rng: random.Random, region: Region, half: Half, *, shop: bool) -> str:
    if half == "tuning" and rng.random() < _OTHERWISE:
        return naming.firm(rng, region, shop=shop)
    language = region.language
    first = name(rng, half, language, "firm")
    trade = name(rng, half, language, "shop" if shop else "trade")
    legal = form(rng, half, language) if not shop or rng.random() < 0.3 else ""
    if language == "zh":
        place = town(rng, half, "CN")[:2] if rng.random() < 0.7 else ""
        return f"{place}{first}{trade}{legal}"
    if language == "ja":
        return f"{legal}{first}{trade}" if rng.random() < 0.6 else f"{first}{trade}{legal}"
    if region.country == "MY":
        legal = legal and rng.choice(("Sdn Bhd", "SDN. BHD.", "Enterprise"))
    elif region.country == "IN":
        legal = legal and rng.choice(("Pvt. Ltd.", "Private Limited", "& Co.", "LLP"))
    elif region.country == "AU":
        legal = legal and "Pty Ltd"
    before = language in {"fr", "it", "es", "pt"} and rng.random() < 0.6
    words = [trade, first] if before else [first, trade]
    return " ".join([*(words if rng.random() < 0.85 else [first]), *([legal] if legal else [])])


def person(rng: random.Random, region: Region, half: Half) -> str:
    first, last = name(rng, half, region.language, "first"), name(rng, half, region.language, "last")
    return f"{first} {last}" if region.spaced else f"{last}{first}"


def _domain(rng: random.Random, firm: str, region: Region) -> str:
    plain = "".join(c for c in firm.lower().split()[0] if c.isascii() and c.isalpha()) or rng.choice(
        ("hengxin", "aozora", "minato")
    )
    return f"{plain}.{_DOMAINS.get(region.country, region.country.lower())}"


def _party(rng: random.Random, region: Region, half: Half, firm: str) -> Party:
    domain = _domain(rng, firm, region)
    iban = identifiers.iban(rng, region.country)
    return Party(
        firm,
        person(rng, region, half),
        address(rng, region, half),
        identifiers.phone(rng, region),
        f"{rng.choice(('info', 'office', 'sales', 'mail'))}@{domain}",
        f"www.{domain}",
        identifiers.vat_id(rng, region),
        iban or identifiers.fill(rng, rng.choice(("########", "##########", "#### #### ####", "###-#######"))),
        bool(iban),
        rng.choice(_ASIAN_BANKS.get(region.language, tuple(_BANKS))),
        identifiers.fill(rng, f"@@@@{region.country}##"),
    )


def merchant(rng: random.Random, region: Region, half: Half, kind: str) -> Party:
    """The seller: a shop on receipts, mostly."""
    return _party(rng, region, half, _firm(rng, region, half, shop=kind == "receipt" and rng.random() < 0.95))


def customer(rng: random.Random, region: Region, half: Half) -> Party:
    """The buyer: a firm or a person."""
    firm = _firm(rng, region, half, shop=False) if rng.random() < 0.65 else person(rng, region, half)
    return _party(rng, region, half, firm)
