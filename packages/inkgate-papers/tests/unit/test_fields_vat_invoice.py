"""Chinese VAT invoices: by the boxes of their forms, and by their QR codes."""

from __future__ import annotations

from dataclasses import replace

from inkgate.codes.contents import content_of
from inkgate.fields.classify import classify
from inkgate.fields.document_types import DocumentTypes
from inkgate.fields.extract import answer
from inkgate.fields.kinds.chinese import tax_number_holds
from inkgate.fields.proposed import proposed
from inkgate.fields.schema import FieldSchema
from inkgate_client.fields.values import Extraction, FieldStatus, Match
from inkgate_client.types import Barcode, Block, BlockType, Line, PageResult
from support.receipts import page

TYPES = DocumentTypes.load()
SCHEMA = TYPES.named("cn_vat_invoice")
PAPER = """
增值税电子普通发票|发票代码:044031900111
购|发票号码:08375612
买|开票日期: 2020年03月18日
方|校 验 码:70354 46118 93214 36012
名 称:深圳华信科技有限公司|密
纳税人识别号:91440300MA5DB1CG3C|区
货物或应税劳务、服务名称|金额|税率|税额
*餐饮服务*餐费|1886.79|6%|113.21
合 计|¥1886.79|¥113.21
价税合计（大写）|⊗贰仟圆整|（小写）¥2000.00
称:|北京天元贸易有限公司
纳税人识别号:|911101085510101011
"""
QR = "01,10,044031900111,08375612,1886.79,20200318,70354461189321436012,2F3C,"
DIGITAL = """
电子发票（普通发票）|发票号码：24442000000012345678
开票日期：2024年01月31日
购买方信息|名称：深圳华信科技有限公司|名称：北京天元贸易有限公司
统一社会信用代码/纳税人识别号：91440300MA5DB1CG3C|统一社会信用代码/纳税人识别号：911101O855IO1O1011
项目名称|金额|税率|税额
合计|¥1886.79|¥113.21
价税合计（大写）|贰仟圆整|（小写）¥2000.00
"""
SHARED = {
    "buyer_name": "深圳华信科技有限公司",
    "buyer_tax_number": "91440300MA5DB1CG3C",
    "seller_name": "北京天元贸易有限公司",
    "seller_tax_number": "911101085510101011",
    "amount": "1886.79",
    "tax": "113.21",
    "total": "2000.00",
    "total_in_words": "2000.00",
}


def found(read: PageResult, schema: FieldSchema = SCHEMA) -> Extraction:
    return answer([read], schema, proposed([read], schema))


def coded(read: PageResult, text: str = QR) -> PageResult:
    """The page with a QR code."""
    content, parsed = content_of(text)
    corners = ((5.0, 5.0), (95.0, 5.0), (95.0, 95.0), (5.0, 95.0))
    code = Barcode("QRCode", text, corners, content, parsed)
    return replace(read, blocks=(Block(BlockType.BARCODE, (5, 5, 95, 95), (), "", "", barcode=code),))


def turned(read: PageResult, slope: float) -> PageResult:
    """The page as photographed at a slant."""

    def line(each: Line) -> Line:
        first, second, third, fourth = ((x, y + slope * x) for x, y in each.quad)
        return replace(each, quad=(first, second, third, fourth))

    return replace(read, lines=tuple(map(line, read.lines)))


def test_both_forms_are_read_level_or_at_a_slant() -> None:
    paper = {
        "number": "08375612",
        "code": "044031900111",
        "date": "2020-03-18",
        "check_code": "70354 46118 93214 36012",
    }
    digital = {"number": "24442000000012345678", "code": None, "date": "2024-01-31", "check_code": None}
    for text, own in ((PAPER, paper), (DIGITAL, digital)):
        for slope in (0.0, 0.03, -0.03):
            result = found(turned(page(text), slope))
            read = {name: result.data[name] for name in (*SHARED, *own)}
            assert read == SHARED | own
            assert all(check.passed for check in result.checks)
            assert {"amount_plus_tax", "amount_in_words", "tax_number_check_digits"} <= {
                check.code for check in result.checks
            }


def test_a_code_is_certain_and_its_place_is_the_codes() -> None:
    result = found(coded(page(PAPER)))
    number = result.fields["/number"]
    assert (number.value, number.origin, number.confidence) == ("08375612", "code", 1.0)
    assert (number.sources[0].match, number.sources[0].box) == (Match.CODE, (5, 5, 95, 95))
    assert result.data["check_code"] == "70354461189321436012"
    (check,) = (check for check in result.checks if check.code == "code_mismatch")
    assert check.passed
    assert set(check.paths) == {"/number", "/code", "/date", "/check_code", "/amount"}
    blank = found(coded(PageResult(0)))
    assert blank.data["number"] == "08375612"
    assert not any(check.code == "code_mismatch" for check in blank.checks)


def test_print_that_contradicts_the_code_is_a_conflict() -> None:
    failures: list[tuple[str, object]] = []
    for path, old, new in (
        ("/number", "08375612", "08375613"),
        ("/code", "044031900111", "044031900112"),
        ("/date", "2020年03月18日", "2020年03月19日"),
        ("/check_code", "36012", "36013"),
        ("/amount", "合 计|¥1886.79", "合 计|¥8886.79"),
    ):
        result = found(coded(page(PAPER.replace(old, new))))
        field = result.fields[path]
        flagged = any(c.code == "code_mismatch" and not c.passed and c.paths == (path,) for c in result.checks)
        if field.status is not FieldStatus.CONFLICT or not flagged or result.status != "needs_review":
            failures.append((path, field.status))
        if not any(new.split("|")[-1] in text or text in new for text in field.alternatives):
            failures.append((path, field.alternatives))
    assert not failures


def test_codes_fill_fields_of_other_schemas_by_their_names() -> None:
    payment = "BCD\n002\n1\nSCT\nBFSWDE33BER\nWikimedia\nDE33100205000001194700\nEUR123.4\n\n\nDonation"
    schema = FieldSchema.of_names(["iban", "total_amount", "reference", "colour"])
    result = found(coded(page("Thank you"), payment), schema)
    assert result.data == {
        "iban": "DE33100205000001194700",
        "total_amount": "123.40",
        "reference": "Donation",
        "colour": None,
    }


def test_the_type_is_found_by_words_or_by_the_code() -> None:
    for read in (page(PAPER), page(DIGITAL), coded(page("x"))):
        assert classify([read], TYPES).name == "cn_vat_invoice"


def test_one_wrong_character_of_a_tax_number_is_noticed() -> None:
    number = "91440300MA5DB1CG3C"
    assert tax_number_holds(number)
    assert tax_number_holds("440300123456789")  # an older one, without check character
    wrong = [number[:at] + ("2" if number[at] != "2" else "3") + number[at + 1 :] for at in range(18)]
    assert not any(tax_number_holds(each) for each in wrong)
    result = found(page(PAPER.replace(number, wrong[4])))
    assert result.fields["/buyer_tax_number"].status is FieldStatus.INVALID
    assert result.fields["/seller_tax_number"].status is FieldStatus.FOUND
