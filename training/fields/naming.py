"""What sellers of the tuning half are called, in more ways than a word, a trade and a legal form; and what stands beside names."""

import random
import string

from training.fields.identifiers import fill
from training.fields.regions import Region
from training.fields.words import chosen, form, name, town

_FORMS = {
    "MY": ("Sdn Bhd", "SDN. BHD.", "SDN BHD", "(M) Sdn Bhd", "Sdn. Bhd.", "Enterprise", "Trading", "(M) Berhad", "Marketing Sdn Bhd"),
    "SG": ("Pte Ltd", "Pte. Ltd.", "PTE LTD", "(S) Pte Ltd"), "IN": ("Pvt. Ltd.", "Private Limited", "LLP", "& Sons"),
    "AU": ("Pty Ltd", "Pty Limited", "Pty. Ltd."), "KR": ("Co., Ltd.", "Corporation", "Inc."), "TW": ("有限公司", "股份有限公司"),
    "ID": ("Tbk", "Indonesia"),
}  # fmt: skip
"""Legal forms of countries that share English."""
_MALAY = ("Restoran", "Kedai", "Pasar Mini", "Syarikat", "Perniagaan", "Kedai Makan", "Pasaraya", "Klinik", "Farmasi")
_NAMES = (
    "Lim",
    "Tan",
    "Wong",
    "Ong",
    "Chua",
    "Goh",
    "Lau",
    "Ah Seng",
    "Kim Huat",
    "Soon Lee",
    "Heng",
    "Mei",
    "Hock",
    "Leong",
    "Rahman",
    "Siva",
)
"""Names of owners in South-East Asia."""


def false_name(rng: random.Random, kind: str, *, asian: bool) -> str:
    """A firm that a document names, which neither sells nor buys: `kind` is of software, carrier, processor and seal."""
    while True:
        firm = chosen(rng, "firms", kind)
        if asian or firm[0].isascii() or firm[0].isupper():
            return firm


def _legal_forms(region: Region) -> tuple[str, ...]:
    return _FORMS.get(region.country, ())


def legal(rng: random.Random, region: Region, firm: str) -> str:
    """`firm` with a legal form of its country."""
    forms = _legal_forms(region)
    if region.country == "ID":
        return f"PT {firm}"
    text = rng.choice(forms) if forms else ""
    while not text:
        text = form(rng, "tuning", region.language)
    if not region.spaced:
        return f"{text}{firm}" if region.language == "ja" and rng.random() < 0.6 else f"{firm}{text}"
    return f"{firm} {text}"


def initials(rng: random.Random) -> str:
    """Such as `KLM`, `B & S` or `R.T.`."""
    letters = [rng.choice(string.ascii_uppercase) for _ in range(rng.choice((2, 2, 3)))]
    return rng.choice(("", "", " & " if len(letters) == 2 else "", ".")).join(letters)


def _spaced_core(rng: random.Random, region: Region, first: str, trade: str) -> str:
    """A name without its legal form, in a language that has spaces."""
    language, last = region.language, name(rng, "tuning", region.language, "last")
    other = name(rng, "tuning", language, "last")
    ways = [
        f"{first} {trade}", f"{first} {trade}", first, f"{last} & {other}", f"{name(rng, 'tuning', language, 'first')} {last}", f"{initials(rng)} {trade}",
        f"{last} {trade}", f"{first} {last}", f"{first}{name(rng, 'tuning', language, 'trade').split()[0].lower()}", f"{trade} {last}", f"{trade} {rng.randint(2, 99)}",
        f"{first} {trade} & {name(rng, 'tuning', language, 'trade')}", f"{trade} {first} {last}", initials(rng) + f" {last}",
    ]  # fmt: skip
    if language == "en":
        ways += [
            f"The {first} {trade}",
            f"{last}'s {trade}",
            f"{last}, {other} & Partners",
            f"{rng.randint(2, 99)} {trade}",
            f"{first} {trade} of {last}",
        ]
    if region.country in {"MY", "SG", "ID"}:
        owner = rng.choice(_NAMES)
        ways = [
            *ways[:2], f"{owner} {trade}", f"{rng.choice(_MALAY)} {owner}", f"{rng.choice(_MALAY)} {first}", f"{owner} {rng.choice(_NAMES)} {trade}", f"{initials(rng)} {trade}",
            f"{rng.choice(_MALAY)} {owner} {rng.choice(_NAMES)}", f"{first} {owner}",
        ]  # fmt: skip
    return rng.choice(ways)


def firm(rng: random.Random, region: Region, *, shop: bool) -> str:
    """A seller's or buyer's name, with its legal form in most cases."""
    language = region.language
    first = name(rng, "tuning", language, "firm")
    trade = name(rng, "tuning", language, "shop" if shop else "trade")
    if not region.spaced:
        place = town(rng, "tuning", region.key)[:2] if region.language == "zh" and rng.random() < 0.3 else ""
        core = place + rng.choice(
            (first + trade, first + trade, first, first + name(rng, "tuning", language, "last") + trade)
        )
    else:
        core = _spaced_core(rng, region, first, trade)
    text = legal(rng, region, core) if rng.random() < (0.45 if shop else 0.7) else core
    return text.upper() if rng.random() < 0.15 else text


def has_form(firm_name: str, region: Region) -> bool:
    """Whether a name ends in a legal form that this module or words.py gives."""
    known = {
        "ltd",
        "limited",
        "inc.",
        "llc",
        "corp.",
        "gmbh",
        "ag",
        "kg",
        "ohg",
        "bhd",
        "bhd.",
        "berhad",
        "enterprise",
        "trading",
        "sarl",
        "sas",
        "sa",
        "eurl",
    }
    if not region.spaced or firm_name.startswith("PT "):
        return "公司" in firm_name or "会社" in firm_name or firm_name.startswith("PT ")
    last = firm_name.lower().rsplit(maxsplit=1)[-1]
    return (
        last in known
        or last.endswith((".k.", "r.l.", "p.a.", "n.c.", "b.v.", "n.v.", "o.o.", "r.o.", "ltd.", "a.s."))
        or last == "ab"
    )


def brand(rng: random.Random, region: Region, firm_name: str) -> str:
    """What the firm's shop or logo calls itself: its first word, its initials, or another word."""
    language = region.language
    if not region.spaced:
        return name(rng, "tuning", language, "firm") + (
            name(rng, "tuning", language, "shop") if rng.random() < 0.5 else ""
        )
    words = [word for word in firm_name.replace(",", "").split() if len(word) > 3]
    short = "".join(word[0] for word in firm_name.split() if word[0].isalpha())[:3].upper()
    first = name(rng, "tuning", language, "firm")
    ways = [
        words[0] if words else first,
        first,
        first.replace(" ", ""),
        f"{first} {name(rng, 'tuning', language, 'shop')}",
        f"{first} {rng.randint(2, 99)}",
    ]
    if len(short) > 1:
        ways.append(short)
    text = rng.choice(ways)
    return rng.choice((text, text, text.upper(), text.lower() if len(text) > 4 else text))


def second_script(rng: random.Random) -> str:
    """A shop's Chinese name, as it stands above the Latin one."""
    owner = rng.choice(("金", "新", "大", "福", "顺", "利", "合", "源", "丰", "美")) + rng.choice(
        ("发", "隆", "成", "兴", "记", "昌", "来", "香", "华")
    )
    return owner + name(rng, "tuning", "zh", "shop") + rng.choice(("", "", "有限公司", "贸易公司"))


def registration(rng: random.Random, region: Region) -> str:
    """A registration number as it stands behind a name or under it."""
    patterns = {
        "MY": ("######-@", "######-@", "###### - @", "@@0######-@", "2019010#####", "00#######-@"),
        "SG": ("2012#####@", "5######1@"),
        "GB": ("0#######", "SC######"),
    }
    return fill(rng, rng.choice(patterns.get(region.country, ("######", "#########", "### ### ###", "##-######"))))


def halves(text: str) -> list[str]:
    """A long name cut into two lines, near its middle."""
    words = text.split()
    if len(words) < 2:
        return [text]
    cut = min(range(1, len(words)), key=lambda n: abs(len(" ".join(words[:n])) - 0.55 * len(text)))
    return [" ".join(words[:cut]), " ".join(words[cut:])]
