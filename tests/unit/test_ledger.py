"""What is promised of the KV cache, and what others hold of it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from inkgate.serving.ledger import Ledger

TOKENS = st.integers(0, 500)


@given(st.lists(st.tuples(TOKENS, st.booleans())), st.integers(1, 2000))
def test_no_more_than_the_share_is_promised_to_several(works: list[tuple[int, bool]], capacity: int) -> None:
    ledger = Ledger(capacity)
    charges = []
    for tokens, ends in works:
        if ledger.fits(tokens):
            charges.append(ledger.charge(tokens))
        alone = sum(charge.expected > 0 for charge in charges) <= 1
        assert alone or ledger.promised <= 0.85 * capacity
        if ends and charges:
            charges.pop(0).end()


@given(st.lists(st.tuples(TOKENS, TOKENS, st.integers(1, 2))))
def test_whatever_works_use_nothing_is_left_when_they_end(works: list[tuple[int, int, int]]) -> None:
    ledger = Ledger(1000)
    charges = [(ledger.charge(tokens), used, times) for tokens, used, times in works]
    for charge, used, times in charges:
        charge.used(used)
        for _ in range(times):
            charge.end()
        charge.used(used + 1)
    assert ledger.promised == 0


def test_a_work_larger_than_the_whole_runs_alone() -> None:
    ledger = Ledger(100)
    assert ledger.fits(1000)
    charge = ledger.charge(1000)
    assert not ledger.fits(1)
    charge.end()
    assert ledger.fits(1)


def test_a_charge_grows_with_what_is_used_and_never_shrinks() -> None:
    ledger = Ledger(1000)
    charge = ledger.charge(100)
    charge.used(40)
    assert ledger.promised == 100
    charge.used(700)
    assert ledger.promised == 700
    assert not ledger.fits(200)


def test_without_a_capacity_all_fits_until_one_is_learned() -> None:
    ledger = Ledger(None)
    ledger.charge(1_000_000)
    ledger.observe(1.0)
    assert ledger.fits(1_000_000)
    ledger.capacity = 2_000_000
    assert not ledger.fits(1_000_000)


def test_what_others_hold_at_the_engine_is_not_promised_again() -> None:
    ledger = Ledger(1000)
    ledger.charge(200)
    ledger.observe(0.7)
    assert ledger.external_tokens == 500
    assert ledger.fits(150)
    assert not ledger.fits(151)


def test_a_reading_of_works_that_have_ended_is_not_taken_for_others() -> None:
    ledger = Ledger(1000)
    ended = ledger.charge(800)
    ended.end()
    ledger.charge(10)
    ledger.observe(0.8)
    assert ledger.external_tokens == 0


def test_others_are_forgotten_with_the_readings() -> None:
    ledger = Ledger(1000)
    ledger.charge(10)
    ledger.observe(1.0)
    assert not ledger.fits(10)
    ledger.observe(None)
    assert ledger.fits(10)


def test_however_much_others_hold_one_work_gets_through() -> None:
    ledger = Ledger(1000)
    ledger.observe(1.0)
    assert ledger.fits(10)


def test_margins_add_by_their_squares() -> None:
    ledger = Ledger(1000, share=1.0)
    charges = [ledger.charge(140, margin=40) for _ in range(4)]
    assert ledger.promised == 400 + 80
    assert ledger.fits(520 + 24, margin=60)
    assert not ledger.fits(521 + 24, margin=0)
    for charge in charges:
        charge.end()
    assert ledger.promised == 0


def test_one_work_alone_is_promised_all_of_its_margin() -> None:
    ledger = Ledger(1000)
    ledger.charge(140, margin=40)
    assert ledger.promised == 140


def test_what_is_used_beyond_the_expected_is_taken_from_the_margin() -> None:
    ledger = Ledger(1000)
    charge = ledger.charge(140, margin=40)
    promised = []
    for used in (90, 110, 140, 150):
        charge.used(used)
        promised.append((charge.expected, charge.margin, ledger.promised))
    assert promised == [(100, 40, 140), (110, 30, 140), (140, 0, 140), (150, 0, 150)]
    charge.end()
    charge.end()
    assert ledger.promised == 0


@given(
    st.lists(st.tuples(st.integers(0, 500), st.integers(0, 500), st.integers(0, 1500)), max_size=20),
)
def test_whatever_is_used_the_sums_come_back_to_nothing(works: list[tuple[int, int, int]]) -> None:
    ledger = Ledger(10_000)
    charges = [ledger.charge(expected + margin, margin) for expected, margin, _ in works]
    for charge, (_, _, used) in zip(charges, works, strict=True):
        charge.used(used)
        assert ledger.promised >= max(charge.expected for charge in charges)
    for charge in charges:
        charge.end()
    assert ledger.promised == 0
    assert ledger.fits(10**9)


def test_works_that_tell_how_far_they_are_need_not_all_fit_at_their_ends() -> None:
    ledger = Ledger(1000, share=1.0)
    first = ledger.charge(600, growing=500)
    assert not ledger.fits(600, growing=500)
    first.used(500)
    assert ledger.promised == 600
    assert ledger.fits(600, growing=500)
    assert not ledger.fits(600)
    ledger.charge(600, growing=500)
    assert ledger.promised == 600 + 200


def test_a_work_that_passed_all_that_was_expected_may_grow_as_much_again_and_stays() -> None:
    ledger = Ledger(1000, share=1.0)
    charge = ledger.charge(400, margin=100, growing=200)
    charge.used(390)
    assert (charge.expected, charge.margin) == (390, 10)
    charge.used(450)
    assert (charge.expected, charge.margin) == (800, 0)
    assert ledger.fits(200, growing=100)
    assert not ledger.fits(201, growing=100)


def test_what_our_works_are_not_known_to_hold_is_foreign() -> None:
    ledger = Ledger(1000)
    charge = ledger.charge(400, growing=300)
    ledger.observe(0.15)
    assert ledger.external_tokens == 50
    charge.used(150)
    ledger.observe(0.15)
    assert ledger.external_tokens == 0


def test_of_its_last_block_a_work_has_more_than_it_uses() -> None:
    ledger = Ledger(1000, share=1.0)
    ledger.block = 100
    charge = ledger.charge(400, growing=300)
    assert (charge.held, ledger.promised) == (150, 450)
    charge.used(200)
    assert (charge.held, ledger.promised) == (250, 450)
    ledger.observe(0.25)
    assert ledger.external_tokens == 0
