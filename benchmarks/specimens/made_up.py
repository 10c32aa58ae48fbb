"""Made-up data: names, places, companies, and numbers whose check digits hold. Nobody's."""

from __future__ import annotations

from datetime import date, timedelta
from random import Random

SURNAMES = [
    "王",
    "李",
    "张",
    "刘",
    "陈",
    "杨",
    "赵",
    "黄",
    "周",
    "吴",
    "徐",
    "孙",
    "胡",
    "朱",
    "高",
    "林",
    "何",
    "郭",
    "马",
    "罗",
    "梁",
    "宋",
    "郑",
    "谢",
    "韩",
    "唐",
    "冯",
    "董",
    "萧",
    "程",
    "曹",
    "袁",
    "邓",
    "许",
    "傅",
]
GIVEN = [
    "伟",
    "芳",
    "秀英",
    "敏",
    "静",
    "丽",
    "强",
    "磊",
    "军",
    "洋",
    "勇",
    "艳",
    "杰",
    "娟",
    "涛",
    "明",
    "超",
    "秀兰",
    "霞",
    "平",
    "刚",
    "桂英",
    "建国",
    "志强",
    "婷婷",
    "子轩",
    "雨桐",
    "浩然",
    "思远",
]
PINYIN = {
    "王": "WANG", "李": "LI", "张": "ZHANG", "刘": "LIU", "陈": "CHEN", "杨": "YANG", "赵": "ZHAO", "黄": "HUANG",
    "周": "ZHOU", "吴": "WU", "徐": "XU", "孙": "SUN", "胡": "HU", "朱": "ZHU", "高": "GAO", "林": "LIN",
}  # fmt: skip
PINYIN_GIVEN = {
    "伟": "WEI",
    "芳": "FANG",
    "敏": "MIN",
    "静": "JING",
    "强": "QIANG",
    "建国": "JIANGUO",
    "志强": "ZHIQIANG",
}
NATIONS = ["汉", "汉", "汉", "回", "满", "壮", "维吾尔", "苗", "彝", "土家", "藏", "蒙古", "朝鲜"]
REGIONS = {
    "110105": ("北京市朝阳区", "北京市公安局朝阳分局"),
    "310115": ("上海市浦东新区", "上海市公安局浦东分局"),
    "440106": ("广东省广州市天河区", "广州市公安局天河分局"),
    "330106": ("浙江省杭州市西湖区", "杭州市公安局西湖分局"),
    "510107": ("四川省成都市武侯区", "成都市公安局武侯区分局"),
    "420111": ("湖北省武汉市洪山区", "武汉市公安局洪山区分局"),
}
STREETS = ["建国路", "人民路", "中山大道", "解放西路", "学院路", "长江路", "和平街", "文三路", "科技园南路", "滨江大道"]
FIRST = [
    "Anna",
    "Peter",
    "Laura",
    "Thomas",
    "Elena",
    "Martin",
    "Julia",
    "Robert",
    "Margaret",
    "Henry",
    "Alice",
    "George",
    "Sofia",
    "Daniel",
    "Ingrid",
    "Paul",
]
LAST = [
    "Hartley",
    "Novak",
    "Schmidt",
    "Lindqvist",
    "Moreau",
    "Kowalski",
    "Fischer",
    "Bennett",
    "Rossi",
    "Okafor",
    "Larsen",
    "Whitfield",
    "Keller",
    "Dubois",
]
STATIONS = (
    ("北京南", "Beijingnan"), ("上海虹桥", "Shanghaihongqiao"), ("南京南", "Nanjingnan"), ("杭州东", "Hangzhoudong"),
    ("广州南", "Guangzhounan"), ("深圳北", "Shenzhenbei"), ("武汉", "Wuhan"), ("成都东", "Chengdudong"),
    ("西安北", "Xianbei"), ("长沙南", "Changshanan"), ("郑州东", "Zhengzhoudong"), ("天津", "Tianjin"),
)  # fmt: skip
PORTS = [
    "SHANGHAI, CHINA",
    "NINGBO, CHINA",
    "ROTTERDAM, NETHERLANDS",
    "HAMBURG, GERMANY",
    "BUSAN, KOREA",
    "SINGAPORE",
    "LOS ANGELES, USA",
]
VESSELS = ["OCEAN HARMONY", "NORTHERN STAR", "MSC AURELIA", "EVER BRIGHT", "COSCO PACIFICA", "MAERSK ELBA"]
BANKS = ["中国样本银行", "东方商业银行", "江南农村商业银行", "北海银行", "西部发展银行"]
BANKS_EN = ["NORTH HARBOUR BANK", "FIRST MERIDIAN BANK", "BANK OF ALDERLEY"]
TRADES = ["科技", "贸易", "信息技术", "建筑工程", "文化传媒", "机械制造", "物流"]
BRANDS = ["远航", "晨光", "恒达", "华源", "鼎盛", "博雅", "天和", "瑞丰"]
CITIES = ["北京", "上海", "广州", "杭州", "成都", "武汉"]
COMPANIES = [
    "Brightwater Logistics Ltd",
    "Alder & Finch GmbH",
    "Northgate Trading Inc.",
    "Meridian Textiles Co., Ltd.",
    "Oakfield Systems LLC",
]
AREA_CODES = {"北京": "010", "上海": "021", "广州": "020", "杭州": "0571", "成都": "028", "武汉": "027"}


def chinese_name(random: Random) -> str:
    return random.choice(SURNAMES) + random.choice(GIVEN)


def english_name(random: Random) -> str:
    return f"{random.choice(FIRST)} {random.choice(LAST)}"


def company(random: Random) -> str:
    return f"{random.choice(CITIES)}{random.choice(BRANDS)}{random.choice(TRADES)}有限公司"


def day(random: Random, first: int, last: int) -> date:
    """A day from the year `first` to the end of `last`."""
    begun = date(first, 1, 1)
    return begun + timedelta(days=random.randrange((date(last, 12, 31) - begun).days))


def digits(random: Random, count: int) -> str:
    return "".join(random.choice("0123456789") for _ in range(count))


def identity_number(random: Random, region: str, born: date, *, man: bool) -> str:
    """GB 11643: the last character by ISO 7064, MOD 11-2."""
    order = random.randrange(10, 998) // 2 * 2 + man
    first, rest = f"{region}{born:%Y%m%d}{order:03}", 0
    for digit in first:
        rest = (rest + int(digit)) * 2 % 11
    return first + "0123456789X"[(12 - rest) % 11]


def card_number(random: Random) -> str:
    """16 or 19 digits with a Luhn check digit."""
    length = random.choice((16, 19))
    first = random.choice(("622202", "621700", "625912", "453901", "520011")) + digits(random, length - 7)
    total = 0
    for at, digit in enumerate(reversed(first)):
        doubled = int(digit) * (2 if at % 2 == 0 else 1)
        total += doubled - 9 if doubled > 9 else doubled
    return first + str(-total % 10)


def container_number(random: Random) -> str:
    """ISO 6346. Numbers whose remainder is 10 are not given to containers."""
    letters = "0123456789A?BCDEFGHIJK?LMNOPQRSTU?VWXYZ"
    while True:
        first = "".join(random.choice("ABCDEGHKLMNOPRSTUWXY") for _ in range(3)) + "U" + digits(random, 6)
        rest = sum(letters.index(letter) * 2**at for at, letter in enumerate(first)) % 11
        if rest < 10:
            return first + str(rest)


def mrz_digit(text: str) -> str:
    """ICAO Doc 9303, part 3, 4.9."""
    values = (0 if letter == "<" else int(letter, 36) for letter in text)
    return str(sum(value * (7, 3, 1)[at % 3] for at, value in enumerate(values)) % 10)


UNITS = ("", "拾", "佰", "仟")
NUMERALS = "零壹贰叁肆伍陆柒捌玖"


def in_words(yuan: int) -> str:
    """A whole amount below a hundred million in words: 壹万贰仟元整."""
    high, low = divmod(yuan, 10_000)
    words = _group(high) + "万" if high else ""
    if low:
        words += ("零" if high and low < 1000 else "") + _group(low)
    return words + "元整"


def _group(number: int) -> str:
    words, gap = "", False
    for at in range(3, -1, -1):
        digit = number // 10**at % 10
        if digit:
            words += ("零" if gap and words else "") + NUMERALS[digit] + UNITS[at]
            gap = False
        else:
            gap = True
    return words
