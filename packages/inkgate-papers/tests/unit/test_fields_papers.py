"""Bank cards, business cards, train tickets, contracts, bills of lading and obituaries: fields, checks and types."""

from __future__ import annotations

from random import Random

import pytest

from inkgate.fields.classify import classify
from inkgate.fields.document_types import DocumentTypes
from inkgate.fields.extract import answer
from inkgate.fields.kinds import KINDS
from inkgate.fields.proposed import proposed
from inkgate_client.fields.values import Extraction
from inkgate_client.types import Line, PageResult
from support.receipts import page

TYPES = DocumentTypes.load()
BANK_CARD = """
东方商业银行|借记卡
6259 1221 0902 6546 638
有效期至 VALID THRU|04/28
LIU MIN
银联
"""
BUSINESS_CARD = """
北京晨光物流有限公司
徐志强|技术顾问
手机：13864391381
电话：010-49167862  传真：010-49167863
邮箱：zhangmin@huayuan.com.cn
网址：www.huayuan.com.cn
地址：北京市滨江大道618号18层
"""
TICKET = """
G921896|检票:7A
成都东站|T5733|武汉站
Chengdudong|Wuhan
2025年04月12日08:04开|04车05B号
￥1169.5元|二等座
限乘当日当次车
5101071998****9046|程军
买票请到12306 发货请到95306
"""
CONTRACT = """
采购合同
合同编号：HT-2024-3730
甲方（买方）：成都天和物流有限公司
乙方（卖方）：广州晨光文化传媒有限公司
签订日期：2024年4月26日
签订地点：北京市
第一条 合同期限：自2024年5月1日起至2027年5月1日止。期满前一个月，双方可以协商续签。
第二条 合同总金额为人民币捌佰零伍万叁仟元整（￥8,053,000.00）。
"""
AGREEMENT = """
SUPPLY AGREEMENT
Contract No.: AG-2020/803
This Agreement is made on December 12, 2020 in Singapore between Bright Ltd ("Party A") and Finch Co., Ltd. ("Party B").
2. Term. This Agreement shall commence on December 1, 2020 and shall remain in force until December 1, 2023.
3. Price. Party A shall pay Party B a total amount of USD 194,550.00 in equal instalments.
"""
BILL = """
BILL OF LADING
Shipper|B/L No. OOLU468514586
MERIDIAN TEXTILES CO.
27 HARBOUR STREET
Ocean Vessel / Voyage No.|Port of Loading
MAERSK ELBA / 485S|BUSAN, KOREA
Container No.|Gross Weight
CSQU3054383|18,150.00 KGS 8.438 CBM
CSQU 305438 3|1559 CARTONS
"""
OBITUARY = """
OBITUARY
Paul George Kowalski
Paul George Kowalski, 95, of York, passed away peacefully on March 27, 2025, surrounded by family.
Born on February 4, 1930 in a small village by the sea.
A memorial service will be held on April 3, 2025 at 9:30 AM at St. Andrew's Church, York.
"""
CHINESE_OBITUARY = """
讣告
谢平女士因病医治无效，于2022年2月25日在杭州逝世，享年65岁。
谢平女士生于1956年11月22日，为人正直。
兹定于2022年3月2日下午2时30分在杭州安贤园举行告别仪式。
"""
LETTER = """
Northgate Trading Inc.
Dear Ms. Keller,
thank you for your letter of 3 March 2025. Our manager will visit you in Leeds next week.
She will bring the samples that you asked for, and answer your questions.
Please call +44 20 7946 0000 if the day does not suit you.
Yours sincerely,
Anna Novak
"""


def found(text: str, name: str) -> Extraction:
    pages, schema = [page(text)], TYPES.named(name)
    return answer(pages, schema, proposed(pages, schema))


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        (
            "bank_card",
            BANK_CARD,
            {"number": "6259122109026546638", "bank": "东方商业银行", "name": "LIU MIN", "valid_thru": "2028-04"},
        ),
        (
            "business_card",
            BUSINESS_CARD,
            {
                "company": "北京晨光物流有限公司",
                "name": "徐志强",
                "title": "技术顾问",
                "phones": ["13864391381", "01049167862"],
                "fax": "01049167863",
                "email": "zhangmin@huayuan.com.cn",
                "website": "www.huayuan.com.cn",
                "address": "北京市滨江大道618号18层",
            },
        ),
        (
            "train_ticket",
            TICKET,
            {
                "from_station": "成都东站",
                "to_station": "武汉站",
                "train_number": "T5733",
                "date": "2025-04-12",
                "time": "08:04",
                "seat": "04车05B号",
                "seat_class": "二等座",
                "price": "1169.50",
                "name": "程军",
                "id_number": "5101071998****9046",
                "ticket_number": "G921896",
            },
        ),
        (
            "contract",
            CONTRACT,
            {
                "title": "采购合同",
                "number": "HT-2024-3730",
                "party_a": "成都天和物流有限公司",
                "party_b": "广州晨光文化传媒有限公司",
                "date": "2024-04-26",
                "place": "北京市",
                "start_date": "2024-05-01",
                "end_date": "2027-05-01",
                "term": "自2024年5月1日起至2027年5月1日止",
                "amount": "8053000.00",
                "amount_in_words": "8053000.00",
            },
        ),
        (
            "contract",
            AGREEMENT,
            {
                "title": "SUPPLY AGREEMENT",
                "number": "AG-2020/803",
                "party_a": "Bright Ltd",
                "party_b": "Finch Co., Ltd.",
                "date": "2020-12-12",
                "place": "Singapore",
                "start_date": "2020-12-01",
                "end_date": "2023-12-01",
                "amount": "194550.00",
            },
        ),
        (
            "bill_of_lading",
            BILL,
            {
                "bl_number": "OOLU468514586",
                "shipper": "MERIDIAN TEXTILES CO. 27 HARBOUR STREET",
                "vessel": "MAERSK ELBA",
                "voyage": "485S",
                "port_of_loading": "BUSAN, KOREA",
                "containers": ["CSQU3054383"],
                "packages": "1559 CARTONS",
                "gross_weight": "18150 kg",
                "measurement": "8.438 m3",
            },
        ),
        (
            "obituary",
            OBITUARY,
            {
                "name": "Paul George Kowalski",
                "age": 95,
                "birth_date": "1930-02-04",
                "death_date": "2025-03-27",
                "service_date": "2025-04-03",
                "service_time": "09:30",
                "service_place": "St. Andrew's Church",
            },
        ),
        (
            "obituary",
            CHINESE_OBITUARY,
            {
                "name": "谢平",
                "age": 65,
                "birth_date": "1956-11-22",
                "death_date": "2022-02-25",
                "service_date": "2022-03-02",
                "service_time": "14:30",
                "service_place": "杭州安贤园",
            },
        ),
    ],
)
def test_the_fields_of_a_paper(name: str, text: str, wanted: dict[str, object]) -> None:
    extraction = found(text, name)
    assert {key: value for key, value in extraction.data.items() if value not in (None, [])} == wanted
    assert all(check.passed for check in extraction.checks)
    assert classify([page(text)], TYPES).name == name


def test_papers_of_no_type_stay_unknown() -> None:
    others = (LETTER, "EXIT\nPLATFORM 3", "chapter one\nIt was a manager who said so.", "银行\n您好")
    assert [classify([page(text)], TYPES).name for text in others] == [""] * len(others)


def test_an_address_of_a_card_stands_without_its_label() -> None:
    labels = ("地址：", "联系地址:", "厂址 ", "总部地址：", "地 址：", "住址", "Add: ", "地址/Address: ")
    cards = {each: f"张三 经理\n北京大华有限公司\n{each}北京市海淀区中关村大街12号" for each in labels}
    read = {each: found(card, "business_card").data["address"] for each, card in cards.items()}
    assert read == dict.fromkeys(labels, "北京市海淀区中关村大街12号")


def test_every_wrong_digit_of_a_card_and_a_container_is_told() -> None:
    missed = []
    for text, number, name in (
        (BANK_CARD, "6259 1221 0902 6546 638", "bank_card"),
        (BILL, "CSQU3054383", "bill_of_lading"),
    ):
        for at, letter in enumerate(number):
            if letter.isdigit():
                changed = number[:at] + str((int(letter) + 1) % 10) + number[at + 1 :]
                extraction = found(text.replace(number, changed), name)
                if all(check.passed for check in extraction.checks) or extraction.status.value != "needs_review":
                    missed.append(changed)
    assert not missed


def test_a_term_or_age_that_does_not_fit_is_told() -> None:
    broken = (
        (CONTRACT.replace("2027年5月", "2021年5月"), "contract", "term_in_order"),
        (CONTRACT.replace("8,053,000", "8,063,000"), "contract", "amount_in_words"),
        (OBITUARY.replace(" 95,", " 85,"), "obituary", "age_of_dates"),
        ("签发机关 北京市公安局\n有效期限 2015.06.01-2037.06.01", "cn_id_card", "id_validity_period"),
    )
    missed = [
        code
        for text, name, code in broken
        if code not in {check.code for check in found(text, name).checks if not check.passed}
    ]
    assert not missed
    fits = found("签发机关 北京市公安局\n有效期限 2015.06.01-长期", "cn_id_card")
    assert [(check.code, check.passed) for check in fits.checks] == [("id_validity_period", True)]


@pytest.mark.parametrize(
    ("kind", "text", "wanted"),
    [
        ("phone_number", "Tel +44 (0)20 7946 0958 Fax 010-4916 7862", ["+442079460958", "01049167862"]),
        ("phone_number", "2024-01-02 and 12:30, No. 62704", []),
        ("email", "Anna.Novak @example.com", ["anna.novak@example.com"]),
        ("web", "https://www.example.com/a/ x@www.example.com", ["https://www.example.com/a"]),
        ("month", "04/28 12/2031 13/28 01/02/03", ["2028-04", "2031-12"]),
        ("weight", "18,450.50 KGS, 3 t, 12 MT, 5 KGB", ["18450.5 kg", "12 t"]),
        ("container", "CSQU 305438 3, C5QU3O54383, CONUMBERISS1", ["CSQU3054383", "CSQU3054383"]),
        ("bank_card", "6222 0212 3456 7890 123; 12345678901; x622202123456789012", ["6222021234567890123"]),
        ("cn_id_masked", "5101071998****9046 程军", ["5101071998****9046"]),
        ("time", "下午2时30分 上午10点 晚上8点半", ["14:30", "10:00", "20:30"]),
    ],
)
def test_values_of_identifiers_and_measures(kind: str, text: str, wanted: list[str]) -> None:
    assert [KINDS[kind].json(value) for value in KINDS[kind].find(text)] == wanted


def test_a_passport_whose_print_says_something_else() -> None:
    zone = "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<\nL898902C36UTO7408122F1204159ZE184226B<<<<<10"
    head = (
        "护照 PASSPORT\nPassport No.|Surname / Nom\nL898902C3|{surname}\nDate of birth|Given names\n{born}|ANNA MARIA\n"
    )
    same = found(head.format(born="12 AUG 1974", surname="ERIKSSON") + zone, "passport")
    assert [(check.code, check.passed) for check in same.checks] == [
        ("mrz_check_digits", True),
        ("mrz_matches_print", True),
    ]
    other = found(head.format(born="12 AUG 1975", surname="ERIKSSON") + zone, "passport")
    check = other.checks[-1]
    assert (check.passed, check.paths, other.status.value) == (False, ("/birth_date",), "needs_review")
    assert other.fields["/birth_date"].status.value == "conflict"


VARIANTS: tuple[tuple[str, str, dict[str, object]], ...] = (
    (
        "bank_card",
        "ICBC 中国工商银行|UnionPay\n4539|0160|0748|9030\nMONTH/YEAR 12/30\nZHANG SAN\n借记卡",
        {"number": "4539016007489030", "name": "ZHANG SAN", "valid_thru": "2030-12", "bank": "ICBC 中国工商银行"},
    ),
    (
        "bank_card",
        "Deutsche Bank\nJOHN Q PUBLIC\n4539 0160 0748 9030\nVALID FROM 10/25|EXPIRES END 10/28\nMastercard",
        {"name": "JOHN Q PUBLIC", "valid_thru": "2028-10"},
    ),
    (
        "business_card",
        (
            "李 明\n高级工程师\n深圳市腾飞电子科技有限公司\nM: 138 0013 8000\nT: 0755-8888 6666-801\n"
            "F: 0755-8888 6667\n"
            "E: liming@tengfei.com\nA: 深圳市南山区科技园\n科苑路15号A座8楼"
        ),
        {
            "name": "李明",
            "phones": ["13800138000", "075588886666"],
            "fax": "075588886667",
            "address": "深圳市南山区科技园科苑路15号A座8楼",
        },
    ),
    (
        "business_card",
        (
            "ACME Industries Inc.\nJohn A. Smith, PhD\nSenior Software Engineer\n123 Main Street, Suite 400\n"
            "San Francisco, CA 94105\nCell: (415) 555-0199\njohn.smith@acme.com | www.acme.com"
        ),
        {"name": "John A. Smith", "address": "123 Main Street, Suite 400, San Francisco, CA 94105"},
    ),
    (
        "business_card",
        (
            "王伟 总经理\nWang Wei General Manager\n北京华源贸易有限公司\n电话/Tel: 010-88889999\n"
            "邮箱/Email: ww@huayuan.cn\n"
            "地址/Add: 北京市海淀区中关村大街1号"
        ),
        {"name": "王伟", "title": "总经理", "address": "北京市海淀区中关村大街1号"},
    ),
    (
        "train_ticket",
        (
            "Z99K001234|售\n北京站|T109次|上海站\n2019年12月30日20:05开|12车008号中铺\n￥304.50元|新空调硬卧\n"
            "仅供报销使用\n"
            "110105198501011234 李小明"
        ),
        {"from_station": "北京站", "seat": "12车008号中铺", "seat_class": "新空调硬卧", "name": "李小明"},
    ),
    (
        "train_ticket",
        "电子发票（铁路电子客票）\n北京南|G3|上海\n2025年03月15日|08:00开|03车07A号|一等座\n票价：￥969.00",
        {"from_station": "北京南", "to_station": "上海", "time": "08:00", "price": "969.00"},
    ),
    (
        "contract",
        (
            "劳动合同书\n编号：LD2024-001\n甲 方|北京天和科技有限公司\n法定代表人：王强\n乙 方|李明\n"
            "本合同于2024年3月1日生效，至2027年2月28日终止。\n签订日期：2024 年 2 月 28 日"
        ),
        {"party_a": "北京天和科技有限公司", "party_b": "李明", "end_date": "2027-02-28", "date": "2024-02-28"},
    ),
    (
        "contract",
        (
            "LEASE AGREEMENT\n"
            'This Lease Agreement ("Agreement") is entered into as of the 1st day of June 2024,\nby and between:\n'
            "Landlord: Oakfield Homes LLC\nTenant: Maria Rossi\n"
            "The term of this lease begins on June 1, 2024 and ends on May 31, 2025.\nMonthly rent: $1,850.00"
        ),
        {"party_a": "Oakfield Homes LLC", "party_b": "Maria Rossi", "date": "2024-06-01", "end_date": "2025-05-31"},
    ),
    (
        "bill_of_lading",
        (
            "提单 BILL OF LADING\n托运人 Shipper|提单号 B/L NO.:COSU6001234560\n宁波远航贸易有限公司\n"
            "船名 Vessel|航次 Voyage\n"
            "COSCO STAR|045E\n装货港 Port of loading|卸货港 Port of discharge\nNINGBO|ROTTERDAM"
        ),
        {"shipper": "宁波远航贸易有限公司", "bl_number": "COSU6001234560", "vessel": "COSCO STAR", "voyage": "045E"},
    ),
    (
        "bill_of_lading",
        (
            "BILL OF LADING\n2. Consignee (Complete Name and Address)\nBETA IMPORT GMBH\nHAMBURG\n"
            "Vessel and Voyage No.|Port of Loading\n"
            "MSC OSCAR V.123W|NINGBO\nPlace and Date of Issue: NINGBO 12 MAR 2024"
        ),
        {"consignee": "BETA IMPORT GMBH HAMBURG", "vessel": "MSC OSCAR", "voyage": "123W", "issue_place": "NINGBO"},
    ),
    (
        "obituary",
        (
            "讣告\n我们敬爱的父亲张建国同志，因病于2023年12月5日凌晨3时在家中去世，终年88岁。\n"
            "遗体告别仪式定于2023年12月8日上午9点在八宝山殡仪馆举行。"
        ),
        {
            "name": "张建国",
            "death_date": "2023-12-05",
            "age": 88,
            "service_time": "09:00",
            "service_place": "八宝山殡仪馆",
        },
    ),
)


def test_papers_that_look_different() -> None:
    wrong = []
    for name, text, wanted in VARIANTS:
        data = found(text, name).data
        if got := {key: data[key] for key, value in wanted.items() if data[key] != value}:
            wrong.append((name, got))
        if classify([page(text)], TYPES).name != name:
            wrong.append((name, {"type": classify([page(text)], TYPES).name}))
    assert not wrong


def test_a_station_on_the_left_is_the_first_though_it_stands_lower() -> None:
    """In a picture that was turned, the right one is a row above."""
    lines = (
        Line("上海虹桥站", ((500, 80), (700, 80), (700, 120), (500, 120)), 1.0),
        Line("北京南站", ((90, 110), (250, 110), (250, 150), (90, 150)), 1.0),
        Line("G123", ((300, 96), (400, 96), (400, 136), (300, 136)), 1.0),
    )
    pages, schema = [PageResult(0, lines=lines)], TYPES.named("train_ticket")
    data = answer(pages, schema, proposed(pages, schema)).data
    assert (data["from_station"], data["to_station"]) == ("北京南站", "上海虹桥站")


def test_scrambled_papers_are_no_error() -> None:
    """Parts of papers in any order and of any type: no value that is not printed, and no exception."""
    random = Random(11)
    papers = (BANK_CARD, BUSINESS_CARD, TICKET, CONTRACT, AGREEMENT, BILL, OBITUARY, CHINESE_OBITUARY)
    parts = [part for paper in papers for row in paper.splitlines() for part in row.split("|") if part]
    for _ in range(60):
        rows = [
            "|".join(_cut(random, random.choice(parts)) for _ in range(random.choice((1, 1, 2, 3)))) for _ in range(15)
        ]
        name = random.choice(sorted(TYPES.schemas))
        extraction = found("\n".join(rows), name)
        assert classify([page("\n".join(rows))], TYPES).name in {*TYPES.schemas, ""}
        assert all(field.sources for field in extraction.fields.values() if field.value is not None)


def _cut(random: Random, text: str) -> str:
    start = random.randrange(len(text))
    return text[start : start + random.randrange(1, 60)] if random.random() < 0.5 else text


def test_hostile_texts_are_no_error() -> None:
    """Beginnings of patterns, again and again."""
    for unit in ("between a and ", "born on ", "自从于", "ABCU", "A, 12 ", "*1 ", "a@a.", "1 ", "甲方:", "张三先生"):
        for name in ("bank_card", "business_card", "train_ticket", "contract", "bill_of_lading", "obituary"):
            found((unit * 5000)[:5_000], name)
