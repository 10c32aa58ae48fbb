"""Blocks from what the layout network tells of a page's pieces, and the network itself."""

import random

import numpy as np

from inkgate.layout.evidence import Region
from inkgate.layout.order.decode import learned_blocks
from inkgate.layout.order.frame import LayoutPiece
from inkgate.layout.order.network import CLASSES, LEVELS, Prediction, predict
from inkgate.layout.order.tokens import PageTokens, pair_features, token_features
from inkgate_client.types import BlockType, Box
from support.layouts import PAGE, column, prose
from support.layouts import arrange as arrange_page


def pieces(count: int) -> list[LayoutPiece]:
    """Lines each lower than the one before, none of them over another."""
    return [LayoutPiece(i, f"line {i}", 100 * i, 100 + 30 * i, 90 + 100 * i, 120 + 30 * i) for i in range(count)]


def page_of(pieces: list[LayoutPiece]) -> PageTokens:
    """Pieces in no region on a page that ends with them."""
    count = len(pieces)
    return PageTokens(pieces, [None] * count, [(0, 0, 0, 0)] * count, (0, 100, 600, 100 + 30 * count), 20)


def prediction(order: list[int], kinds: list[str], follows: dict[tuple[int, int], float] | None = None) -> Prediction:
    """A network that is rather sure of an order, and sure of types."""
    count = len(kinds)
    rank = np.argsort(order)
    before = np.where(rank[:, None] < rank[None], 0.9, 0.1).astype(np.float32)
    classes = np.full((count, len(CLASSES)), 0.01, np.float32)
    classes[np.arange(count), [CLASSES.index(kind) for kind in kinds]] = 0.9
    chained = np.zeros((count, count), np.float32)
    for (first, second), probability in (follows or {}).items():
        chained[first, second] = probability
    return Prediction(classes, np.full((count, LEVELS), 1 / LEVELS, np.float32), chained, before)


def indexes(pieces: list[LayoutPiece], seen: Prediction) -> list[list[int]]:
    return [[piece.index for piece in block.pieces] for block in learned_blocks(page_of(pieces), seen)]


def test_pieces_are_chained_to_their_surest_successor() -> None:
    seen = prediction([0, 1, 2, 3], ["text"] * 4, {(0, 1): 0.6, (0, 2): 0.8, (2, 3): 0.9, (1, 3): 0.7})
    assert sorted(indexes(pieces(4), seen)) == [[0, 2, 3], [1]]


def test_piece_does_not_follow_another_if_a_third_is_surely_read_between_them() -> None:
    seen = prediction([0, 1, 2], ["text"] * 3, {(0, 1): 0.6, (0, 2): 0.8})
    seen.before[0, 1], seen.before[1, 0] = seen.before[1, 2], seen.before[2, 1] = 0.98, 0.02
    assert indexes(pieces(3), seen) == [[0, 1], [2]]


def test_chain_never_closes_to_a_ring() -> None:
    seen = prediction([0, 1], ["text"] * 2, {(0, 1): 0.9, (1, 0): 0.8})
    assert indexes(pieces(2), seen) == [[0, 1]]


def test_blocks_stand_in_the_order_that_the_network_votes_for() -> None:
    assert indexes(pieces(4), prediction([2, 0, 3, 1], ["text"] * 4)) == [[2], [0], [3], [1]]


def test_one_wrong_vote_does_not_move_a_block() -> None:
    seen = prediction([0, 1, 2, 3], ["text"] * 4)
    seen.before[0, 3], seen.before[3, 0] = 0.2, 0.8
    assert indexes(pieces(4), seen) == [[0], [1], [2], [3]]


def test_features_do_not_depend_on_the_page_s_scale() -> None:
    def tokens(factor: float) -> PageTokens:
        found = [
            LayoutPiece(i, "Some text.", 10 * factor, 30 * i * factor, 200 * factor, (30 * i + 20) * factor)
            for i in range(5)
        ]
        region = Region(BlockType.TEXT, (0, 0, 210 * factor, 200 * factor), 0.9)
        bounds, rule = (0, 0, 300 * factor, 400 * factor), (0, 55 * factor, 200 * factor, 56 * factor)
        return PageTokens(found, [region] * 5, [region.box] * 5, bounds, 20 * factor, [rule])

    assert np.allclose(token_features(tokens(1)), token_features(tokens(3)), atol=1e-4)
    assert np.allclose(pair_features(tokens(1)), pair_features(tokens(3)), atol=1e-4)


def lines_of(rules: list[Box]) -> PageTokens:
    """Three lines below each other, with a fourth beside the first."""
    places = [(0, 0), (0, 40), (0, 80), (300, 0)]
    found = [LayoutPiece(i, "Some text.", x, y, x + 200, y + 20) for i, (x, y) in enumerate(places)]
    return PageTokens(found, [None] * 4, [(0, 0, 0, 0)] * 4, (0, 0, 600, 400), 20, rules)


def ruled_off(rules: list[Box]) -> set[tuple[int, int]]:
    """The pairs of lines whose features the drawn lines change."""
    changed = (pair_features(lines_of(rules)) != pair_features(lines_of([]))).any(axis=2)
    return {(int(i), int(j)) for i, j in np.argwhere(changed) if i < j}


def test_a_drawn_line_parts_the_pieces_on_its_two_sides() -> None:
    assert ruled_off([(0, 29, 200, 31)]) == {(0, 1), (0, 2), (1, 3), (2, 3)}
    assert ruled_off([(249, 0, 251, 20)]) == {(0, 3), (1, 3), (2, 3)}
    assert ruled_off([(0, 299, 600, 301)]) == set()


def test_a_drawn_line_is_seen_by_the_pieces_along_it() -> None:
    changed = token_features(lines_of([(0, 29, 200, 31)])) != token_features(lines_of([]))
    assert changed.any(axis=1).tolist() == [True, True, True, False]


def test_network_gives_probabilities() -> None:
    seen = predict(page_of(pieces(7)))
    assert np.allclose(seen.classes.sum(axis=1), 1, atol=1e-4)
    assert np.allclose(seen.before + seen.before.T, 1, atol=1e-4)
    assert seen.follows.min() >= 0
    assert seen.follows.max() <= 1


def test_page_with_thousands_of_lines_is_arranged() -> None:
    lines = column(prose("a", 700), 100, 100)
    random.Random(1).shuffle(lines)
    page = arrange_page(lines, PAGE, [])
    assert [line.text for line in page.lines] == prose("a", 700)
