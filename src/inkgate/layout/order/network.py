"""The layout network: the types of a page's pieces, which follows which in a block, and what is read before what.

A transformer whose attention sees how two pieces stand to each other, made by training/layout/train.py. The file of
its weights is an .npz of float16 matrices.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from inkgate.layout.order.tokens import Floats, PageTokens, pair_features, token_features

WEIGHTS = Path(__file__).parent / "layout.npz"
CLASSES = (
    "title",
    "text",
    "list",
    "caption",
    "header",
    "footer",
    "page_number",
    "footnote",
    "reference",
    "formula",
    "table",
    "figure",
)
LEVELS = 6
WIDTH, HEADS, LAYERS, PAIR = 96, 6, 3, 32
"""Numbers of a token's features inside the network, of heads, of layers, and of a pair's features inside it."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the network tells of N pieces.

    Attributes:
        classes: probabilities (N, CLASSES).
        levels: probabilities (N, LEVELS) of a title's level.
        follows: (N, N), the probability that the second piece continues the block of the first.
        before: (N, N), the probability that the first is read before the second.
    """

    classes: Floats
    levels: Floats
    follows: Floats
    before: Floats


@lru_cache(maxsize=1)
def _weights() -> Mapping[str, Floats]:
    with np.load(WEIGHTS) as stored:
        return {name: stored[name].astype(np.float32) for name in stored.files}


def predict(page: PageTokens) -> Prediction:
    """What the network tells of the page's pieces, at least one. Blocking."""
    return forward(_weights(), token_features(page), pair_features(page))


def forward(weights: Mapping[str, Floats], tokens: Floats, pairs: Floats) -> Prediction:
    """The network's outputs for tokens (N, features) and pairs (N, N, features)."""
    count = len(tokens)
    seen = np.maximum(_linear(weights, "pair", pairs), 0)
    bias = _linear(weights, "bias", seen).reshape(count, count, LAYERS, HEADS)
    state = _linear(weights, "token2", np.maximum(_linear(weights, "token1", tokens), 0))
    for layer in range(LAYERS):
        state = state + _attention(weights, layer, _norm(weights, f"norm1.{layer}", state), bias[:, :, layer])
        inner = np.maximum(_linear(weights, f"up.{layer}", _norm(weights, f"norm2.{layer}", state)), 0)
        state = state + _linear(weights, f"down.{layer}", inner)
    state = _norm(weights, "norm", state)
    hidden = _linear(weights, "pair_hidden", seen)
    hidden += _linear(weights, "first", state)[:, None]
    hidden += _linear(weights, "second", state)[None]
    scores = _linear(weights, "pair_out", np.maximum(hidden, 0, out=hidden))
    ends = _linear(weights, "ends", state)
    order = scores[:, :, 1]
    return Prediction(
        _softmax(_linear(weights, "class", state)),
        _softmax(_linear(weights, "level", state)),
        _follows(scores[:, :, 0], ends),
        1 / (1 + np.exp(-np.clip(order - order.T, -30, 30))),
    )


def _follows(scores: Floats, ends: Floats) -> Floats:
    """The probability of each to follow each: by what may follow the first, and by what may precede the second."""
    scores = scores.copy()
    np.fill_diagonal(scores, -1e9)
    after = _softmax(np.concatenate([scores, ends[:, :1]], axis=1))[:, :-1]
    ahead = _softmax(np.concatenate([scores.T, ends[:, 1:]], axis=1))[:, :-1].T
    both: Floats = np.sqrt(after * ahead)
    return both


def _attention(weights: Mapping[str, Floats], layer: int, state: Floats, bias: Floats) -> Floats:
    count, size = len(state), WIDTH // HEADS
    query, key, value = (
        part.reshape(count, HEADS, size).transpose(1, 0, 2)
        for part in np.split(_linear(weights, f"qkv.{layer}", state), 3, axis=1)
    )
    scores = query @ key.transpose(0, 2, 1) / np.sqrt(np.float32(size)) + bias.transpose(2, 0, 1)
    mixed = (_softmax(scores) @ value).transpose(1, 0, 2).reshape(count, WIDTH)
    return _linear(weights, f"out.{layer}", mixed)


def _linear(weights: Mapping[str, Floats], name: str, values: Floats) -> Floats:
    result: Floats = values @ weights[f"{name}.weight"] + weights[f"{name}.bias"]
    return result


def _norm(weights: Mapping[str, Floats], name: str, values: Floats) -> Floats:
    centred = values - values.mean(axis=-1, keepdims=True)
    scale = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-5)
    result: Floats = centred / scale * weights[f"{name}.weight"] + weights[f"{name}.bias"]
    return result


def _softmax(scores: Floats) -> Floats:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    result: Floats = powers / powers.sum(axis=-1, keepdims=True)
    return result
