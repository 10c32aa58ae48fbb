"""The model of vLLM's scheduler: every block is somewhere, every token is made, and the latest gives way."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.simulate.batch import Batch, Flags, Sequence
from benchmarks.simulate.workload import PageWork


def _page(image_tokens: int, output_tokens: int) -> PageWork:
    return PageWork(image_tokens * 1024 / 1e6, image_tokens, output_tokens)


def _held(batch: Batch) -> int:
    return sum(sequence.blocks for sequence in batch.running)


def _drain(batch: Batch) -> list[Sequence]:
    done: list[Sequence] = []
    while (step := batch.schedule()).chunks:
        done += batch.commit(step, step.repeats)
        assert batch.free + _held(batch) == batch.blocks
    return done


@given(
    st.lists(st.tuples(st.integers(1, 300), st.integers(1, 200)), min_size=1, max_size=30),
    st.integers(500, 2000),
    st.integers(1, 12),
    st.integers(16, 400),
    st.randoms(use_true_random=False),
)
def test_blocks_are_conserved_and_nobody_is_lost(
    shapes: list[tuple[int, int]], kv_tokens: int, seats: int, batched_tokens: int, chance: random.Random
) -> None:
    batch = Batch(Flags(max_num_seqs=seats, max_num_batched_tokens=batched_tokens), kv_tokens)
    sequences = [Sequence(_page(*shape)) for shape in shapes if batch.fits(_page(*shape))]
    coming = list(sequences)
    inside: list[Sequence] = []
    done: list[Sequence] = []
    while coming or inside:
        if coming and chance.random() < 0.5:
            batch.add(sequence := coming.pop())
            inside.append(sequence)
        if inside and chance.random() < 0.1:
            batch.drop(inside.pop(chance.randrange(len(inside))))
        step = batch.schedule()
        assert sum(tokens for _, tokens in step.chunks) <= batched_tokens
        assert len(batch.running) <= seats
        finished = batch.commit(step, chance.randint(1, step.repeats)) if step.chunks else []
        inside = [sequence for sequence in inside if sequence not in finished]
        done += finished
        assert batch.free + _held(batch) == batch.blocks
        assert batch.waiting + len(batch.running) == len(inside)
    assert batch.free == batch.blocks
    assert all(sequence.made == sequence.page.output_tokens for sequence in done)
    assert batch.tokens == sum(sequence.made for sequence in sequences)


def test_steps_in_one_go_are_the_same_as_one_by_one() -> None:
    pages = [_page(100 + 37 * number, 20 + 53 * number % 90) for number in range(12)]
    at_once, one_by_one = (Batch(Flags(max_num_seqs=6), 1600) for _ in range(2))
    order: list[list[int]] = []
    for batch, most in ((at_once, 10**9), (one_by_one, 1)):
        sequences = [Sequence(page) for page in pages]
        for sequence in sequences:
            batch.add(sequence)
        ended: list[int] = []
        while (step := batch.schedule()).chunks:
            ended += [sequences.index(sequence) for sequence in batch.commit(step, min(step.repeats, most))]
        order.append(ended)
    assert order[0] == order[1]
    assert len(order[0]) == len(pages)
    assert at_once.preemptions == one_by_one.preemptions > 0


def test_the_latest_is_preempted_and_computed_anew() -> None:
    batch = Batch(Flags(), 20 * 16)
    first, second = Sequence(_page(150, 100)), Sequence(_page(100, 60))
    batch.add(first)
    batch.add(second)
    assert _drain(batch) == [first, second]
    assert batch.preemptions == 1
    assert second.made == 60


def test_a_prompt_longer_than_a_step_is_read_in_chunks() -> None:
    batch = Batch(Flags(max_num_batched_tokens=512), 10_000)
    batch.add(Sequence(_page(1300, 2)))
    prefilled = []
    while (step := batch.schedule()).chunks:
        prefilled.append(step.prefilled)
        batch.commit(step, step.repeats)
    assert prefilled == [512, 512, 276, 0]


@pytest.mark.parametrize(("tokens", "fits"), [(300, True), (330, False)])
def test_a_page_larger_than_the_cache_never_fits(tokens: int, fits: bool) -> None:
    assert Batch(Flags(), 320).fits(_page(tokens, 10)) is fits
