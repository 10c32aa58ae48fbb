"""Draws the sample documents of `inkgate demo` into src/inkgate/cli/demo/samples. Everything in them is invented.

    PYTHONPATH=. python scripts/draw_demo_documents.py

Needs the Debian packages fonts-dejavu-core and fonts-noto-cjk.
"""

from __future__ import annotations

import sys
import textwrap
import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from benchmarks.specimens.damage import photographed

OUT = Path(__file__).parents[1] / "src" / "inkgate" / "cli" / "demo" / "samples"
DEJAVU = "/usr/share/fonts/truetype/dejavu/DejaVu{}.ttf"
CJK = "/usr/share/fonts/opentype/noto/Noto{}CJK-{}.ttc"
SIMPLIFIED = 2
Rows = tuple[tuple[str, str], ...]
Clauses = Rows


def clauses(text: str) -> Clauses:
    """Heading and text of each paragraph."""
    parts = (part.split("\n", 1) for part in text.strip().split("\n\n"))
    return tuple((heading, " ".join(body.split())) for heading, body in parts)


BAKERY: Rows = (
    ("HARBOUR BAKERY", ""),
    ("7 Mill Street, Little Port", ""),
    ("Tel: 07-123 4567", ""),
    ("", ""),
    ("RECEIPT", "R10042"),
    ("Date: 14/03/2026", "09:41"),
    ("", ""),
    ("Sourdough bread", "6.50"),
    ("Coffee  2 x 3.20", "6.40"),
    ("Apple cake", "4.10"),
    ("", ""),
    ("SUBTOTAL", "17.00"),
    ("VAT 10%", "1.70"),
    ("TOTAL", "18.70"),
    ("", ""),
    ("CASH", "20.00"),
    ("CHANGE", "1.30"),
    ("", ""),
    ("Thank you, see you soon!", ""),
)
CAFE: Rows = (
    ("TWO BRIDGES CAFE", ""),
    ("12 River Lane, Eastford", ""),
    ("Tel: 07-555 0182", ""),
    ("", ""),
    ("Table 6", "Server: Ines"),
    ("Date: 21/03/2026", "13:05"),
    ("", ""),
    ("Soup of the day", "7.50"),
    ("Grilled cheese", "9.00"),
    ("Lemonade", "3.50"),
    ("Carrot cake", "5.00"),
    ("", ""),
    ("SUBTOTAL", "25.00"),
    ("TAX 8%", "2.00"),
    ("TOTAL", "27.00"),
    ("", ""),
    ("VISA", "27.00"),
    ("Thank you!", ""),
)
HARDWARE: Rows = (
    ("NORTH HARDWARE", ""),
    ("88 Station Road, Highfield", ""),
    ("Tel: 07-771 2030", ""),
    ("", ""),
    ("RECEIPT", "N-20817"),
    ("Date: 25/02/2026", "16:22"),
    ("", ""),
    ("Wood screws 4x40", "4.80"),
    ("Paint brush", "6.20"),
    ("White paint 2 l", "21.00"),
    ("", ""),
    ("TOTAL", "32.00"),
    ("", ""),
    ("CARD", "32.00"),
    ("", ""),
    ("Thank you for your visit", ""),
)
GROCER: Rows = (
    ("GREEN GROCER", ""),
    ("3 Market Square, Little Port", ""),
    ("Tel: 07-123 9090", ""),
    ("", ""),
    ("RECEIPT", "5513"),
    ("Date: 28/03/2026", "18:12"),
    ("", ""),
    ("Apples", "3.90"),
    ("Tomatoes", "4.20"),
    ("Potatoes", "2.80"),
    ("Olive oil", "12.50"),
    ("", ""),
    ("SUBTOTAL", "23.40"),
    ("TAX 5%", "1.17"),
    ("TOTAL", "29.57"),  # misprinted: the sums make 24.57
    ("", ""),
    ("CARD", "29.57"),
    ("Thank you!", ""),
)
BOOKS: Rows = (
    ("CORNER BOOKS", ""),
    ("15 Chapel Hill, Eastford", ""),
    ("Tel: 07-555 0140", ""),
    ("", ""),
    ("RECEIPT", "CB-3381"),
    ("Date: 03/04/2026", "11:37"),  # the third of April, or the fourth of March
    ("", ""),
    ("Atlas of harbours", "34.00"),
    ("Guide to knots", "12.50"),
    ("", ""),
    ("TOTAL", "46.50"),
    ("", ""),
    ("CASH", "50.00"),
    ("CHANGE", "3.50"),
    ("", ""),
    ("Thank you, happy reading!", ""),
)
LAMPS: Rows = (
    ("LAMP AND LIGHT LTD", ""),
    ("40 Foundry Street, Highfield", ""),
    ("Tel: 07-771 8844", ""),
    ("", ""),
    ("RECEIPT", "L-2026-118"),
    ("Date: 17/03/2026", "10:15"),
    ("", ""),
    ("Desk lamp", "48.00"),
    ("LED bulb", "9.50"),
    ("Lamp shade", "6.00"),
    ("", ""),
    ("SUBTOTAL", "63.50"),
    ("VAT 20%", "12.70"),
    ("TOTAL", "76.20"),
    ("", ""),
    ("Paid by card", "76.20"),
    ("Thank you for your order.", ""),
)
TEA: Rows = (
    ("清风茶馆", ""),
    ("杭州市西湖区龙井路 16 号", ""),
    ("电话：0571-8800 5566", ""),
    ("", ""),
    ("收银小票", ""),
    ("日期：2026-03-22", "15:48"),
    ("", ""),
    ("龙井茶", "68.00"),
    ("桂花糕", "26.00"),
    ("瓜子", "12.00"),
    ("", ""),
    ("合计", "106.00"),
    ("实收", "110.00"),
    ("找零", "4.00"),
    ("", ""),
    ("谢谢惠顾", ""),
)
CARD = (
    "Dear Ms Lindqvist,",
    "",
    "thank you for the lovely evening by the",
    "harbour. The children still speak of the",
    "lighthouse and want to come back soon.",
    "",
    "We will visit you in the summer, when the",
    "days are long and the water is warm.",
    "",
    "With love from all of us,",
    "Amara and Tom",
)

PARTICULARS: Rows = (
    ("Contract no.:", "L-2026-07"),
    ("Landlord:", "Marta Lindqvist"),
    ("Tenant:", "Jonas Berger"),
    ("Premises:", "5 Harbour View, Little Port"),
    ("Start date:", "1 May 2026"),
    ("End date:", "30 April 2028"),
    ("Monthly rent:", "EUR 1,450.00"),
    ("Deposit:", "EUR 2,900.00"),
    ("Notice period:", "3 months"),
)
LEASE_CLAUSES = clauses("""\
1. The premises
The Landlord lets the premises named in the particulars to the Tenant, with the kitchen, the bathroom, the
cellar and one place in the bicycle shed. The premises are used as a dwelling only. The Tenant may keep small
pets; larger ones need the written consent of the Landlord, which is not withheld without a reason.

2. Rent
The rent is due on the third working day of each month and is paid to the account that the Landlord names in
writing. It includes water and the cleaning of the stairs. Electricity, heating and the internet are ordered
and paid by the Tenant.

3. Deposit
The Landlord keeps the deposit in an account of its own and returns it within six weeks after the keys were
handed back, less what the Tenant owes. Interest belongs to the Tenant.

4. Repairs
The Landlord keeps the roof, the walls, the windows and the heating in good order. The Tenant tells the
Landlord of damage without delay, and bears small repairs of up to one hundred euros each. Between eight in
the morning and six in the evening the Landlord may enter to inspect the premises, if announced two days
before.

5. End of the lease
The lease ends on the end date. Until then, each party may end it in writing with the notice period of the
particulars. The premises are returned swept clean, with all keys. Walls that were painted in strong colours
are painted white again.

6. Other agreements
There are no oral agreements. Changes of this lease agreement need the written form. If a clause is invalid,
the others remain in force. The governing law is that of the place of the premises.
""")
SERVICE: Rows = (
    ("Agreement no.:", "SA-118"),
    ("Client:", "Harbour Bakery Ltd"),
    ("Contractor:", "North Web Studio"),
    ("Start date:", "2 March 2026"),
    ("End date:", "26 June 2026"),
    ("Total fee:", "EUR 8,400.00"),
    ("Payment term:", "30 days"),
)
SERVICE_CLAUSES = clauses("""\
1. Work
The Contractor builds a web shop for the Client: a catalogue, a basket, payment by card, and a page on which
bakers change prices. The Client delivers photographs and texts by the end of March.

2. Fee
Half of the fee is due when this agreement is signed, and half when the shop was accepted. Invoices are paid
within the payment term. Travel costs are included.

3. Acceptance
The Client tests the shop within ten working days after delivery and reports faults in writing. Faults that
prevent orders are mended within two working days, others within ten.

4. Rights
When the fee has been paid in full, the Client owns the designs and may use and change the program without
limits. The Contractor may show the shop among its works.
""")
ZH: Rows = (
    ("合同编号：", "ZL-2026-031"),
    ("出租方（甲方）：", "王建国"),
    ("承租方（乙方）：", "李晓梅"),
    ("租赁房屋：", "杭州市西湖区文三路 88 号 5 幢 602 室"),
    ("开始日期：", "2026年4月1日"),
    ("结束日期：", "2027年3月31日"),
    ("月租金：", "4,200.00 元"),
    ("押金：", "8,400.00 元"),
    ("通知期：", "1 个月"),
)
ZH_CLAUSES = clauses("""\
第一条 房屋用途
乙方租用该房屋仅供居住使用。未经甲方书面同意，乙方不得转租或改变房屋结构。

第二条 租金支付
租金按月支付，乙方应于每月五日前转入甲方指定的银行账户。水费、电费和燃气费由乙方承担。

第三条 押金
合同期满并交还钥匙后，甲方应在十五日内退还押金，扣除乙方应付的费用。

第四条 维修
屋顶、墙体和暖气由甲方负责维修。因乙方使用不当造成的损坏，由乙方负责。

第五条 合同解除
任何一方提前解除合同，应按通知期以书面形式告知对方。

第六条 其他
本合同一式两份，甲乙双方各执一份，自双方签字之日起生效。
""")
NOTICE = (
    "尊敬的读者：",
    "",
    "您预订的三本书已经到店，其中《海港地图集》",
    "将于三月二十日前为您保留。请携带本通知和",
    "有效证件，到一楼服务台领取。",
    "",
    "街角书店",
    "2026 年 3 月 12 日",
)
WARRANTY = clauses("""\
Warranty
Lamp and Light gives a warranty of three years for the desk lamp with the serial number DL-4471-09. It covers
the switch, the transformer and the joints of the arm. Bulbs are not covered. Keep the receipt: it proves the
day of purchase.

How to claim
Send the lamp with a short description of the fault to the workshop at 40 Foundry Street, Highfield. The
workshop repairs it within two weeks, or sends a new one. Postage is refunded.
""")
MINUTES = clauses("""\
Minutes of the owners' meeting, 9 March 2026
Present are the owners of five of the six flats at Harbour View. The roof was inspected in February: eleven
tiles are broken and the gutter on the north side leaks. Three offers for the repair were compared.

Decisions
The owners accept the offer of Tiler and Daughters for EUR 6,180.00. The work begins after Easter. The reserve
fund pays one half, the owners the other by their shares. The caretaker orders a new lamp for the stairs.

Next meeting
The next meeting is on 7 September 2026 at seven in the evening in the reading room of Corner Books.
""")


def face(name: str, size: int, *, chinese: bool = False) -> ImageFont.FreeTypeFont:
    """`name`: sans, bold, mono or serif."""
    if chinese:
        path = CJK.format("Serif" if name == "serif" else "Sans", "Bold" if name == "bold" else "Regular")
        return ImageFont.truetype(path, size, index=SIMPLIFIED)
    return ImageFont.truetype(
        DEJAVU.format({"sans": "Sans", "bold": "Sans-Bold", "mono": "SansMono", "serif": "Serif"}[name]), size
    )


def slip(rows: Rows, paper: int = 250, *, chinese: bool = False) -> Image.Image:
    """A receipt as its printer made it."""
    picture = Image.new("L", (560, 60 + 40 * len(rows)), paper)
    pen = ImageDraw.Draw(picture)
    strong = {rows[0][0], "TOTAL", "合计"}
    for row, (left, right) in enumerate(rows):
        font = face("bold" if left in strong else "mono", 25, chinese=chinese)
        pen.text((34, 30 + 40 * row), left, 25, font)
        pen.text((526 - pen.textlength(right, font), 30 + 40 * row), right, 25, font)
    return picture


def photo(picture: Image.Image, name: str, seed: int) -> None:
    random = Random(seed)  # noqa: S311 - no secret
    photographed(picture.convert("RGB"), random).save(OUT / name, quality=62, optimize=True)


def scan(picture: Image.Image, turn: float) -> Image.Image:
    """The page from a flatbed: slightly turned and soft."""
    return picture.rotate(turn, Image.Resampling.BICUBIC, fillcolor=250).filter(ImageFilter.GaussianBlur(0.6))


def black_and_white(pages: list[Image.Image], name: str, resolution: int, seed: int) -> None:
    """A PDF as office scanners write it: one bit a pixel, with specks, each page a little turned."""
    random, bits = np.random.default_rng(seed), []
    for page in pages:
        pixels = np.asarray(scan(page, float(random.uniform(-0.6, 0.6)))) > 150
        specks = random.random(pixels.shape) < 0.00002
        bits.append(Image.fromarray(pixels & ~specks).convert("1"))
    at = time.gmtime(0)  # the same file each time
    bits[0].save(OUT / name, save_all=True, append_images=bits[1:], resolution=resolution, creationDate=at, modDate=at)


@dataclass(slots=True)
class PaperSize:
    """A4 at `dpi`, and the size of its text in pixels."""

    dpi: int

    def blank(self) -> Image.Image:
        return Image.new("L", (round(8.27 * self.dpi), round(11.69 * self.dpi)), 255)

    def px(self, millimetres: float) -> int:
        return round(millimetres / 25.4 * self.dpi)


def paragraphs(
    size: PaperSize, title: str, table: Rows, parts: Clauses, end: str, *, chinese: bool = False
) -> list[Image.Image]:
    """A4 pages: the title and the particulars, then clauses, then the signatures, with page numbers."""
    pages: list[Image.Image] = []
    body, strong = face("serif", size.px(4.3), chinese=chinese), face("bold", size.px(4.6), chinese=chinese)
    left, line, bottom = size.px(25), size.px(7.4), size.px(262)

    def turn_over() -> ImageDraw.ImageDraw:
        pages.append(size.blank())
        return ImageDraw.Draw(pages[-1])

    pen, y = turn_over(), size.px(28)
    if title:
        pen.text((left, y), title, 10, face("bold", size.px(7), chinese=chinese))
        y += size.px(18)
    for name, value in table:
        pen.text((left, y), name, 10, strong)
        pen.text((left + size.px(48), y), value, 10, body)
        y += size.px(9.5)
    y += size.px(8) if table else 0
    for heading, text in parts:
        lines = wrapped(pen, text, body, size.px(160), chinese=chinese)
        if y + line * (len(lines) + 1) > bottom:
            pen, y = turn_over(), size.px(28)
        pen.text((left, y), heading, 10, strong)
        y += line
        for each in lines:
            pen.text((left, y), each, 10, body)
            y += line
        y += size.px(5)
    if y + line * (len(end.splitlines()) + 1) > bottom:
        pen, y = turn_over(), size.px(28)
    for each in end.splitlines():
        pen.text((left, y + size.px(8)), each, 10, body)
        y += line
    for number, page in enumerate(pages, 1):
        mark = f"第 {number} 页" if chinese else f"Page {number} of {len(pages)}"
        ImageDraw.Draw(page).text((size.px(105), size.px(280)), mark, 10, body, anchor="ma")
    return pages


def wrapped(
    pen: ImageDraw.ImageDraw, text: str, font: ImageFont.FreeTypeFont, width: int, *, chinese: bool
) -> list[str]:
    lines, line = [], ""
    for part in list(text) if chinese else [f"{word} " for word in text.split()]:
        if line and pen.textlength(line + part.rstrip(), font) > width and part not in "，。、；":
            lines.append(line.rstrip())
            line = ""
        line += part
    return [*lines, line.rstrip()]


class TextPdf:
    """A PDF with text, as programs print it: Helvetica, which every viewer has."""

    def __init__(self, width: int, height: int) -> None:
        self._size = (width, height)
        self._pages: list[list[str]] = []

    def page(self) -> None:
        self._pages.append([])

    def text(self, x: float, y: float, text: str, size: float, *, bold: bool = False) -> None:
        """`y`: of the baseline, from the top."""
        safe = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
        font = "F2" if bold else "F1"
        self._pages[-1].append(f"BT /{font} {size:g} Tf {x:g} {self._size[1] - y:g} Td ({safe}) Tj ET")

    def save(self, name: str) -> None:
        kids = " ".join(f"{5 + 2 * at} 0 R" for at in range(len(self._pages)))
        font = "<< /Type /Font /Subtype /Type1 /BaseFont /{} /Encoding /WinAnsiEncoding >>"
        objects = [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            f"<< /Type /Pages /Kids [{kids}] /Count {len(self._pages)} >>".encode(),
            font.format("Helvetica").encode(),
            font.format("Helvetica-Bold").encode(),
        ]
        for at, page in enumerate(self._pages):
            packed = zlib.compress("\n".join(page).encode("cp1252"))
            objects.append(
                f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {self._size[0]} {self._size[1]}] /Contents "
                f"{6 + 2 * at} 0 R /Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> >>".encode()
            )
            objects.append(b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed))
        data, places = b"%PDF-1.4\n", []
        for number, body in enumerate(objects, 1):
            places.append(len(data))
            data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
        start, count = len(data), len(objects) + 1
        data += b"xref\n0 %d\n0000000000 65535 f \n" % count + b"".join(b"%010d 00000 n \n" % at for at in places)
        data += b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (count, start)
        (OUT / name).write_bytes(data)


def printed_receipt(rows: Rows, name: str) -> None:
    pdf = TextPdf(300, 40 + 20 * len(rows))
    pdf.page()
    for row, (left, right) in enumerate(rows):
        bold = left in {rows[0][0], "TOTAL"}
        pdf.text(24, 32 + 20 * row, left, 11, bold=bold)
        if right:
            pdf.text(276 - 5.8 * len(right), 32 + 20 * row, right, 11, bold=bold)
    pdf.save(name)


def printed_contract(title: str, table: Rows, parts: Clauses, end: str, name: str) -> None:
    pdf = TextPdf(595, 842)
    pdf.page()
    pdf.text(70, 90, title, 20, bold=True)
    y = 140.0
    for label, value in table:
        pdf.text(70, y, label, 12, bold=True)
        pdf.text(210, y, value, 12)
        y += 26
    y += 20
    for heading, text in parts:
        lines = textwrap.wrap(text, 80)
        if y + 18 * (len(lines) + 1) > 770:
            pdf.page()
            y = 90.0
        pdf.text(70, y, heading, 12, bold=True)
        for each in lines:
            y += 18
            pdf.text(70, y, each, 11)
        y += 34
    for each in end.splitlines():
        pdf.text(70, y, each, 11)
        y += 18
    pdf.save(name)


def receipts() -> None:
    photo(slip(BAKERY), "receipts/harbour-bakery.jpg", 3)
    photo(slip(CAFE), "receipts/two-bridges-cafe.jpg", 8)
    scan(slip(HARDWARE), 0.5).quantize(16).save(OUT / "receipts/north-hardware.png", optimize=True)
    photo(slip(GROCER), "receipts/green-grocer.jpg", 21)
    scan(slip(BOOKS), -0.4).quantize(16).save(OUT / "receipts/corner-books.png", optimize=True)
    printed_receipt(LAMPS, "receipts/lamp-and-light.pdf")
    scan(slip(TEA, chinese=True), 0.2).quantize(16).save(OUT / "receipts/tea-house.png", optimize=True)
    whole = (OUT / "receipts/lamp-and-light.pdf").read_bytes()
    (OUT / "receipts/cut-off.pdf").write_bytes(whole[: len(whole) // 3])
    card = Image.new("L", (760, 620), 248)
    pen = ImageDraw.Draw(card)
    for row, text in enumerate(CARD):
        pen.text((60, 60 + 42 * row), text, 40, face("serif", 28))
    photo(card, "receipts/holiday-card.jpg", 5)


def contracts() -> None:
    signatures = "Signed for the Landlord and the Tenant\nLittle Port, 20 March 2026"
    printed_contract("Lease Agreement", PARTICULARS, LEASE_CLAUSES, signatures, "contracts/lease-draft.pdf")
    changed = {"Monthly rent:": "EUR 1,540.00", "Notice period:": "2 months"}
    signed = tuple((label, changed.get(label, value)) for label, value in PARTICULARS)
    terms = tuple((heading, text.replace("one hundred euros", "four hundred euros")) for heading, text in LEASE_CLAUSES)
    pages = paragraphs(PaperSize(200), "Lease Agreement", signed, terms, signatures)
    black_and_white(pages, "contracts/lease-signed.pdf", 200, 1)
    ends = "For the Client: A. Okafor\nFor the Contractor: T. Reyes"
    pages = paragraphs(PaperSize(200), "Service Agreement", SERVICE, SERVICE_CLAUSES, ends)
    black_and_white(pages, "contracts/service-agreement.pdf", 200, 2)
    pages = paragraphs(
        PaperSize(200), "房屋租赁合同", ZH, ZH_CLAUSES, "甲方（签字）：王建国\n乙方（签字）：李晓梅", chinese=True
    )
    black_and_white(pages, "contracts/lease-zh.pdf", 200, 3)


def archive() -> None:
    pages = paragraphs(PaperSize(150), "", (), MINUTES, "Little Port, 9 March 2026\nJonas Berger, chair")
    black_and_white(pages, "archive/owners-meeting.pdf", 150, 4)
    pages = paragraphs(PaperSize(110), "", (), WARRANTY, "Highfield, 17 March 2026")
    sheet = pages[0].crop((0, 0, pages[0].width, round(pages[0].height * 0.62)))
    photo(sheet, "archive/warranty.jpg", 11)
    notice = Image.new("L", (900, 620), 252)
    pen = ImageDraw.Draw(notice)
    pen.text((80, 50), "取书通知", 15, face("bold", 42, chinese=True))
    for row, text in enumerate(NOTICE):
        pen.text((80, 140 + 52 * row), text, 30, face("serif", 30, chinese=True))
    scan(notice, 0.3).quantize(16).save(OUT / "archive/notice.png", optimize=True)


def main() -> int:
    for name in ("receipts", "contracts", "archive"):
        (OUT / name).mkdir(parents=True, exist_ok=True)
    receipts()
    contracts()
    archive()
    return 0


if __name__ == "__main__":
    sys.exit(main())
