"""Duration of engine steps and probability of crashes for one card and model, fitted to published figures.

HunyuanOCR on vLLM on one RTX 4090D with 24 GB, by max-num-seqs: 8: the GPU under 50 % busy; 16: 22 pages/s; 32: 26
and about 30 % of runs out of memory; 64: 38 and over 70 % (reference figures of the field; conditions unknown, so a
run is taken to be 60 s of full load with pages of one megapixel and 220 tokens of text).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, replace

Curve = tuple[tuple[float, float], ...]
"""Points (x, y) with rising x; linear between them, and extrapolated from the last segment."""


def at(curve: Curve, x: float) -> float:
    """The curve's y at `x`."""
    index = min(max(bisect_right(curve, (x, math.inf)), 1), len(curve) - 1)
    (x0, y0), (x1, y1) = curve[index - 1], curve[index]
    return y0 + (y1 - y0) * (x - x0) / (x1 - x0)


@dataclass(frozen=True, slots=True)
class Card:
    """Seconds, tokens, megapixels.

    Attributes:
        decode_s: one decoding step by the number of sequences in it. host_s: part of a step in which the GPU waits for
        the host. prefill_s: one prompt token, including the image encoder. render_s, render_s_per_megapixel: one image
        in the API server's single thread for images. deaths_per_s: crash rate by the megapixels of all images in the
        running batch, whose activations share the memory
            left by weights and KV cache.
        kv_tokens: capacity of the KV cache.
        restart_s: time from a crash until the server responds again.
    """

    decode_s: Curve
    host_s: float
    prefill_s: float
    render_s: float
    render_s_per_megapixel: float
    deaths_per_s: Curve
    kv_tokens: int
    restart_s: float

    def step_s(self, decoding: int, prefilled: int) -> float:
        """Duration of a step that generates a token for `decoding` sequences and computes `prefilled` prompt tokens."""
        decode_s = at(self.decode_s, decoding) if decoding else self.host_s
        return decode_s + prefilled * self.prefill_s

    def slower(self, factor: float) -> Card:
        """The same card, `factor` times slower, so that fewer requests need to be simulated."""
        return replace(
            self,
            decode_s=tuple((decoding, seconds * factor) for decoding, seconds in self.decode_s),
            host_s=self.host_s * factor,
            prefill_s=self.prefill_s * factor,
            render_s=self.render_s * factor,
            render_s_per_megapixel=self.render_s_per_megapixel * factor,
        )

    def undying(self) -> Card:
        """The same card with enough memory for any batch."""
        return replace(self, deaths_per_s=((0, 0.0), (1, 0.0)))

    def death_rate(self, megapixels: float) -> float:
        """Crashes a second."""
        return max(at(self.deaths_per_s, megapixels), 0.0)


RTX_4090D = Card(
    decode_s=((0, 0.0013), (8, 0.0021), (16, 0.00268), (32, 0.00433), (64, 0.00512), (128, 0.0102)),
    host_s=0.0013,
    prefill_s=8e-6,
    render_s=0.002,
    render_s_per_megapixel=0.018,
    deaths_per_s=((0, 0.0), (18, 0.0), (24, 0.0005), (32, 0.006), (64, 0.0212), (128, 0.1)),
    kv_tokens=120_000,
    restart_s=30.0,
)
