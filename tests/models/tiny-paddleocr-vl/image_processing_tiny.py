"""The image processor with the interface of PaddleOCR-VL's own repositories.

Under --trust-remote-code vLLM expects its `min_pixels` and `max_pixels`, where transformers' own has a size.
"""

from __future__ import annotations

from transformers.models.paddleocr_vl.image_processing_pil_paddleocr_vl import PaddleOCRVLImageProcessorPil


class TinyImageProcessor(PaddleOCRVLImageProcessorPil):  # type: ignore[misc] # has no type information
    """transformers' own, with the attribute names of the published code."""

    def __init__(self, **kwargs: object) -> None:
        super().__init__(**kwargs)
        size: dict[str, int] = dict(vars(self)["size"])
        self.min_pixels, self.max_pixels = size["shortest_edge"], size["longest_edge"]
        self.size = {"min_pixels": self.min_pixels, "max_pixels": self.max_pixels}

    def _standardize_kwargs(
        self, size: object = None, min_pixels: int | None = None, max_pixels: int | None = None, **kwargs: object
    ) -> object:
        """Called for an image with the attributes above or the request's values, and by the constructor without."""
        if min_pixels and max_pixels:
            size = {"shortest_edge": min_pixels, "longest_edge": max_pixels}
        return super()._standardize_kwargs(size=size, **kwargs)
