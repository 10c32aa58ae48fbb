"""Scans of invoices and photos of receipts, with spans in their pixels."""

import random
from typing import Any

import numpy as np
import pypdfium2 as pdfium
from PIL import Image
from training.layout.degrade import Matrix, homography, moved_truth, scan


def _on_a_table(rendered: Image.Image, rng: random.Random) -> tuple[Image.Image, Matrix]:
    """A receipt as a camera sees it: on a darker ground, turned and in perspective."""
    width, height = rendered.size
    border = int(width * rng.uniform(0.08, 0.35))
    size = (width + 2 * border, height + 2 * border)
    angle, pull = np.deg2rad(rng.gauss(0, 3)), 0.04
    moved = []
    for x, y in ((0.0, 0.0), (width, 0.0), (width, height), (0.0, height)):
        dx, dy = x - width / 2, y - height / 2
        u = size[0] / 2 + dx * np.cos(angle) - dy * np.sin(angle) + rng.uniform(-pull, pull) * width
        v = size[1] / 2 + dx * np.sin(angle) + dy * np.cos(angle) + rng.uniform(-pull, pull) * width
        moved.append((min(max(float(u), 1.0), size[0] - 1.0), min(max(float(v), 1.0), size[1] - 1.0)))
    matrix = homography([(0.0, 0.0), (float(width), 0.0), (float(width), float(height)), (0.0, float(height))], moved)
    back = np.linalg.inv(matrix)
    back /= back[2, 2]
    ground = tuple(rng.randint(30, 190) for _ in range(3))
    paper = rendered.transform(
        size, Image.Transform.PERSPECTIVE, tuple(back.ravel()[:8]), Image.Resampling.BICUBIC, fillcolor=ground
    )
    return paper, matrix


def photograph(pdf: bytes, page: dict[str, Any], seed: str, *, receipt: bool) -> tuple[bytes, dict[str, Any]]:
    """A JPEG of a document of one page, and `page` with its boxes, width and height in pixels of the JPEG."""
    rng = random.Random(f"dpi-{seed}")
    dpi = rng.choice((150, 200, 200, 250) if receipt else (100, 120, 150, 150, 200))
    with pdfium.PdfDocument(pdf) as document:
        rendered = document[0].render(scale=dpi / 72).to_pil().convert("RGB")
    matrix: Matrix = np.diag([dpi / 96, dpi / 96, 1.0])  # CSS pixels are 1/96 inch
    if receipt and rng.random() < 0.6:
        rendered, seen = _on_a_table(rendered, rng)
        matrix = seen @ matrix
    data, scanned = scan(rendered, seed)
    return data, {**moved_truth(page, scanned @ matrix), "width": rendered.width, "height": rendered.height, "dpi": dpi}
