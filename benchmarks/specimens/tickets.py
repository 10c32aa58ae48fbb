"""Chinese train tickets: of paper, and the electronic invoice."""

from __future__ import annotations

from random import Random

from PIL import Image

from benchmarks.specimens import made_up
from benchmarks.specimens.canvas import Canvas, Specimen, Values

CLASSES = ["二等座", "一等座", "商务座", "硬座", "硬卧"]
RED = (200, 50, 60)


def _journey(random: Random) -> tuple[dict[str, str], dict[str, object]]:
    (start, start_latin), (end, end_latin) = random.sample(made_up.STATIONS, 2)
    when = made_up.day(random, 2023, 2026)
    hour, minute, yuan = random.randrange(6, 23), random.randrange(60), random.randrange(20, 1800)
    price = f"{yuan}.{random.choice(('0', '5'))}"
    region = random.choice(sorted(made_up.REGIONS))
    born = made_up.day(random, 1960, 2004)
    number = made_up.identity_number(random, region, born, man=random.random() < 0.5)
    seat = f"{random.randrange(1, 17):02}车{random.randrange(1, 20):02}{random.choice('ABCDF')}号"
    values = {
        "from": start + "站",
        "from_latin": start_latin,
        "to": end + "站",
        "to_latin": end_latin,
        "train": random.choice("GGDCKZT") + str(random.randrange(1, 9000)),
        "date": f"{when.year}年{when.month:02}月{when.day:02}日",
        "time": f"{hour:02}:{minute:02}",
        "seat": seat,
        "class": random.choice(CLASSES),
        "price": price,
        "name": made_up.chinese_name(random),
        "masked": f"{number[:10]}****{number[14:]}",
        "whole": number,
    }
    truth: dict[str, object] = {
        "from_station": values["from"],
        "to_station": values["to"],
        "train_number": values["train"],
        "date": when.isoformat(),
        "time": values["time"],
        "seat": seat,
        "seat_class": values["class"],
        "price": f"{price}0",
        "name": values["name"],
    }
    return values, truth


def paper_ticket(random: Random) -> Specimen:
    values, truth = _journey(random)
    whole = random.random() < 0.4
    values["id"] = values["whole" if whole else "masked"]
    values["ticket"] = random.choice("ABCDEFGHJKLMNZ") + made_up.digits(random, 6)
    values["gate"] = f"检票:{random.randrange(1, 25)}{random.choice('AB')}"
    values["serial"] = f"{made_up.digits(random, 14)}{values['ticket']}"
    blue = random.random() < 0.7
    return Specimen(
        "train_ticket_paper",
        "train_ticket",
        values,
        {**truth, "id_number": values["id"], "ticket_number": values["ticket"]},
        lambda printed: _draw_paper(printed, blue=blue),
        ("id",) if whole else (),
    )


def _draw_paper(values: Values, *, blue: bool) -> Image.Image:
    canvas = Canvas(1020, 640, (214, 232, 244) if blue else (246, 222, 222))
    canvas.text((60, 40), values["ticket"], 40, "sans", RED)
    canvas.text((760, 44), values["gate"], 32)
    canvas.text((90, 110), values["from"], 50, "serif-bold")
    canvas.text((110, 178), values["from_latin"], 26)
    canvas.text((440, 106), values["train"], 48)
    canvas.pen.line((410, 168, 600, 168), (30, 30, 30), 3)
    canvas.text((690, 110), values["to"], 50, "serif-bold")
    canvas.text((710, 178), values["to_latin"], 26)
    canvas.text((60, 232), f"{values['date']}{values['time']}开", 34)
    canvas.text((690, 232), values["seat"], 34)
    canvas.text((60, 292), f"￥{values['price']}元", 36)
    canvas.text((690, 294), values["class"], 32)
    canvas.text((60, 350), "限乘当日当次车", 28)
    canvas.text((60, 430), f"{values['id']}  {values['name']}", 34)
    canvas.pen.rectangle((70, 492, 640, 560), outline=(90, 90, 90), width=2)
    canvas.text((100, 498), "买票请到12306 发货请到95306", 22)
    canvas.text((100, 528), "中国铁路祝您旅途愉快", 22)
    canvas.text((60, 590), f"{values['serial']} {values['from'][:-1]}售", 26)
    canvas.pen.rectangle((800, 400, 950, 550), (40, 40, 40))
    canvas.mark((790, 600))
    return canvas.image


def electronic_ticket(random: Random) -> Specimen:
    values, truth = _journey(random)
    issued = made_up.day(random, 2024, 2026)
    values["invoice"] = "25" + made_up.digits(random, 18)
    values["ticket"] = made_up.digits(random, 21)
    values["issued"] = f"{issued.year}年{issued.month:02}月{issued.day:02}日"
    values["buyer"] = made_up.company(random)
    truth |= {
        "price": f"{values['price']}0",
        "id_number": values["masked"],
        "ticket_number": values["ticket"],
        "invoice_number": values["invoice"],
    }
    return Specimen("train_ticket_electronic", "train_ticket", values, truth, _draw_electronic)


def _draw_electronic(values: Values) -> Image.Image:
    canvas = Canvas(1300, 820, (255, 255, 255))
    canvas.centred(40, "电子发票（铁路电子客票）", 42, "serif-bold", (150, 60, 40))
    canvas.text((60, 130), f"发票号码:{values['invoice']}", 26)
    canvas.text((830, 130), f"开票日期:{values['issued']}", 26)
    canvas.text((120, 220), values["from"], 46, "bold")
    canvas.text((140, 284), values["from_latin"], 24)
    canvas.text((580, 222), values["train"], 44)
    canvas.pen.line((540, 282, 740, 282), (30, 30, 30), 3)
    canvas.text((900, 220), values["to"], 46, "bold")
    canvas.text((920, 284), values["to_latin"], 24)
    canvas.text((120, 350), f"{values['date']} {values['time']}开", 30)
    canvas.text((620, 350), values["seat"], 30)
    canvas.text((940, 350), values["class"], 30)
    canvas.text((120, 420), f"票价:￥{values['price']}0", 32)
    canvas.text((120, 490), f"{values['masked']}  {values['name']}", 30)
    canvas.text((120, 580), f"电子客票号:{values['ticket']}", 26)
    canvas.text((120, 640), f"购买方名称:{values['buyer']}", 26)
    canvas.text((120, 720), "买票请到12306 发货请到95306 中国铁路祝您旅途愉快", 22)
    return canvas.image
