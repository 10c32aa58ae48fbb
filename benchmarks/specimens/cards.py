"""Bank cards and business cards."""

from __future__ import annotations

from random import Random

from PIL import Image

from benchmarks.specimens import made_up
from benchmarks.specimens.canvas import Canvas, Specimen, Values

TITLES = ["销售经理", "软件工程师", "市场总监", "项目经理", "财务主管", "总经理", "技术顾问", "客户经理"]
TITLES_EN = [
    "Sales Manager",
    "Software Engineer",
    "Marketing Director",
    "Project Manager",
    "Chief Executive Officer",
    "Legal Counsel",
]
TOWNS = ["Norwich NR1 4BE", "Leeds LS1 5AB", "Springfield, IL 62704", "20095 Hamburg", "Utrecht 3511 AB"]
ROADS = ["Harbour Street", "Mill Road", "Oak Avenue", "Station Lane", "Victoria Square"]


def bank_card(random: Random) -> Specimen:
    chinese = random.random() < 0.6
    number = made_up.card_number(random)
    month, year = random.randrange(1, 13), random.randrange(26, 36)
    person = made_up.english_name(random).upper()
    if chinese:
        person = f"{random.choice(list(made_up.PINYIN.values()))} {random.choice(list(made_up.PINYIN_GIVEN.values()))}"
    values = {
        "bank": random.choice(made_up.BANKS if chinese else made_up.BANKS_EN),
        "number": number,
        "valid": f"{month:02}/{year}",
        "name": person if random.random() < 0.8 else "",
    }
    colour = random.choice(((40, 70, 130), (150, 35, 45), (30, 110, 90), (60, 60, 66)))
    truth: dict[str, object] = {
        "bank": values["bank"],
        "number": number,
        "valid_thru": f"20{year}-{month:02}",
        "name": values["name"] or None,
    }
    return Specimen(
        "bank_card",
        "bank_card",
        values,
        truth,
        lambda printed: _draw_bank_card(printed, colour, chinese=chinese),
        ("number",),
    )


def _draw_bank_card(values: Values, colour: tuple[int, int, int], *, chinese: bool) -> Image.Image:
    canvas = Canvas(1012, 638, colour)
    white = (248, 248, 248)
    canvas.text((60, 48), values["bank"], 48, "bold", white)
    canvas.text((780, 60), "借记卡" if chinese else "DEBIT", 36, "sans", white)
    canvas.pen.rounded_rectangle((80, 180, 200, 270), 14, (212, 180, 90))
    number = values["number"]
    size = 58 if len(number) == 16 else 50
    grouped = " ".join(number[at : at + 4] for at in range(0, len(number), 4))
    canvas.text((64, 322), grouped, size, "mono", (20, 20, 20))
    canvas.text((60, 318), grouped, size, "mono", white)
    canvas.text((330, 425), "有效期至 VALID THRU" if chinese else "VALID THRU", 22, "sans", white)
    canvas.text((620, 412), values["valid"], 38, "mono", white)
    canvas.text((60, 530), values["name"], 40, "sans", white)
    canvas.mark((60, 600))
    canvas.text((810, 520), "银联" if chinese else "VISA", 52, "bold", white)
    return canvas.image


def business_card_zh(random: Random) -> Specimen:
    city = random.choice(made_up.CITIES)
    brand, trade = random.choice(made_up.BRANDS), random.choice(made_up.TRADES)
    domain = random.choice(("yuanhang", "chenguang", "hengda", "huayuan")) + random.choice((".com", ".cn", ".com.cn"))
    user = random.choice(("wang", "li.wei", "zhangmin", "chen_j", "sales"))
    values = {
        "company": f"{city}{brand}{trade}有限公司",
        "name": made_up.chinese_name(random),
        "title": random.choice(TITLES),
        "mobile": "13" + made_up.digits(random, 9),
        "phone": f"{made_up.AREA_CODES[city]}-{random.randrange(2, 9)}{made_up.digits(random, 7)}",
        "email": f"{user}@{domain}",
        "website": f"www.{domain}",
        "address": f"{city}市{random.choice(made_up.STREETS)}{random.randrange(1, 999)}号{random.randrange(2, 30)}层",
    }
    labelled, face = random.random() < 0.7, random.choice(("sans", "serif"))
    truth = {name: values[name] for name in ("company", "name", "title", "email", "website", "address")}
    return Specimen(
        "business_card_zh",
        "business_card",
        values,
        {**truth, "phones": [values["mobile"], values["phone"].replace("-", "")]},
        lambda printed: _draw_card_zh(printed, face, labelled=labelled),
    )


def _draw_card_zh(values: Values, face: str, *, labelled: bool) -> Image.Image:
    canvas = Canvas(1063, 638, (253, 253, 250))
    canvas.text((70, 56), values["company"], 38, "bold", (30, 70, 130))
    end = canvas.spaced((70, 180), values["name"], 64, 10, face)
    canvas.text((end + 30, 206), values["title"], 32, face)
    canvas.pen.line((70, 290, 990, 290), (30, 70, 130), 3)
    names = {"mobile": "手机：", "phone": "电话：", "email": "邮箱：", "website": "网址：", "address": "地址："}
    for at, (name, label) in enumerate(names.items()):
        shown = label if labelled or name == "address" else ""
        canvas.text((70, 320 + 56 * at), shown + values[name], 30, face)
    return canvas.image


def business_card_en(random: Random) -> Specimen:
    firm = random.choice(made_up.COMPANIES)
    person = made_up.english_name(random)
    domain = firm.split()[0].lower() + random.choice((".com", ".net", ".eu"))
    values = {
        "company": firm,
        "name": person,
        "title": random.choice(TITLES_EN),
        "phone": f"+44 {random.randrange(20, 99)} {made_up.digits(random, 4)} {made_up.digits(random, 4)}",
        "email": f"{person.split()[0].lower()}.{person.split()[1].lower()}@{domain}",
        "website": f"www.{domain}",
        "address": f"{random.randrange(1, 200)} {random.choice(ROADS)}, {random.choice(TOWNS)}",
    }
    left = random.random() < 0.5
    truth = {name: values[name] for name in ("company", "name", "title", "email", "website", "address")}
    return Specimen(
        "business_card_en",
        "business_card",
        values,
        {**truth, "phones": [values["phone"].replace(" ", "")]},
        lambda printed: _draw_card_en(printed, left=left),
    )


def _draw_card_en(values: Values, *, left: bool) -> Image.Image:
    canvas = Canvas(1063, 638, (252, 252, 252))
    rows = (
        ("name", 54, "serif-bold", 70), ("title", 30, "serif", 148), ("company", 38, "serif-bold", 230),
        ("phone", 28, "sans", 360), ("email", 28, "sans", 412), ("website", 28, "sans", 464),
        ("address", 28, "sans", 516),
    )  # fmt: skip
    for name, size, face, y in rows:
        label = {"phone": "Tel: ", "email": "Email: "}.get(name, "") if left else ""
        if left:
            canvas.text((80, y), label + values[name], size, face)
        else:
            canvas.centred(y, values[name], size, face)
    return canvas.image
