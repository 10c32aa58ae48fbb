"""Countries: how each writes amounts and dates, and its rates of tax."""

import random
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Literal

from training.layout.texts import NO_SPACES

_MONTHS = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december",
    "pl": "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia",
    "cs": "ledna února března dubna května června července srpna září října listopadu prosince",
    "sv": "januari februari mars april maj juni juli augusti september oktober november december",
}


@dataclass(frozen=True, slots=True)
class Region:
    """A country and a language: forms of its documents."""

    country: str
    language: str
    currency: str
    signs: tuple[str, ...]
    """How amounts show the currency; `0` is the amount."""
    group: str
    point: str
    dates: tuple[str, ...]
    """Forms of dates, in the names of `write_date`."""
    rates: tuple[str, ...]
    """Rates of tax in percent, the usual one first."""
    receipts: tuple[str, ...] = ("net", "gross")
    decimals: int = 2
    scale: int = 1
    """What a price of 1 euro is here, about."""
    place: str = ""
    """The key of towns and tax labels, where it isn't the country."""
    weight: float = 1

    @property
    def key(self) -> str:
        return self.place or self.country

    @property
    def spaced(self) -> bool:
        return self.language not in NO_SPACES

    @property
    def unit(self) -> Decimal:
        """The smallest amount that is printed."""
        return Decimal(1).scaleb(-self.decimals)


_EURO = ("€ 0", "0 €", "€0", "0 EUR", "EUR 0", "0€")
_DOTS = ("dd.mm.yyyy", "dd.mm.yyyy", "d.m.yyyy", "d. month yyyy", "dd.mm.yy")
_SLASHES = ("dd/mm/yyyy", "dd/mm/yyyy", "d month yyyy", "dd-mm-yyyy", "dd/mm/yy")
_BRITISH = ("dd/mm/yyyy", "d month yyyy", "d mon yyyy", "dd mon yyyy", "dd-mon-yyyy", "dd.mm.yyyy", "yyyy-mm-dd")
_FRANCS = ("CHF 0", "0 CHF", "Fr. 0", "0")
REGIONS = (
    Region("US", "en", "USD", ("$0", "$0", "$ 0", "USD 0", "0"), ",", ".",
           ("mm/dd/yyyy", "mm/dd/yyyy", "month d, yyyy", "mon d, yyyy", "mm/dd/yy", "m/d/yyyy", "yyyy-mm-dd"),
           ("8.25", "6", "7.5", "8.875", "10.1"), ("net",), weight=2),
    Region("GB", "en", "GBP", ("£0", "£0", "£ 0", "GBP 0", "0"), ",", ".", _BRITISH, ("20", "5", "0"), ("gross",), weight=2),
    Region("IE", "en", "EUR", ("€0", "€0", "€ 0", "EUR 0"), ",", ".", _BRITISH, ("23", "13.5", "9"), ("gross",)),
    Region("AU", "en", "AUD", ("$0", "$0", "A$0", "AUD 0"), ",", ".", _BRITISH, ("10",), ("gross",)),
    Region("DE", "de", "EUR", _EURO, ".", ",", _DOTS, ("19", "7"), ("gross",), weight=2),
    Region("AT", "de", "EUR", _EURO, ".", ",", _DOTS, ("20", "10", "13"), ("gross",)),
    Region("CH", "de", "CHF", _FRANCS, "'", ".", _DOTS, ("8.1", "2.6"), ("gross",)),
    Region("CH", "fr", "CHF", _FRANCS, "'", ".", _DOTS, ("8.1", "2.6"), ("gross",), place="CH-fr", weight=0.5),
    Region("CH", "it", "CHF", _FRANCS, "'", ".", _DOTS, ("8.1", "2.6"), ("gross",), place="CH-it", weight=0.3),
    Region("FR", "fr", "EUR", ("0 €", "0 €", "0€", "0 EUR", "0"), " ", ",", _SLASHES, ("20", "10", "5.5"), ("gross",), weight=1.5),
    Region("IT", "it", "EUR", ("€ 0", "0 €", "€ 0", "EUR 0", "0"), ".", ",", _SLASHES, ("22", "10", "4"), ("gross",)),
    Region("ES", "es", "EUR", ("0 €", "0€", "0 EUR", "€ 0", "0"), ".", ",", (*_SLASHES, "d de month de yyyy"), ("21", "10", "4"), ("gross",)),
    Region("PT", "pt", "EUR", ("0 €", "€ 0", "0 EUR", "0€"), ".", ",", (*_SLASHES, "yyyy-mm-dd"), ("23", "13", "6"), ("gross",)),
    Region("NL", "nl", "EUR", ("€ 0", "€ 0", "€0", "EUR 0"), ".", ",", ("dd-mm-yyyy", "dd-mm-yyyy", "d month yyyy", "d-m-yyyy", "dd/mm/yyyy"), ("21", "9"), ("gross",)),
    Region("PL", "pl", "PLN", ("0 zł", "0 PLN", "0", "0"), " ", ",", ("dd.mm.yyyy", "yyyy-mm-dd", "yyyy-mm-dd", "d month yyyy", "dd-mm-yyyy"), ("23", "8", "5"), ("gross",), scale=4),
    Region("CZ", "cs", "CZK", ("0 Kč", "0 Kč", "0 CZK", "0"), " ", ",", ("dd.mm.yyyy", "d.m.yyyy", "d. m. yyyy", "d. month yyyy"), ("21", "12"), ("gross",), scale=23),
    Region("SE", "sv", "SEK", ("0 kr", "0 SEK", "0", "SEK 0"), " ", ",", ("yyyy-mm-dd", "yyyy-mm-dd", "d month yyyy"), ("25", "12", "6"), ("gross",), scale=11, weight=0.5),
    Region("IN", "en", "INR", ("₹0", "₹ 0", "Rs. 0", "INR 0", "0"), "lakh", ".", ("dd/mm/yyyy", "dd-mm-yyyy", "dd-mon-yyyy", "d month yyyy", "dd.mm.yyyy"), ("18", "12", "5"), ("net",), scale=60),
    Region("MY", "en", "MYR", ("RM 0", "RM0", "0", "0"), ",", ".", ("dd/mm/yyyy", "dd-mm-yyyy", "dd/mm/yy", "d mon yyyy", "dd mon yyyy"), ("6", "8"), ("net", "gross"), scale=4, weight=1.3),
    Region("CN", "zh", "CNY", ("¥0", "￥0", "0元", "0"), ",", ".", ("yyyy年m月d日", "yyyy-mm-dd", "yyyy/mm/dd", "yyyy年mm月dd日", "yyyy.mm.dd"), ("13", "6", "9"), ("gross",), scale=7, weight=1.5),
    Region("JP", "ja", "JPY", ("¥0", "0円", "￥0", "¥0-", "0"), ",", ".", ("yyyy年m月d日", "yyyy/mm/dd", "era", "yyyy-mm-dd", "yyyy年mm月dd日"), ("10", "8"), ("gross",), 0, 150, weight=1.3),
)  # fmt: skip
TUNING_REGIONS = (
    Region("SG", "en", "SGD", ("$0", "S$0", "$ 0", "SGD 0", "0"), ",", ".", ("dd/mm/yyyy", "dd-mm-yyyy", "d mon yyyy", "dd mon yyyy", "dd/mm/yy"), ("9", "7"), ("gross", "net")),
    Region("KR", "en", "KRW", ("₩0", "KRW 0", "₩ 0", "0"), ",", ".", ("yyyy-mm-dd", "yyyy/mm/dd", "month d, yyyy", "yyyy.mm.dd"), ("10",), ("gross",), 0, 1400, weight=0.5),
    Region("TW", "zh", "TWD", ("NT$0", "NT$ 0", "0元", "0"), ",", ".", ("yyyy年m月d日", "yyyy/mm/dd", "yyyy-mm-dd"), ("5",), ("gross",), 0, 35, weight=0.6),
    Region("ID", "en", "IDR", ("Rp 0", "Rp0", "Rp. 0", "IDR 0"), ".", ",", ("dd/mm/yyyy", "dd-mm-yyyy", "d mon yyyy", "d month yyyy"), ("11",), ("net", "gross"), 0, 17000, weight=0.4),
)  # fmt: skip
"""Countries of the tuning half only."""
_ERA_BEGINS = 2019
"""The first year of Reiwa."""


def _grouped(digits: str, group: str) -> str:
    head, tail = digits[:-3], digits[-3:]
    step, sign = (2, ",") if group == "lakh" else (3, group)
    while head:
        tail, head = f"{head[-step:]}{sign}{tail}", head[:-step]
    return tail


def write_number(value: Decimal, region: Region, *, grouped: bool = True, places: int | None = None) -> str:
    """The amount without its sign of currency; `places` decimals, by default those of the currency."""
    text = f"{abs(value):.{region.decimals if places is None else places}f}"
    whole, _, rest = text.partition(".")
    group = {" ": "\u00a0"}.get(region.group, region.group)
    return (_grouped(whole, group) if grouped else whole) + (region.point + rest if rest else "")


def write_money(value: Decimal, region: Region, sign: str, minus: Literal["-0", "0-", "(0)", "−0"] = "-0") -> str:
    """An amount with its currency as `sign` shows it, and its minus as `minus` does."""
    text = sign.replace("0", write_number(value, region)).replace(" ", "\u00a0")
    return minus.replace("0", text) if value < 0 else text


def in_chinese(value: Decimal) -> str:
    """An amount below 10^8 in the numerals of Chinese cheques, such as 壹佰贰拾元伍角整."""
    digits, text, gap = f"{int(value)}", "", False
    for place, digit in zip(range(len(digits) - 1, -1, -1), digits, strict=True):
        if digit == "0":
            gap = True
        else:
            text += (
                ("零" if gap and text else "") + "零壹贰叁肆伍陆柒捌玖"[int(digit)] + ("", "拾", "佰", "仟")[place % 4]
            )
            gap = False
        if place == 4 and text:
            text += "万"
    tenths, hundredths = divmod(int(value * 100) % 100, 10)
    names = "零壹贰叁肆伍陆柒捌玖"
    small = f"{names[tenths]}角" if tenths else "零" if hundredths else ""
    small += f"{names[hundredths]}分" if hundredths else "整"
    return f"{text or '零'}元{small}"


def write_date(day: date, form: str, language: str) -> str:
    """The date in a form such as `dd.mm.yyyy` or `month d, yyyy`."""
    if form == "era":
        return f"令和{day.year - _ERA_BEGINS + 1}年{day.month}月{day.day}日"
    months = _MONTHS.get(language, _MONTHS["en"]).split()
    parts = {
        "yyyy": f"{day.year}", "yy": f"{day.year % 100:02}", "month": months[day.month - 1],
        "mon": months[day.month - 1][:3], "mm": f"{day.month:02}", "m": f"{day.month}", "dd": f"{day.day:02}", "d": f"{day.day}",
    }  # fmt: skip
    text, place = "", 0
    while place < len(form):
        if form.startswith("de ", place):  # Spanish: 3 de mayo de 2024
            text, place = text + "de ", place + 3
            continue
        token = next(
            (name for name in ("month", "yyyy", "mon", "yy", "mm", "dd", "m", "d") if form.startswith(name, place)), ""
        )
        text, place = text + (parts[token] if token else form[place]), place + (len(token) or 1)
    return text


def pick_region(rng: random.Random, *, tuning: bool = False) -> Region:
    """A country by its weight; the tuning half has more of them, and one more often whose real receipts are learned from."""
    if not tuning:
        return rng.choices(REGIONS, [region.weight for region in REGIONS])[0]
    regions = (*REGIONS, *TUNING_REGIONS)
    return rng.choices(regions, [region.weight * (2 if region.country == "MY" else 1) for region in regions])[0]
