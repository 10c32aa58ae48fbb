"""Generated invoices and receipts: sums add up, halves are apart, and what is printed can be read back."""

import random
from datetime import date
from decimal import Decimal

import pytest
from training.fields import invoice, receipt, words
from training.fields.bill import Bill, Item, make_bill
from training.fields.generate import compose
from training.fields.regions import (
    REGIONS,
    TUNING_REGIONS,
    Region,
    in_chinese,
    pick_region,
    write_date,
    write_number,
)
from training.fields.sheet import Sheet

SEEDS = [(f"7-{n:05}", "tuning" if n % 2 else "judging") for n in range(300)]


def _line_holds(item: Item, unit: Decimal) -> bool:
    """Whether quantity, price and discount give the amount, which is a coin at least."""
    exact = item.quantity * item.unit_price * (100 - item.discount) / 100
    return abs(exact - item.amount) <= unit / 2 or abs(item.amount) == unit


def _mistakes(bill: Bill) -> list[str]:
    sums = bill.sums
    extra = (sums.shipping or 0) - (sums.discount or 0)
    gross = sums.total - (sums.tip or 0) - (sums.rounding or 0)
    checks = {
        "items": sums.items == sum(item.amount for item in bill.items),
        "net": sums.subtotal + sums.tax == gross,
        "prices": sums.items + extra == (sums.subtotal if bill.mode == "added" else gross),
        "taxes": sums.tax == sum(part.tax for part in sums.taxes),
        "bases": not sums.taxes or sums.subtotal == sum(part.base for part in sums.taxes),
        "due": sums.due is None or sums.due == sums.total - (sums.paid or 0) + (sums.previous or 0),
        "change": sums.change is None or sums.cash == sums.total + sums.change,
        "lines": all(_line_holds(item, bill.region.unit) for item in bill.items),
        "coins": all(amount == amount.quantize(bill.region.unit) for amount in (sums.total, sums.tax, sums.subtotal)),
    }
    return [name for name, right in checks.items() if not right]


def test_sums_add_up_to_the_coin() -> None:
    wrong = {}
    for seed, half in SEEDS:
        rng = random.Random(seed)
        for kind in ("invoice", "receipt"):
            bill = make_bill(rng, kind, pick_region(rng), half)  # type: ignore[arg-type]
            if mistakes := _mistakes(bill):
                wrong[seed, kind] = mistakes
    assert not wrong


@pytest.mark.parametrize("layouts", [invoice.LAYOUTS, receipt.LAYOUTS])
def test_halves_share_no_layout_and_judging_has_parts_of_its_own(layouts: dict[str, invoice.Layout]) -> None:
    parts: dict[str, set[object]] = {"tuning": set(), "judging": set()}
    whole: dict[str, set[object]] = {"tuning": set(), "judging": set()}
    for layout in layouts.values():
        fields = [
            (slot, getattr(layout, slot)) for slot in layout.__slots__ if slot not in {"half", "top_box", "when_last"}
        ]
        parts[layout.half] |= set(fields)
        whole[layout.half].add(tuple(fields))
    assert not whole["tuning"] & whole["judging"]
    assert len(parts["judging"] - parts["tuning"]) >= 4


def test_the_tuning_half_never_sees_labels_and_firms_of_the_judging_half() -> None:
    rng = random.Random(1)
    for language in words._data("names.yaml")["languages"]:
        firms = {half: {words.name(rng, half, language, "firm") for _ in range(400)} for half in ("tuning", "judging")}
        assert not firms["tuning"] & firms["judging"], language
    for section, labels in words._data("labels.yaml").items():
        for key, text in labels.items():
            common, own = words._split(text)
            assert own, (section, key)
            assert not set(common) & set(own), (section, key)
            assert {words.label(rng, "tuning", section, key) for _ in range(40)} <= set(common)


def test_words_beside_names_are_no_labels_of_the_judging_half() -> None:
    labels, beside = words._data("labels.yaml"), words._data("neighbours.yaml")
    for language in beside.keys() & labels.keys():
        split = [words._split(text) for text in labels[language].values()]
        common = {word.lower() for pair in split for word in pair[0]}
        own = {word.lower() for pair in split for word in pair[1]} - common
        for key, text in beside[language].items():
            assert not own & {word.strip().lower() for word in text.split(";")}, (language, key)


def test_parts_of_tuning_layouts_are_drawn_for_every_country() -> None:
    for kind, layouts in (("invoice", invoice.LAYOUTS), ("receipt", receipt.LAYOUTS)):
        draw = invoice.draw_invoice if kind == "invoice" else receipt.draw_receipt
        for name, layout in layouts.items():
            if layout.half == "judging":
                continue
            for region in (*REGIONS, *TUNING_REGIONS):
                rng = random.Random(f"{name}-{region.key}")
                bill = make_bill(rng, kind, region, "tuning")  # type: ignore[arg-type]
                sheet, page, _ = draw(rng, bill, name)
                fields = sheet.truth(page)["fields"]
                seller = fields["merchant_name"]
                assert seller, (name, region.key)
                assert "{" not in page.partition("<body")[2], (name, region.key)


def test_a_brand_and_its_firm_are_both_the_seller_of_an_invoice() -> None:
    rng = random.Random(4)
    sheet, page, _ = invoice.draw_invoice(rng, make_bill(rng, "invoice", REGIONS[1], "tuning"), "trading1")
    assert set(sheet.truth(page)["fields"]["merchant_name"]) == set(sheet.printed["merchant_name"])


def test_a_brand_on_a_receipt_is_not_the_firm() -> None:
    rng = random.Random(4)
    sheet, page, _ = receipt.draw_receipt(rng, make_bill(rng, "receipt", REGIONS[1], "tuning"), "chain1")
    assert sheet.truth(page)["fields"]["merchant_name"] == sheet.bill.merchant.name
    assert sheet.printed["brand"]


def _receipts(role: str) -> list[tuple[Sheet, str]]:
    """Receipts of a country that rounds which print an amount of the role."""
    region = next(region for region in REGIONS if region.country == "MY")
    drawn = []
    for seed in range(120):
        rng = random.Random(seed)
        drawn.append(receipt.draw_receipt(rng, make_bill(rng, "receipt", region, "tuning"), "mart2")[:2])
    return [(sheet, page) for sheet, page in drawn if sheet.printed[role]]


def test_a_total_before_its_rounding_is_not_the_total() -> None:
    both = 0
    for sheet, page in _receipts("rounding"):
        sums = sheet.bill.sums
        before = sheet.money("x", sums.total - (sums.rounding or 0))
        shown = before[before.index(">") + 1 :].removesuffix("</span>")
        both += f'<span data-role="other_amount">{shown}</span>' in page and bool(sums.rounding)
        assert f'<span data-role="total">{shown}</span>' not in page or not sums.rounding
    assert both > 5


def test_amounts_in_chinese_words() -> None:
    known = {
        "540": "伍佰肆拾元整",
        "10203.50": "壹万零贰佰零叁元伍角整",
        "1000000": "壹佰万元整",
        "20.06": "贰拾元零陆分",
    }
    assert {amount: in_chinese(Decimal(amount)) for amount in known} == known


def test_the_same_seed_gives_the_same_document() -> None:
    assert compose("3-00001", "tuning")[:2] == compose("3-00001", "tuning")[:2]


def test_fields_are_printed_and_dates_parse() -> None:
    for seed, half in SEEDS:
        name, page, sheet, _ = compose(seed, half)  # type: ignore[arg-type]
        truth = sheet.truth(page)
        fields = truth["fields"]
        date.fromisoformat(fields["date"])
        assert fields.get("due_date", "9999") > fields["date"]
        assert "total" in fields, name
        role = {"amount_due": "due"}
        missing = [key for key in fields if key != "currency" and f'data-role="{role.get(key, key)}"' not in page]
        assert not missing, name
        printed_dates = sheet.printed["date"]
        assert printed_dates[0] == write_date(sheet.bill.dates["date"], sheet.date_form, sheet.bill.region.language)
        for key in {"subtotal", "tax", "total", "discount", "shipping", "tip", "paid", "amount_due", "rounding"} & set(
            fields
        ):
            assert Decimal(fields[key]).is_finite(), (name, key)


@pytest.mark.parametrize("region", [*REGIONS, *TUNING_REGIONS], ids=lambda region: region.key)
def test_dates_and_amounts_have_the_form_of_the_country(region: Region) -> None:
    day = date(2024, 3, 5)
    for form in region.dates:
        written = write_date(day, form, region.language)
        assert any(year in written for year in ("2024", "24", "令和6年")), written
        assert not {"month", "yyyy"} & set(written.split()), written
    digits = "".join(c for c in write_number(Decimal("1234567.00"), region) if c.isdigit())
    assert Decimal(digits) == Decimal(1234567).scaleb(region.decimals)
