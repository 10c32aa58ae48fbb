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
        alone = sum(charge.tokens > 0 for charge in charges) <= 1
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
    ledger.seen(1.0)
    assert ledger.fits(1_000_000)
    ledger.capacity = 2_000_000
    assert not ledger.fits(1_000_000)


def test_what_others_hold_at_the_engine_is_not_promised_again() -> None:
    ledger = Ledger(1000)
    ledger.charge(200)
    ledger.seen(0.7)
    assert ledger.foreign == 500
    assert ledger.fits(150)
    assert not ledger.fits(151)


def test_a_reading_of_works_that_have_ended_is_not_taken_for_others() -> None:
    ledger = Ledger(1000)
    ended = ledger.charge(800)
    ended.end()
    ledger.charge(10)
    ledger.seen(0.8)
    assert ledger.foreign == 0


def test_others_are_forgotten_with_the_readings() -> None:
    ledger = Ledger(1000)
    ledger.charge(10)
    ledger.seen(1.0)
    assert not ledger.fits(10)
    ledger.seen(None)
    assert ledger.fits(10)


def test_however_much_others_hold_one_work_gets_through() -> None:
    ledger = Ledger(1000)
    ledger.seen(1.0)
    assert ledger.fits(10)
