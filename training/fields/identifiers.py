"""Numbers with check digits: VAT ids, IBANs and references; and phone numbers."""

import random
import string

from training.fields.regions import Region

_IBAN_FORMS = {
    "GB": "@@@@" + "#" * 14, "IE": "@@@@" + "#" * 14, "DE": "#" * 18, "AT": "#" * 16, "CH": "#" * 17, "FR": "#" * 23,
    "IT": "@" + "#" * 22, "ES": "#" * 20, "PT": "#" * 21, "NL": "@@@@" + "#" * 10, "PL": "#" * 24, "CZ": "#" * 20, "SE": "#" * 20,
}  # fmt: skip
"""The account part by country: `#` is a digit, `@` a letter."""
_PHONES = {
    "US": "(5##) 5##-####; 5##-5##-####; +1 5## 5## ####", "GB": "0113 ### ####; 020 #### ####; +44 20 #### ####; 01### ######",
    "IE": "01 ### ####; +353 21 ### ####", "AU": "(02) #### ####; 1300 ### ###; +61 3 #### ####",
    "DE": "030 / ########; +49 711 ######; 089-#######; (0221) ######", "AT": "+43 1 #######; 0662 / ######",
    "CH": "+41 44 ### ## ##; 031 ### ## ##", "FR": "01 ## ## ## ##; +33 4 ## ## ## ##; 02.##.##.##.##",
    "IT": "02 #######; +39 055 ######; 011/#######", "ES": "91 ### ## ##; +34 93 ### ## ##; 95# ### ###",
    "PT": "21# ### ###; +351 22# ### ###", "NL": "030-#######; +31 20 ### ####; 010 - ### ## ##",
    "PL": "22 ### ## ##; +48 12 ### ## ##; 58 ### ## ##", "CZ": "+420 2## ### ###; 5## ### ###", "SE": "08-### ## ##; +46 31 ### ## ##",
    "IN": "+91 98### #####; 022-########; 080 #### ####", "MY": "03-#### ####; 07-### ####; +603-########",
    "CN": "010-########; 021-########; 400-###-####; 1########## ", "JP": "03-####-####; 06-####-####; 0120-###-###",
    "SG": "6### ####; +65 6### ####; (65) 6###-####", "KR": "02-####-####; +82 2 ### ####", "TW": "02-####-####; (02) ####-####; 0800-###-###",
    "ID": "021-#######; +62 21 ### ####; (031) #######",
}  # fmt: skip


def fill(rng: random.Random, pattern: str) -> str:
    """`#` becomes a digit, `@` a capital letter."""
    return "".join(
        rng.choice(string.digits) if c == "#" else rng.choice(string.ascii_uppercase) if c == "@" else c
        for c in pattern
    )


def phone(rng: random.Random, region: Region) -> str:
    return fill(rng, rng.choice(_PHONES[region.country].split(";")).strip())


def iban(rng: random.Random, country: str) -> str:
    """An IBAN with true check digits, in groups of four; "" where the country has none."""
    if country not in _IBAN_FORMS:
        return ""
    account = fill(rng, _IBAN_FORMS[country])
    number = int("".join(str(int(c, 36)) for c in f"{account}{country}00"))
    whole = f"{country}{98 - number % 97:02}{account}"
    return " ".join(whole[i : i + 4] for i in range(0, len(whole), 4))


def _luhn(digits: str) -> int:
    doubled = [int(c) * (2 if i % 2 == len(digits) % 2 else 1) for i, c in enumerate(digits, 1)]
    return -sum(d // 10 + d % 10 for d in doubled) % 10


def _weighted(digits: str, weights: str, modulus: int = 11) -> int:
    return sum(int(d) * int(w) for d, w in zip(digits, weights, strict=True)) % modulus


def _iso_7064(digits: str) -> int:
    product = 10
    for digit in digits:
        product = ((int(digit) + product) % 10 or 10) * 2 % 11
    return (11 - product) % 10


def _checked(country: str, digits: str) -> str | None:  # noqa: C901, PLR0911, PLR0912 - one case a country
    """The VAT id of a country for random digits; None where these have no check digit."""
    nine, eight, seven = digits[:9], digits[:8], digits[:7]
    match country:
        case "DE":
            return f"DE{eight}{_iso_7064(eight)}"
        case "AT":
            odd = sum(
                int(d) * (1 if i % 2 == 0 else 2) // 10 + int(d) * (1 if i % 2 == 0 else 2) % 10
                for i, d in enumerate(seven)
            )
            return f"ATU{seven}{(96 - odd) % 10}"
        case "FR":
            siren = eight + str(_luhn(eight))
            return f"FR{(12 + 3 * (int(siren) % 97)) % 97:02}{siren}"
        case "IT":
            return "IT" + f"0{nine}" + str(_luhn(f"0{nine}"))
        case "ES":
            return f"ESB{seven}{_luhn(seven)}"
        case "PT":
            check = 11 - _weighted(f"5{seven}", "98765432")
            return f"PT5{seven}{0 if check > 9 else check}"
        case "NL":
            check = _weighted(eight, "98765432")
            return None if check == 10 else f"NL{eight}{check}B01"
        case "PL":
            check = _weighted(nine, "657234567")
            return None if check == 10 else f"{nine}{check}"
        case "CZ":
            check = (11 - _weighted(f"2{digits[:6]}", "8765432")) % 11
            return None if check == 10 else f"CZ2{digits[:6]}{1 if check == 0 else check}"
        case "GB":
            total = sum(int(d) * w for d, w in zip(seven, range(8, 1, -1), strict=True)) % 97
            return f"GB{seven}{97 - total:02}"
        case "IE":
            return f"IE{seven}{'WABCDEFGHIJKLMNOPQRSTUV'[sum(int(d) * w for d, w in zip(seven, range(8, 1, -1), strict=True)) % 23]}"
        case "CH":
            check = (11 - _weighted(eight, "54327654")) % 11
            return None if check == 10 else f"CHE-{eight[:3]}.{eight[3:6]}.{eight[6:]}{check} MWST"
        case "SE":
            return f"SE{nine}{_luhn(nine)}01"
        case _:
            return None


def _australian(digits: str) -> str:
    """An ABN: its first two digits make the weighted sum a multiple of 89."""
    body = sum(int(d) * w for d, w in zip(digits[:9], range(3, 20, 2), strict=True))
    head = next(h for h in range(10, 100) if (10 * (h // 10 - 1) + h % 10 + body) % 89 == 0)
    return f"{head} {digits[:3]} {digits[3:6]} {digits[6:9]}"


_OTHER_IDS = {
    "US": "##-#######",
    "IN": "29@@@@@####@1Z#",
    "MY": "00#########; W10-1808-3#######",
    "CN": "9111#######MA####@#",
    "JP": "T#############",
    "SG": "M#-#######-#; 20##12345@; 2012#####@",
    "KR": "###-##-#####",
    "TW": "########",
    "ID": "##.###.###.#-###.000",
}


def vat_id(rng: random.Random, region: Region) -> str:
    """The seller's or buyer's tax number in the country's form, with true check digits in Europe and Australia."""
    if region.country == "AU":
        return _australian(fill(rng, "#########"))
    if region.country in _OTHER_IDS:
        return fill(rng, rng.choice(_OTHER_IDS[region.country].split("; ")))
    while True:
        found = _checked(region.country, str(rng.randint(1, 9)) + fill(rng, "#" * 9))
        if found:
            break
    if region.country == "GB" and rng.random() < 0.6:
        return rng.choice((f"{found[2:5]} {found[5:9]} {found[9:]}", found))
    if region.country in {"IT", "ES", "PT"} and rng.random() < 0.6:
        return found[2:]
    return found
