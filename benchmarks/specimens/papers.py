"""Contracts, bills of lading and obituaries."""

from __future__ import annotations

from random import Random

from PIL import Image

from benchmarks.specimens import made_up
from benchmarks.specimens.canvas import Canvas, Specimen, Values

PAGE = (1240, 1754)
"""A4 at 150 dpi."""
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
SUBJECTS = (("房屋租赁合同", "出租方", "承租方"), ("采购合同", "买方", "卖方"), ("技术服务合同", "委托方", "受托方"))
CHURCHES = ["St. Andrew's Church", "Holy Trinity Chapel", "Greenwood Funeral Home", "Riverside Memorial Hall"]
HALLS = ["八宝山殡仪馆", "龙华殡仪馆", "银河园", "安贤园"]


def _long(day: object) -> str:
    year, month, number = map(int, str(day).split("-"))
    return f"{MONTHS[month - 1]} {number}, {year}"


def _chinese(day: object) -> str:
    year, month, number = map(int, str(day).split("-"))
    return f"{year}年{month}月{number}日"


def contract_zh(random: Random) -> Specimen:
    title, first, second = random.choice(SUBJECTS)
    signed = made_up.day(random, 2019, 2025)
    begins = signed.replace(day=1, month=min(12, signed.month + 1))
    ends = begins.replace(year=begins.year + random.choice((1, 2, 3)))
    amount = random.randrange(12, 9000) * random.choice((100, 1000, 50))
    city = random.choice(made_up.CITIES)
    values = {
        "title": title,
        "number": f"HT-{signed.year}-{made_up.digits(random, 4)}",
        "first": first,
        "second": second,
        "party_a": made_up.company(random),
        "party_b": made_up.company(random),
        "signed": _chinese(signed),
        "place": f"{city}市",
        "begins": _chinese(begins),
        "ends": _chinese(ends),
        "amount": f"{amount:,}.00",
        "words": made_up.in_words(amount),
    }
    truth: dict[str, object] = {
        "title": title,
        "number": values["number"],
        "party_a": values["party_a"],
        "party_b": values["party_b"],
        "date": signed.isoformat(),
        "place": values["place"],
        "start_date": begins.isoformat(),
        "end_date": ends.isoformat(),
        "term": f"自{values['begins']}起至{values['ends']}止",
        "amount": f"{amount}.00",
        "amount_in_words": f"{amount}.00",
    }
    face, dated_below = random.choice(("serif", "sans")), random.random() < 0.4
    return Specimen(
        "contract_zh",
        "contract",
        values,
        truth,
        lambda printed: _draw_contract_zh(printed, face, dated_below=dated_below),
    )


def _draw_contract_zh(values: Values, face: str, *, dated_below: bool) -> Image.Image:
    canvas = Canvas(*PAGE, (255, 255, 255))
    canvas.centred(110, values["title"], 52, "serif-bold")
    y = 230.0
    rows = [f"合同编号：{values['number']}", f"甲方（{values['first']}）：{values['party_a']}"]
    rows.append(f"乙方（{values['second']}）：{values['party_b']}")
    if not dated_below:
        rows.append(f"签订日期：{values['signed']}")
    rows.append(f"签订地点：{values['place']}")
    for row in rows:
        canvas.text((120, y), row, 28, face)
        y += 54
    y += 20
    paragraphs = (
        "根据《中华人民共和国民法典》及有关法律法规的规定，甲乙双方在平等、自愿、协商一致的基础上，就有关事宜达成如下协议：",
        f"第一条 合同期限：自{values['begins']}起至{values['ends']}止。期满前一个月，双方可以协商续签。",
        f"第二条 合同总金额为人民币{values['words']}（￥{values['amount']}）。甲方应在合同生效后十日内支付首期款项。",
        "第三条 双方应当按照约定全面履行自己的义务，任何一方不得擅自变更或者解除合同。",
        "第四条 本合同一式两份，甲乙双方各执一份，自双方签字盖章之日起生效。",
    )
    for paragraph in paragraphs:
        y = canvas.prose((120, y), paragraph, 28, 1000, face) + 16
    y += 60
    canvas.text((120, y), "甲方（盖章）：", 28, face)
    canvas.text((680, y), "乙方（盖章）：", 28, face)
    canvas.text((120, y + 60), "法定代表人：", 28, face)
    canvas.text((680, y + 60), "法定代表人：", 28, face)
    if dated_below:
        canvas.text((120, y + 120), f"签订日期：{values['signed']}", 28, face)
    canvas.pen.ellipse((180, y - 40, 340, y + 120), outline=(220, 60, 60), width=5)
    return canvas.image


def contract_en(random: Random) -> Specimen:
    first, second = random.sample(made_up.COMPANIES, 2)
    signed = made_up.day(random, 2019, 2025)
    begins = signed.replace(day=1, month=min(12, signed.month + 1))
    ends = begins.replace(year=begins.year + random.choice((1, 2, 3)))
    amount = random.randrange(12, 9000) * 50
    values = {
        "title": random.choice(("SERVICE AGREEMENT", "SUPPLY AGREEMENT", "CONSULTING AGREEMENT")),
        "number": f"{random.choice(('SA', 'CT', 'AG'))}-{signed.year}/{made_up.digits(random, 3)}",
        "party_a": first,
        "party_b": second,
        "signed": _long(signed),
        "begins": _long(begins),
        "ends": _long(ends),
        "amount": f"USD {amount:,}.00",
        "place": random.choice(("London", "Hamburg", "Rotterdam", "Singapore")),
    }
    truth: dict[str, object] = {
        "title": values["title"],
        "number": values["number"],
        "party_a": first,
        "party_b": second,
        "date": signed.isoformat(),
        "place": values["place"],
        "start_date": begins.isoformat(),
        "end_date": ends.isoformat(),
        "amount": f"{amount}.00",
    }
    return Specimen("contract_en", "contract", values, truth, _draw_contract_en)


def _draw_contract_en(values: Values) -> Image.Image:
    canvas = Canvas(*PAGE, (255, 255, 255))
    canvas.centred(120, values["title"], 48, "serif-bold")
    canvas.text((120, 220), f"Contract No.: {values['number']}", 28, "serif")
    paragraphs = (
        (
            f"This Agreement is made on {values['signed']} in {values['place']} between {values['party_a']} "
            f'(hereinafter "Party A") and {values["party_b"]} (hereinafter "Party B").'
        ),
        "1. Scope. Party B shall perform the services that are described in Annex 1 with due skill and care.",
        (
            f"2. Term. This Agreement shall commence on {values['begins']} and shall remain in force until "
            f"{values['ends']}."
        ),
        f"3. Price. Party A shall pay Party B a total amount of {values['amount']} in equal monthly instalments.",
        "4. Governing law. This Agreement is governed by the law of the place in which it was made.",
        "IN WITNESS WHEREOF the parties have executed this Agreement in two originals.",
    )
    y = 300.0
    for paragraph in paragraphs:
        y = canvas.prose((120, y), paragraph, 28, 1000, "serif") + 18
    canvas.text((120, y + 80), "For Party A: ____________", 28, "serif")
    canvas.text((680, y + 80), "For Party B: ____________", 28, "serif")
    return canvas.image


def bill_of_lading(random: Random) -> Specimen:
    loading, discharge = random.sample(made_up.PORTS, 2)
    shipper, consignee, notify = random.sample(made_up.COMPANIES, 3)
    containers = [made_up.container_number(random) for _ in range(random.choice((1, 2, 3)))]
    issued = made_up.day(random, 2022, 2026)
    packages, weight, volume = random.randrange(20, 2000), random.randrange(900, 26000), random.randrange(5, 66)
    streets = [f"{random.randrange(1, 90)} {road}" for road in ("HARBOUR STREET", "MILL ROAD", "QUAY SIDE")]
    values = {
        "number": random.choice(("COSU", "MAEU", "HLCU", "OOLU")) + made_up.digits(random, 9),
        "shipper": f"{shipper.upper()}\n{streets[0]}\n{loading}",
        "consignee": f"{consignee.upper()}\n{streets[1]}\n{discharge}",
        "notify": f"{notify.upper()}\n{streets[2]}\n{discharge}",
        "vessel": random.choice(made_up.VESSELS),
        "voyage": f"{random.randrange(100, 999)}{random.choice('EWNS')}",
        "loading": loading,
        "discharge": discharge,
        "delivery": discharge,
        "packages": f"{packages} CARTONS",
        "weight": f"{weight:,}.00 KGS",
        "volume": f"{volume}.{random.randrange(100, 999)} CBM",
        "issued": f"{issued.day:02} {MONTHS[issued.month - 1][:3].upper()} {issued.year}",
        "goods": random.choice(("COTTON TEXTILES", "MACHINE PARTS", "CERAMIC TILES", "BICYCLES")),
        **{f"container{at}": number for at, number in enumerate(containers)},
    }
    truth: dict[str, object] = {
        "bl_number": values["number"],
        **{name: values[name].replace("\n", " ") for name in ("shipper", "consignee")},
        "notify_party": values["notify"].replace("\n", " "),
        "vessel": values["vessel"],
        "voyage": values["voyage"],
        "port_of_loading": loading,
        "port_of_discharge": discharge,
        "place_of_delivery": discharge,
        "containers": containers,
        "packages": values["packages"],
        "gross_weight": f"{weight} kg",
        "measurement": f"{values['volume'].split()[0].rstrip('0')} m3",
        "issue_date": issued.isoformat(),
        "issue_place": loading.split(",")[0],
    }
    together = random.random() < 0.5
    return Specimen(
        "bill_of_lading",
        "bill_of_lading",
        values,
        truth,
        lambda printed: _draw_bill(printed, together=together),
        tuple(f"container{at}" for at in range(len(containers))),
    )


def _draw_bill(values: Values, *, together: bool) -> Image.Image:
    canvas = Canvas(*PAGE, (255, 255, 255))

    def box(at: tuple[float, float, float, float], label: str, text: str) -> None:
        canvas.pen.rectangle(at, outline=(60, 60, 60), width=2)
        canvas.text((at[0] + 10, at[1] + 6), label, 19, "sans", (70, 70, 90))
        canvas.block((at[0] + 14, at[1] + 36), text, 24)

    canvas.text((660, 70), "BILL OF LADING", 46, "bold")
    canvas.text((660, 130), "FOR OCEAN TRANSPORT OR MULTIMODAL TRANSPORT", 18)
    box((80, 60, 640, 230), "Shipper", values["shipper"])
    box((640, 170, 1160, 260), "B/L No.", values["number"])
    box((80, 230, 640, 400), "Consignee", values["consignee"])
    box((80, 400, 640, 570), "Notify Party", values["notify"])
    if together:
        box((80, 570, 640, 660), "Ocean Vessel / Voyage No.", f"{values['vessel']} / {values['voyage']}")
    else:
        box((80, 570, 360, 660), "Vessel", values["vessel"])
        box((360, 570, 640, 660), "Voyage No.", values["voyage"])
    box((640, 570, 1160, 660), "Port of Loading", values["loading"])
    box((80, 660, 640, 750), "Port of Discharge", values["discharge"])
    box((640, 660, 1160, 750), "Place of Delivery", values["delivery"])
    heads = (
        (80, "Container No."),
        (400, "Packages"),
        (620, "Description of Goods"),
        (870, "Gross Weight"),
        (1030, "Measurement"),
    )
    for x, head in heads:
        canvas.text((x + 10, 770), head, 19, "sans", (70, 70, 90))
    canvas.pen.rectangle((80, 760, 1160, 1150), outline=(60, 60, 60), width=2)
    for at in range(3):
        if number := values.get(f"container{at}"):
            canvas.text((94, 820 + 44 * at), number, 24)
    for x, name in ((410, "packages"), (620, "goods"), (850, "weight"), (1015, "volume")):
        canvas.text((x + 4, 820), values[name], 22)
    box((80, 1150, 640, 1240), "Place of Issue", values["loading"].split(",")[0])
    box((640, 1150, 1160, 1240), "Date of Issue", values["issued"])
    canvas.text((80, 1290), "Received in apparent good order and condition except as otherwise noted.", 20)
    return canvas.image


def obituary_en(random: Random) -> Specimen:
    name = f"{random.choice(made_up.FIRST)} {random.choice(made_up.FIRST)} {random.choice(made_up.LAST)}"
    died = made_up.day(random, 2018, 2025)
    born = made_up.day(random, 1926, 1958)
    age = died.year - born.year - ((died.month, died.day) < (born.month, born.day))
    held = died.fromordinal(died.toordinal() + random.randrange(4, 12))
    values = {
        "name": name,
        "age": str(age),
        "born": _long(born),
        "died": _long(died),
        "service_date": _long(held),
        "service_time": f"{random.randrange(9, 12)}:{random.choice(('00', '30'))} AM",
        "service_place": random.choice(CHURCHES),
        "town": random.choice(("Norwich", "Leeds", "York", "Bath")),
    }
    hour, rest = values["service_time"].split(":")
    truth: dict[str, object] = {
        "name": name,
        "age": age,
        "birth_date": born.isoformat(),
        "death_date": died.isoformat(),
        "service_date": held.isoformat(),
        "service_time": f"{int(hour):02}:{rest[:2]}",
        "service_place": values["service_place"],
    }
    return Specimen("obituary_en", "obituary", values, truth, _draw_obituary_en)


def _draw_obituary_en(values: Values) -> Image.Image:
    canvas = Canvas(900, 1000, (254, 253, 248))
    canvas.centred(60, "OBITUARY", 30, "serif")
    canvas.centred(120, values["name"], 46, "serif-bold")
    canvas.centred(196, f"{values['born']} - {values['died']}", 26, "serif")
    y = 280.0
    paragraphs = (
        (
            f"{values['name']}, {values['age']}, of {values['town']}, passed away peacefully on {values['died']}, "
            "surrounded by family."
        ),
        (
            f"Born on {values['born']} in a small village by the sea, the second of four children, and a teacher for "
            "more than thirty years."
        ),
        (
            f"A memorial service will be held on {values['service_date']} at {values['service_time']} at "
            f"{values['service_place']}, {values['town']}. In lieu of flowers, donations may be made to the hospice."
        ),
    )
    for paragraph in paragraphs:
        y = canvas.prose((90, y), paragraph, 28, 720, "serif") + 20
    return canvas.image


def obituary_zh(random: Random) -> Specimen:
    name, died = made_up.chinese_name(random), made_up.day(random, 2018, 2025)
    born = made_up.day(random, 1926, 1958)
    age = died.year - born.year - ((died.month, died.day) < (born.month, born.day))
    held = died.fromordinal(died.toordinal() + random.randrange(2, 8))
    hour = random.randrange(8, 12)
    city = random.choice(made_up.CITIES)
    values = {
        "name": name,
        "age": str(age),
        "born": _chinese(born),
        "died": _chinese(died),
        "service_date": _chinese(held),
        "service_time": f"{hour}时{random.choice(('00', '30'))}分",
        "service_place": f"{city}{random.choice(HALLS)}",
        "honorific": random.choice(("先生", "女士", "同志")),
        "city": city,
    }
    truth: dict[str, object] = {
        "name": name,
        "age": age,
        "birth_date": born.isoformat(),
        "death_date": died.isoformat(),
        "service_date": held.isoformat(),
        "service_time": f"{hour:02}:{values['service_time'].split('时')[1][:2]}",
        "service_place": values["service_place"],
    }
    return Specimen("obituary_zh", "obituary", values, truth, _draw_obituary_zh)


def _draw_obituary_zh(values: Values) -> Image.Image:
    canvas = Canvas(1000, 1000, (255, 255, 255))
    canvas.centred(70, "讣  告", 60, "serif-bold")
    y = 200.0
    paragraphs = (
        f"{values['name']}{values['honorific']}因病医治无效，于{values['died']}在{values['city']}逝世，享年{values['age']}岁。",
        f"{values['name']}{values['honorific']}生于{values['born']}，一生勤勉，为人正直，深受同事和邻里的敬重。",
        f"兹定于{values['service_date']}{values['service_time']}在{values['service_place']}举行告别仪式，谨此讣告。",
    )
    for paragraph in paragraphs:
        y = canvas.prose((100, y), "    " + paragraph, 34, 800, "serif") + 20
    canvas.text((640, y + 60), "家属泣告", 34, "serif")
    return canvas.image
