"""Bills whose print doesn't add up: a sum that is a coin off, or a line of the items that is missing."""

import random
from dataclasses import replace
from decimal import Decimal

from training.fields.bill import Bill

_OFF_BY_A_COIN, _CUT = 0.04, 0.04
"""Shares of bills with a total that is a coin off, and with a line cut."""


def odd(rng: random.Random, bill: Bill) -> Bill:
    """The bill, or in a few cases one that doesn't add up; what it says is what is printed."""
    chance = rng.random()
    if chance < _OFF_BY_A_COIN:
        coin = bill.region.unit * rng.choice((-1, 1, 2))
        sums = bill.sums
        if abs(sums.total) <= Decimal(10) * bill.region.unit:
            return bill
        due = None if sums.due is None else sums.due + coin
        change = None if sums.change is None else max(Decimal(0), sums.change - coin)
        return replace(bill, sums=replace(sums, total=sums.total + coin, due=due, change=change))
    if chance < _OFF_BY_A_COIN + _CUT and len(bill.items) > 2:
        cut = rng.randrange(len(bill.items))
        return replace(bill, items=tuple(item for n, item in enumerate(bill.items) if n != cut))
    return bill
