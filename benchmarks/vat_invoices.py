"""Draws Chinese VAT invoices, reads them with the embedded engine, and compares all their fields.

    python -m benchmarks.vat_invoices --read FOLDER [--count N] [--first N]

Papers and fully digital invoices, clean and photographed, half of them with a red stamp over the text. A value is right
if it is exactly the true one. Then one digit of a number, date or amount of each clean paper is changed in print, while
its QR code stays: the check `code_mismatch` must fail. Needs Debian's fonts-noto-cjk.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from random import Random
from time import perf_counter

import cv2
import numpy as np
import orjson
import zxingcpp
from PIL import Image, ImageDraw, ImageFont

from inkgate.codec import document_to_dict, parse_document
from inkgate.fields.codes.barcodes import CODE_MISMATCH
from inkgate.fields.document_types import DocumentTypes
from inkgate.fields.extract import answer
from inkgate.fields.kinds.chinese import _TAX_CHARACTERS
from inkgate.fields.proposed import proposed
from inkgate.library import Ocr
from inkgate.types import PageResult

NOTO = "/usr/share/fonts/opentype/noto/Noto{}CJK-Regular.ttc"
BROWN, INK, RED = (150, 75, 30), (20, 20, 25), (215, 40, 45)
CITIES = ("深圳", "北京", "上海", "杭州", "成都", "武汉", "苏州", "厦门", "青岛", "西安")
WORDS = ("华信", "天元", "宏达", "启明", "瑞丰", "中科", "云帆", "金桥", "远景", "嘉禾", "博雅", "新锐")
TRADES = ("科技", "贸易", "商贸", "餐饮管理", "物流", "信息技术", "电子商务", "文化传媒", "建筑工程")
FORMS = ("有限公司", "有限责任公司", "股份有限公司")
GOODS = (("*餐饮服务*餐费", "次"), ("*计算机配套产品*硬盘", "块"), ("*纸制品*打印纸", "箱"), ("*运输服务*货运费", "车"))
CHANGED = ("number", "date", "sum")

Values = Mapping[str, str]


@cache
def font(size: int, face: str = "Sans") -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(NOTO.format(face), size, index=2)


@dataclass(frozen=True, slots=True)
class VatInvoice:
    """A made-up invoice. `values`: what is printed; `code`: what the QR code says."""

    digital: bool
    values: Values
    code: str
    stamp: bool

    @property
    def truth(self) -> dict[str, str]:
        names = (
            "number code date check_code buyer_name buyer_tax_number seller_name seller_tax_number amount tax total "
            "total_in_words"
        )
        return {name: self.values[name] for name in names.split() if name in self.values}


def tax_number(random: Random) -> str:
    """A unified social credit code with a check character that holds."""
    head = "91" + random.choice(("440300", "110108", "310115", "330106", "510107"))
    body = head + "".join(random.choice(_TAX_CHARACTERS) for _ in range(9))
    total = sum(_TAX_CHARACTERS.index(character) * pow(3, at, 31) for at, character in enumerate(body))
    return body + _TAX_CHARACTERS[-total % 31]


def in_words(amount: Decimal) -> str:
    """大写金额."""
    digits, units = "零壹贰叁肆伍陆柒捌玖", ("", "拾", "佰", "仟")
    cents = int(amount * 100)
    whole, part = divmod(cents, 100)
    words, zero = "", False
    for at, digit in enumerate(text := str(whole)):
        place = len(text) - 1 - at
        if digit == "0":
            zero = True
        else:
            words += ("零" if zero else "") + digits[int(digit)] + units[place % 4]
            zero = False
        if place == 4:
            words += "万"
            zero = False
    tens, ones = divmod(part, 10)
    if not part:
        return words + "圆整"
    return words + "圆" + (f"{digits[tens]}角" if tens else "零") + (f"{digits[ones]}分" if ones else "整")


def company(random: Random) -> str:
    return random.choice(CITIES) + "".join(random.sample(WORDS, 1)) + random.choice(TRADES) + random.choice(FORMS)


def made_up(random: Random) -> VatInvoice:
    digital = random.random() < 0.5
    amount = Decimal(random.randrange(1000, 9_000_000)) / 100
    rate = random.choice((1, 3, 6, 9, 13))
    tax = (amount * rate / 100).quantize(Decimal("0.01"))
    day = date(2019, 1, 1) + timedelta(days=random.randrange(2200))
    number = "".join(random.choices("0123456789", k=20 if digital else 8))
    code = "".join(random.choices("0123456789", k=12))
    check = "".join(random.choices("0123456789", k=20))
    goods, unit = random.choice(GOODS)
    values = {
        "number": number,
        "date": day.isoformat(),
        "buyer_name": company(random),
        "buyer_tax_number": tax_number(random),
        "seller_name": company(random),
        "seller_tax_number": tax_number(random),
        "amount": f"{amount:.2f}",
        "tax": f"{tax:.2f}",
        "total": f"{amount + tax:.2f}",
        "total_in_words": f"{amount + tax:.2f}",
        "words": in_words(amount + tax),
        "goods": goods,
        "unit": unit,
        "rate": f"{rate}%",
    }
    if not digital:
        values |= {"code": code, "check_code": check}
    said = amount + tax if digital else amount
    kind = ("32" if random.random() < 0.5 else "31") if digital else "10"
    qr = f"01,{kind},{'' if digital else code},{number},{said:.2f},{day:%Y%m%d},{'' if digital else check},A1B2,"
    return VatInvoice(digital, values, qr, stamp=random.random() < 0.5)


@dataclass(slots=True)
class _Paper:
    """A paper of 1,700 x 1,050 pixels: 200 dpi of the form's 215 x 133 mm."""

    image: Image.Image = field(default_factory=lambda: Image.new("RGB", (1700, 1050), (252, 252, 250)))

    def text(self, x: int, y: int, text: str, size: int = 22, ink: tuple[int, int, int] = INK) -> None:
        ImageDraw.Draw(self.image).text((x, y), text, ink, font(size, "Serif" if size > 30 else "Sans"))

    def box(self, *corners: int) -> None:
        ImageDraw.Draw(self.image).rectangle(corners, outline=BROWN, width=2)

    def qr(self, text: str, x: int, y: int) -> None:
        code = zxingcpp.create_barcode(text, zxingcpp.BarcodeFormat.QRCode)
        self.image.paste(Image.fromarray(np.array(code.to_image(scale=3))), (x, y))

    def stamp(self, x: int, y: int, name: str) -> None:
        """An oval invoice stamp over what is printed."""
        layer = Image.new("RGBA", self.image.size, (0, 0, 0, 0))
        draw = ImageDraw.Draw(layer)
        draw.ellipse((x, y, x + 300, y + 200), outline=(*RED, 200), width=6)
        draw.text((x + 90, y + 120), "发票专用章", (*RED, 200), font(24))
        for at, letter in enumerate(name[:12]):
            angle = np.pi * (1.1 + 0.8 * (at + 0.5) / len(name[:12]))
            place = (x + 150 + 118 * np.cos(angle) - 12, y + 100 + 72 * np.sin(angle) - 14)
            draw.text(place, letter, (*RED, 200), font(24))
        self.image = Image.alpha_composite(self.image.convert("RGBA"), layer).convert("RGB")


def drawn(invoice: VatInvoice, values: Values | None = None) -> Image.Image:
    """The paper; `values`: other ones than its own."""
    values = values or invoice.values
    paper = _Paper()
    (_digital if invoice.digital else _printed)(paper, values)
    paper.qr(invoice.code, 60, 30)
    if invoice.stamp:
        paper.stamp(700 if invoice.digital else 1180, 10 if invoice.digital else 760, values["seller_name"])
    paper.text(1450, 1010, "样本 SPECIMEN", 18, (120, 120, 120))
    return paper.image


def _day(values: Values) -> str:
    year, month, day = values["date"].split("-")
    return f"{year}年{month}月{day}日"


def _items(paper: _Paper, values: Values, top: int, first: str) -> None:
    paper.box(60, top, 1640, top + 280)
    columns = (70, 520, 700, 800, 920, 1100, 1330, 1450)
    titles = (first, "规格型号", "单位", "数量", "单价", "金额", "税率", "税额")
    for x, title in zip(columns, titles, strict=True):
        paper.text(x, top + 8, title, 20, BROWN)
    row = (values["goods"], "", values["unit"], "1", values["amount"], values["amount"], values["rate"], values["tax"])
    for x, text in zip(columns, row, strict=True):
        paper.text(x, top + 44, text, 20)
    paper.text(180, top + 240, "合       计", 22, BROWN)
    paper.text(1080, top + 240, f"¥{values['amount']}")
    paper.text(1440, top + 240, f"¥{values['tax']}")
    paper.box(60, top + 280, 1640, top + 340)
    paper.text(100, top + 296, "价税合计（大写）", 22, BROWN)
    paper.text(480, top + 294, f"⊗{values['words']}", 24)
    paper.text(1180, top + 296, "（小写）", 22, BROWN)
    paper.text(1290, top + 294, f"¥{values['total']}", 24)


def _printed(paper: _Paper, values: Values) -> None:
    paper.text(520, 40, "增值税电子普通发票", 48, BROWN)
    labelled = (("发票代码:", "code"), ("发票号码:", "number"), ("开票日期:", "date"), ("校 验 码:", "check_code"))
    for at, (label, name) in enumerate(labelled):
        paper.text(1180, 40 + 42 * at, label, 22, BROWN)
        shown = _day(values) if name == "date" else values[name]
        if name == "check_code":
            shown = " ".join(shown[i : i + 5] for i in range(0, 20, 5))
        paper.text(1300, 40 + 42 * at, shown)
    paper.box(60, 230, 1640, 400)
    for at, letter in enumerate("购买方"):
        paper.text(68, 255 + 40 * at, letter, 22, BROWN)
    _party(paper, values, "buyer", 240)
    paper.text(1010, 250, "密", 22, BROWN)
    paper.text(1010, 330, "区", 22, BROWN)
    for at in range(4):
        paper.text(1060, 244 + 36 * at, "03*8/2<+>5-9*47<1>/6+82<0-37*4", 22)
    _items(paper, values, 400, "货物或应税劳务、服务名称")
    paper.box(60, 740, 1640, 930)
    for at, letter in enumerate("销售方"):
        paper.text(68, 770 + 40 * at, letter, 22, BROWN)
    _party(paper, values, "seller", 754)
    for x, text in ((100, "收款人: 张三"), (500, "复核: 李四"), (900, "开票人: 王五"), (1300, "销售方: (章)")):
        paper.text(x, 950, text, 20, BROWN)


def _party(paper: _Paper, values: Values, party: str, top: int) -> None:
    lines = (
        ("名        称:", values[f"{party}_name"]),
        ("纳税人识别号:", values[f"{party}_tax_number"]),
        ("地 址、电 话:", "科技园路8号 0755-86012345"),
        ("开户行及账号:", "招商银行 755912345610802"),
    )
    for at, (label, text) in enumerate(lines):
        paper.text(110, top + 38 * at, label, 20, BROWN)
        paper.text(270, top + 38 * at, text, 21)


def _digital(paper: _Paper, values: Values) -> None:
    paper.text(560, 50, "电子发票（普通发票）", 46, BROWN)
    paper.text(1150, 90, "发票号码：", 22, BROWN)
    paper.text(1270, 90, values["number"])
    paper.text(1150, 140, "开票日期：", 22, BROWN)
    paper.text(1270, 140, _day(values))
    paper.box(60, 230, 850, 400)
    paper.box(850, 230, 1640, 400)
    for x, party, letters in ((68, "buyer", "购买方信息"), (858, "seller", "销售方信息")):
        for at, letter in enumerate(letters):
            paper.text(x, 236 + 32 * at, letter, 20, BROWN)
        paper.text(x + 40, 260, "名称：", 21, BROWN)
        paper.text(x + 110, 260, values[f"{party}_name"], 21)
        paper.text(x + 40, 340, "统一社会信用代码/纳税人识别号：", 21, BROWN)
        paper.text(x + 390, 340, values[f"{party}_tax_number"], 21)
    _items(paper, values, 400, "项目名称")
    paper.box(60, 740, 1640, 930)
    paper.text(68, 750, "备注", 20, BROWN)
    paper.text(100, 960, "开票人：王五", 20, BROWN)


def photographed(image: Image.Image, random: Random) -> Image.Image:
    """A picture by a telephone: perspective, turned by up to two degrees, uneven light, blur, noise and JPEG."""
    pixels = np.asarray(image)
    high, wide = pixels.shape[:2]
    margin, shift = 70, 0.012 * wide
    corners = np.array([[0, 0], [wide, 0], [wide, high], [0, high]], np.float32)
    angle = np.deg2rad(random.uniform(-2, 2))
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    moved = (corners - (wide / 2, high / 2)) @ turn.T + (wide / 2 + margin, high / 2 + margin)
    moved += [[random.uniform(-shift, shift) for _ in range(2)] for _ in range(4)]
    size = (wide + 2 * margin, high + 2 * margin)
    matrix = cv2.getPerspectiveTransform(corners, moved.astype(np.float32))
    seen = cv2.warpPerspective(pixels, matrix, size, flags=cv2.INTER_LINEAR, borderValue=(88, 80, 74))
    x, y = np.meshgrid(np.linspace(-1, 1, size[0]), np.linspace(-1, 1, size[1]))
    light = 0.86 + 0.12 * (x * np.cos(angle * 40) + y * np.sin(angle * 40))
    seen = cv2.GaussianBlur(seen * light[..., None], (0, 0), random.uniform(0.5, 1.0))
    seen = seen + np.random.default_rng(random.randrange(2**31)).normal(0, random.uniform(2, 6), seen.shape)
    _, kept = cv2.imencode(".jpg", np.clip(seen, 0, 255).astype(np.uint8)[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, 75])
    return Image.fromarray(np.asarray(cv2.imdecode(kept, cv2.IMREAD_COLOR))[..., ::-1])


def changed(invoice: VatInvoice, random: Random) -> tuple[str, Values]:
    """Values of which one that the code has, too, has another digit; and its name."""
    name = random.choice(CHANGED)
    if name == "sum":
        name = "total" if invoice.digital else "amount"
    values = dict(invoice.values)
    if name == "date":
        day = date.fromisoformat(values["date"]) + timedelta(days=random.choice((1, 10, 30)))
        return name, {**values, "date": day.isoformat()}
    places = [at for at, letter in enumerate(values[name]) if letter.isdigit()]
    at = random.choice(places)
    other = random.choice([digit for digit in "123456789" if digit != values[name][at]])
    return name, {**values, name: values[name][:at] + other + values[name][at + 1 :]}


@dataclass(slots=True)
class _Readings:
    """Reads pictures, and keeps what was read in a folder."""

    folder: Path
    ocr: Ocr
    codes_ms: list[float] = field(default_factory=list)

    def read(self, name: str, image: Image.Image) -> Sequence[PageResult]:
        kept = self.folder / f"{name}.json"
        if not kept.exists():
            image.save(self.folder / f"{name}.png")
            kept.write_bytes(orjson.dumps(document_to_dict(self.ocr.read(self.folder / f"{name}.png"))))
        pages = parse_document(kept.read_bytes()).pages
        self.codes_ms += [page.timings_ms["codes"] for page in pages if "codes" in page.timings_ms]
        return pages


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--read", type=Path, required=True, help="folder for what was read")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--without-codes", action="store_true", help="as if no QR code had been read")
    arguments = parser.parse_args()
    arguments.read.mkdir(parents=True, exist_ok=True)
    schema = DocumentTypes.load().named("cn_vat_invoice")
    right: Counter[str] = Counter()
    wanted: Counter[str] = Counter()
    flagged = tampered = read_codes = false_flags = 0
    begun = perf_counter()
    with Ocr() as ocr:
        readings = _Readings(arguments.read, ocr)
        for seed in range(arguments.first, arguments.first + arguments.count):
            invoice = made_up(Random(seed))
            for condition in ("clean", "photographed"):
                image = drawn(invoice)
                image = image if condition == "clean" else photographed(image, Random(seed))
                pages = readings.read(f"{seed}-{condition}", image)
                if arguments.without_codes:
                    pages = [_without_codes(page) for page in pages]
                found = answer(pages, schema, proposed(pages, schema))
                read_codes += any(block.barcode for page in pages for block in page.blocks or ())
                false_flags += any(each.code == CODE_MISMATCH and not each.passed for each in found.checks)
                for name, true in invoice.truth.items():
                    value = found.data.get(name)
                    wanted[condition] += 1
                    shown = str(value).replace(" ", "") if name == "check_code" else value
                    right[condition] += shown == true
                    if shown != true:
                        print(f"{seed} {condition} {name}: {value!r}, not {true!r} ({found.fields['/' + name].text!r})")
            name, values = changed(invoice, Random(seed))
            pages = readings.read(f"{seed}-changed", drawn(invoice, values))
            found = answer(pages, schema, proposed(pages, schema))
            failing = [each for each in found.checks if each.code == CODE_MISMATCH and not each.passed]
            tampered += 1
            flagged += any(f"/{name}" in each.paths for each in failing)
            if not any(f"/{name}" in each.paths for each in failing):
                print(f"{seed} changed {name}: not flagged")
    result = {
        "exact": {condition: right[condition] / wanted[condition] for condition in wanted},
        "fields": dict(wanted),
        "codes_read": f"{read_codes} of {2 * arguments.count}",
        "contradictions_flagged": f"{flagged} of {tampered}",
        "false_flags": f"{false_flags} of {2 * arguments.count}",
        "codes_ms_median": float(np.median(readings.codes_ms)) if readings.codes_ms else None,
        "seconds": perf_counter() - begun,
    }
    print(json.dumps(result, indent=2))


def _without_codes(page: PageResult) -> PageResult:
    return replace(page, blocks=tuple(block for block in page.blocks or () if block.barcode is None))


if __name__ == "__main__":
    main()
