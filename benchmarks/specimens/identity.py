"""Chinese identity cards, passports, and identity cards with a machine-readable zone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from random import Random

from PIL import Image

from benchmarks.specimens import made_up
from benchmarks.specimens.canvas import Canvas, Specimen, Values
from benchmarks.specimens.made_up import mrz_digit

BLUE = (60, 90, 150)
RED = (190, 40, 40)
MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]


def cn_id_front(random: Random) -> Specimen:
    region = random.choice(sorted(made_up.REGIONS))
    born, man = made_up.day(random, 1955, 2006), random.random() < 0.5
    address = (
        f"{made_up.REGIONS[region][0]}{random.choice(made_up.STREETS)}{random.randrange(1, 300)}号"
        f"{random.randrange(1, 30)}号楼{random.randrange(1, 6)}单元{random.randrange(101, 2800)}室"
    )
    values = {
        "name": made_up.chinese_name(random),
        "sex": "男" if man else "女",
        "nation": random.choice(made_up.NATIONS),
        "year": str(born.year),
        "month": str(born.month),
        "day": str(born.day),
        "address": address,
        "number": made_up.identity_number(random, region, born, man=man),
    }
    face, seed = random.choice(("sans", "sans", "serif")), random.random()
    truth = {name: values[name] for name in ("name", "sex", "nation", "address", "number")}
    return Specimen(
        "cn_id_front",
        "cn_id_card",
        values,
        {**truth, "birth_date": born.isoformat()},
        lambda printed: _draw_front(printed, face, Random(seed)),
        ("number",),
    )


def _draw_front(values: Values, face: str, random: Random) -> Image.Image:
    canvas = Canvas(1012, 638, (238, 243, 248))
    canvas.waves(random, (222, 230, 238))
    canvas.portrait((680, 110, 930, 420))
    size = 34
    for label, y in (("姓名", 70), ("性别", 145), ("出生", 220), ("住址", 295), ("公民身份号码", 530)):
        canvas.text((60, y + 4), label, 28, "sans", BLUE)
    canvas.spaced((170, 66), values["name"], size + 6, 6, face)
    canvas.text((170, 143), values["sex"], size, face)
    canvas.text((290, 149), "民族", 28, "sans", BLUE)
    canvas.text((375, 143), values["nation"], size, face)
    canvas.text((170, 218), values["year"], size, face)
    canvas.text((265, 224), "年", 28, "sans", BLUE)
    canvas.text((315, 218), values["month"], size, face)
    canvas.text((370, 224), "月", 28, "sans", BLUE)
    canvas.text((420, 218), values["day"], size, face)
    canvas.text((475, 224), "日", 28, "sans", BLUE)
    address = values["address"]
    for at in range(0, len(address), 13):
        canvas.text((170, 293 + 46 * (at // 13)), address[at : at + 13], size, face)
    canvas.spaced((330, 524), values["number"], 42, 6, "mono")
    canvas.mark((700, 450))
    return canvas.image


def cn_id_back(random: Random) -> Specimen:
    region = random.choice(sorted(made_up.REGIONS))
    begun = made_up.day(random, 2008, 2022)
    begun = begun.replace(day=min(begun.day, 28))
    ends = random.choice(("长期", begun.replace(year=begun.year + 10), begun.replace(year=begun.year + 20)))
    until = ends if isinstance(ends, str) else f"{ends:%Y.%m.%d}"
    values = {"authority": made_up.REGIONS[region][1], "valid_period": f"{begun:%Y.%m.%d}-{until}"}
    seed = random.random()
    return Specimen("cn_id_back", "cn_id_card", values, values, lambda printed: _draw_back(printed, Random(seed)))


def _draw_back(values: Values, random: Random) -> Image.Image:
    canvas = Canvas(1012, 638, (240, 240, 244))
    canvas.waves(random, (226, 226, 236))
    canvas.pen.ellipse((60, 60, 220, 220), (200, 60, 50))
    canvas.spaced((290, 70), "中华人民共和国", 52, 14, "bold")
    canvas.spaced((270, 170), "居民身份证", 72, 30, "bold")
    canvas.text((190, 470), "签发机关", 30, "bold")
    canvas.text((360, 466), values["authority"], 34)
    canvas.text((190, 545), "有效期限", 30, "bold")
    canvas.text((360, 541), values["valid_period"], 34)
    canvas.mark((820, 20))
    return canvas.image


def _names(random: Random) -> tuple[str, str, str]:
    """State, surname and given names in capitals."""
    state = random.choice(("UTO", "CHN", "D<<", "FRA", "GBR"))
    if state == "CHN":
        return state, random.choice(list(made_up.PINYIN.values())), random.choice(list(made_up.PINYIN_GIVEN.values()))
    given = random.choice(made_up.FIRST).upper()
    if random.random() < 0.4:
        given += " " + random.choice(made_up.FIRST).upper()
    return state, random.choice(made_up.LAST).upper(), given


def _number(random: Random) -> str:
    return random.choice(("E", "EB", "C", "X")).ljust(2, random.choice("23456789")) + made_up.digits(random, 7)


def _zone_digits(number: str, born: date, expiry: date) -> tuple[str, str, str]:
    return (
        number + mrz_digit(number),
        f"{born:%y%m%d}" + mrz_digit(f"{born:%y%m%d}"),
        f"{expiry:%y%m%d}" + mrz_digit(f"{expiry:%y%m%d}"),
    )


def passport(random: Random) -> Specimen:
    state, surname, given = _names(random)
    number, sex = _number(random), random.choice("MF")
    born, expiry = made_up.day(random, 1950, 2015), made_up.day(random, 2026, 2035)
    holder = Holder(state, surname, given, number, born, expiry, sex)
    printed_number, birth, until = _zone_digits(number, born, expiry)
    personal = "<" * 14 if random.random() < 0.5 else made_up.digits(random, 9).ljust(14, "<")
    rest = personal + (mrz_digit(personal) if personal.strip("<") else "<")
    composite = mrz_digit(printed_number + birth + until + rest)
    first = f"P<{state}{surname}<<{given.replace(' ', '<')}".ljust(44, "<")
    values = {
        **holder.printed(),
        "zone1": first[:44],
        "zone2": f"{printed_number}{state}{birth}{sex}{until}{rest}{composite}",
    }
    truth = holder.truth()
    if personal.strip("<"):
        truth["personal_number"] = personal.strip("<")
    bilingual, seed = state == "CHN" or random.random() < 0.3, random.random()
    return Specimen(
        "passport",
        "passport",
        values,
        truth,
        lambda printed: _draw_passport(printed, Random(seed), bilingual=bilingual),
        ("zone2", "number"),
    )


@dataclass(frozen=True, slots=True)
class Holder:
    """Whose paper it is. `state`: three characters, as in the zone."""

    state: str
    surname: str
    given: str
    number: str
    born: date
    expiry: date
    sex: str

    def printed(self) -> dict[str, str]:
        return {
            "state": self.state.strip("<"),
            "surname": self.surname,
            "given": self.given,
            "number": self.number,
            "born": f"{self.born:%d} {MONTHS[self.born.month - 1]} {self.born.year}",
            "expiry": f"{self.expiry:%d} {MONTHS[self.expiry.month - 1]} {self.expiry.year}",
            "sex": self.sex,
        }

    def truth(self) -> dict[str, object]:
        return {
            "surname": self.surname,
            "given_names": self.given,
            "number": self.number,
            "nationality": self.state.strip("<"),
            "issuing_country": self.state.strip("<"),
            "birth_date": self.born.isoformat(),
            "expiry_date": self.expiry.isoformat(),
            "sex": self.sex,
        }


def _draw_passport(values: Values, random: Random, *, bilingual: bool) -> Image.Image:
    canvas = Canvas(1250, 880, (244, 240, 232))
    canvas.waves(random, (232, 226, 214))
    canvas.portrait((60, 170, 360, 560))
    canvas.text((60, 50), "护照  PASSPORT" if bilingual else "PASSPORT", 44, "bold", RED)
    labels = {
        "state": ("国家码 / Country code", "Code of State"),
        "number": ("护照号码 / Passport No.", "Passport No."),
        "surname": ("姓 / Surname", "Surname"),
        "given": ("名 / Given names", "Given names"),
        "sex": ("性别 / Sex", "Sex"),
        "born": ("出生日期 / Date of birth", "Date of birth"),
        "expiry": ("有效期至 / Date of expiry", "Date of expiry"),
    }
    places = {
        "state": (600, 60), "number": (850, 60), "surname": (420, 170), "given": (420, 280), "sex": (420, 390),
        "born": (650, 390), "expiry": (650, 500),
    }  # fmt: skip
    for name, (x, y) in places.items():
        canvas.text((x, y), labels[name][0 if bilingual else 1], 22, "sans", (90, 90, 110))
        canvas.text((x, y + 32), values[name], 34)
    canvas.mark((130, 580))
    _draw_zone(canvas, [values["zone1"], values["zone2"]], 720, 44)
    return canvas.image


def _draw_zone(canvas: Canvas, lines: Sequence[str], y: int, length: int) -> None:
    step = (canvas.width - 100) / length
    for row, line in enumerate(lines):
        for at, letter in enumerate(line):
            canvas.text((50 + at * step, y + 62 * row), letter, int(step * 1.45), "ocr-b")


def td1_card(random: Random) -> Specimen:
    state, surname, given = _names(random)
    number, sex = _number(random), random.choice("MF")
    born, expiry = made_up.day(random, 1950, 2008), made_up.day(random, 2026, 2035)
    holder = Holder(state, surname, given, number, born, expiry, sex)
    printed_number, birth, until = _zone_digits(number, born, expiry)
    first = f"I<{state}{printed_number}".ljust(30, "<")
    middle = f"{birth}{sex}{until}{state}".ljust(29, "<")
    composite = mrz_digit(first[5:30] + middle[0:7] + middle[8:15] + middle[18:29])
    values = {
        **holder.printed(),
        "zone1": first,
        "zone2": middle + composite,
        "zone3": f"{surname}<<{given.replace(' ', '<')}".ljust(30, "<")[:30],
    }
    seed = random.random()
    return Specimen(
        "td1_card",
        "id_card",
        values,
        holder.truth(),
        lambda printed: _draw_td1(printed, Random(seed)),
        ("zone2",),
    )


def td2_card(random: Random) -> Specimen:
    state, surname, given = _names(random)
    number, sex = _number(random), random.choice("MF")
    born, expiry = made_up.day(random, 1950, 2008), made_up.day(random, 2026, 2035)
    holder = Holder(state, surname, given, number, born, expiry, sex)
    printed_number, birth, until = _zone_digits(number, born, expiry)
    optional = "<" * 7
    composite = mrz_digit(printed_number + birth + until + optional)
    values = {
        **holder.printed(),
        "zone1": f"I<{state}{surname}<<{given.replace(' ', '<')}".ljust(36, "<")[:36],
        "zone2": f"{printed_number}{state}{birth}{sex}{until}{optional}{composite}",
    }
    seed = random.random()
    return Specimen(
        "td2_card",
        "id_card",
        values,
        holder.truth(),
        lambda printed: _draw_td1(printed, Random(seed)),
        ("zone2", "number"),
    )


def _draw_td1(values: Values, random: Random) -> Image.Image:
    canvas = Canvas(1012, 638, (240, 244, 238))
    canvas.waves(random, (226, 234, 222))
    canvas.text((40, 24), "IDENTITY CARD", 36, "bold", BLUE)
    canvas.portrait((40, 100, 240, 340))
    fields = (("Surname", "surname"), ("Given names", "given"), ("Document No.", "number"))
    for at, (label, name) in enumerate(fields):
        canvas.text((290, 90 + 88 * at), label, 20, "sans", (90, 90, 110))
        canvas.text((290, 116 + 88 * at), values[name], 30)
    for at, (label, name) in enumerate((("Date of birth", "born"), ("Date of expiry", "expiry"), ("Sex", "sex"))):
        canvas.text((680, 90 + 88 * at), label, 20, "sans", (90, 90, 110))
        canvas.text((680, 116 + 88 * at), values[name], 30)
    canvas.mark((60, 350))
    zone = [values[name] for name in ("zone1", "zone2", "zone3") if name in values]
    _draw_zone(canvas, zone, 440, len(zone[0]))
    return canvas.image
