"""Chat requests exactly as OCR clients send them: the clients' field names, order and spaces."""

from __future__ import annotations

import json
from typing import Any

from support.api_client import b64, png

JPEG_URL = f"data:image/jpeg;base64,{b64(png(64, 48))}"
PNG_URL = f"data:image/png;base64,{b64(png(64, 48))}"


def _image(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


PADDLEOCR_VL = {
    "messages": [{"role": "user", "content": [_image(JPEG_URL), _text("OCR:")]}],
    "model": "PaddleOCR-VL-1.6-0.9B",
    "max_completion_tokens": 4096,
    "temperature": 0.0,
    "skip_special_tokens": True,
    "mm_processor_kwargs": {"min_pixels": 112896, "max_pixels": 1003520},
}
MINERU = {
    "model": "stub-model",
    "messages": [
        {"role": "system", "content": "You are a helpful assistant."},
        {"role": "user", "content": [_image(PNG_URL), _text("\nText Recognition:")]},
    ],
    "temperature": 0.0,
    "top_p": 0.01,
    "top_k": 1,
    "presence_penalty": 1.0,
    "frequency_penalty": 0.05,
    "repetition_penalty": 1.0,
    "vllm_xargs": {"no_repeat_ngram_size": 100, "debug": False},
    "skip_special_tokens": False,
}
OLMOCR = {
    "model": "olmocr",
    "messages": [{"role": "user", "content": [_text("Attached is one page of a document…"), _image(PNG_URL)]}],
    "max_tokens": 8000,
    "temperature": 0.1,
}
RECORDED = {
    "PaddleOCR-VL": json.dumps(PADDLEOCR_VL, separators=(",", ":")).encode(),
    "MinerU": json.dumps(MINERU, ensure_ascii=False, separators=(",", ":")).encode(),
    "olmOCR": json.dumps(OLMOCR).encode(),
    "unusual": b' {"new_field":1.0e-3, "seed" : 12345678901234567890123,"messages":[] ,\r\n"stop":["\\u0041/"]} ',
}


def chat(**fields: object) -> dict[str, Any]:
    """A small request."""
    return {"model": "stub-model", "messages": [{"role": "user", "content": "Hello"}]} | fields
