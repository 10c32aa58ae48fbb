"""Make scans of printed pages, with truth in their pixels: `python -m training.layout.degrade OUT --pages N`.

Each chosen NAME.pdf gets NAME-scan.jpg and NAME-scan.structure.json. A scan is rendered at 100 to 200 dpi, turned by up to
two degrees, seen slightly from the side, blurred, lit unevenly, and given noise and the loss of JPEG; a few are faxes.
"""

import argparse
import io
import json
import multiprocessing
import random
from pathlib import Path
from typing import Any

import numpy as np
import pypdfium2 as pdfium
from numpy.typing import NDArray
from PIL import Image, ImageFilter

Matrix = NDArray[np.float64]


def homography(corners: list[tuple[float, float]], moved: list[tuple[float, float]]) -> Matrix:
    """The 3 by 3 projective map that takes four `corners` to `moved`."""
    rows, values = [], []
    for (x, y), (u, v) in zip(corners, moved, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        values += [u, v]
    solved = np.linalg.solve(np.array(rows, dtype=np.float64), np.array(values, dtype=np.float64))
    return np.append(solved, 1.0).reshape(3, 3)


def view(rng: random.Random, width: int, height: int) -> Matrix:
    """A turn of up to two degrees about the centre with a slight perspective."""
    angle = np.deg2rad(rng.gauss(0, 0.8) if rng.random() < 0.8 else 0)
    angle = float(np.clip(angle, -0.035, 0.035))
    pull = 0.012 if rng.random() < 0.35 else 0.0
    corners = [(0.0, 0.0), (width, 0.0), (width, height), (0.0, height)]
    moved = []
    for x, y in corners:
        dx, dy = x - width / 2, y - height / 2
        u = width / 2 + dx * np.cos(angle) - dy * np.sin(angle)
        v = height / 2 + dx * np.sin(angle) + dy * np.cos(angle)
        moved.append((float(u) + rng.uniform(-pull, pull) * width, float(v) + rng.uniform(-pull, pull) * height))
    return homography([(float(x), float(y)) for x, y in corners], moved)


def moved_box(box: list[float], matrix: Matrix) -> list[float]:
    """The upright box around the four corners of `box` after the map."""
    left, top, right, bottom = box
    points = np.array([[left, right, right, left], [top, top, bottom, bottom], [1.0] * 4]) if box else np.zeros((3, 4))
    x, y, w = matrix @ points
    return [round(float(value), 1) for value in ((x / w).min(), (y / w).min(), (x / w).max(), (y / w).max())]


def moved_truth(value: Any, matrix: Matrix) -> Any:  # noqa: ANN401 - JSON
    """The structure with every box mapped."""
    if isinstance(value, dict):
        return {
            key: moved_box(item, matrix) if key == "box" else moved_truth(item, matrix) for key, item in value.items()
        }
    if isinstance(value, list):
        return [moved_truth(item, matrix) for item in value]
    return value


def _light(generator: np.random.Generator, rng: random.Random, pixels: NDArray[np.float32]) -> NDArray[np.float32]:
    """Uneven light: a plane, and a shadow at one edge of some pages; the paper isn't quite white."""
    height, width = pixels.shape[:2]
    y = np.linspace(0, 1, height, dtype=np.float32)[:, None]
    x = np.linspace(0, 1, width, dtype=np.float32)[None, :]
    slope = rng.uniform(0, 0.16) if rng.random() < 0.7 else 0.0
    turn = rng.uniform(0, 6.28)
    light = 1 - slope * (0.5 + (x - 0.5) * np.cos(turn) + (y - 0.5) * np.sin(turn))
    if rng.random() < 0.25:
        edge = x if rng.random() < 0.5 else 1 - x
        light *= 1 - rng.uniform(0.2, 0.5) * np.exp(-edge / rng.uniform(0.01, 0.05))
    lit = pixels * (light * np.float32(rng.uniform(0.9, 1.0))).astype(np.float32)[..., None]
    if rng.random() < 0.4:
        lit *= generator.uniform(0.95, 1.0, 3).astype(np.float32)
    return np.asarray(lit, dtype=np.float32)


def scan(rendered: Image.Image, seed: str) -> tuple[bytes, Matrix]:
    """The JPEG of a scan of the page, and the map from the page's pixels to the scan's."""
    rng = random.Random(seed)
    generator = np.random.default_rng(rng.getrandbits(32))
    width, height = rendered.size
    matrix = view(rng, width, height)
    back = np.linalg.inv(matrix)
    back /= back[2, 2]
    paper = tuple(rng.randint(200, 255) for _ in range(1)) * 3 if rng.random() < 0.3 else (255, 255, 255)
    image = rendered.transform(
        (width, height), Image.Transform.PERSPECTIVE, tuple(back.ravel()[:8]), Image.Resampling.BICUBIC, fillcolor=paper
    )
    if rng.random() < 0.8:
        image = image.filter(ImageFilter.GaussianBlur(rng.uniform(0.2, 1.0)))
    pixels = np.asarray(image, dtype=np.float32)
    fax = rng.random() < 0.08
    if rng.random() < 0.4:  # pale ink
        pixels = 255 - (255 - pixels) * rng.uniform(0.6, 0.95)
    pixels = _light(generator, rng, pixels) if not fax else pixels
    grey = fax or rng.random() < 0.5
    channels = 1 if grey else 3
    noise = generator.standard_normal((height, width, channels), dtype=np.float32) * np.float32(rng.uniform(0, 10))
    pixels = np.clip((pixels.mean(axis=2, keepdims=True) if grey else pixels) + noise, 0, 255)
    if fax:
        pixels = np.where(pixels > rng.uniform(120, 180), 255.0, 0.0).astype(np.float32)
    result = pixels.astype(np.uint8)
    made = Image.fromarray(result[..., 0] if grey else result)
    buffer = io.BytesIO()
    made.save(buffer, "JPEG", quality=rng.randint(35, 90))
    return buffer.getvalue(), matrix


def degrade(pdf: Path, seed: str) -> None:
    """Write the scan of one page and its truth beside the PDF."""
    rng = random.Random(f"dpi-{seed}")
    dpi = rng.choice((100, 120, 150, 150, 200))
    with pdfium.PdfDocument(pdf) as document:
        rendered = document[0].render(scale=dpi / 72).to_pil().convert("RGB")
    name = pdf.name.removesuffix(".pdf")
    data, matrix = scan(rendered, seed)
    page = json.loads(pdf.with_name(f"{name}.structure.json").read_text(encoding="utf-8"))["pages"][0]
    scale = np.diag([rendered.width / page["width"], rendered.height / page["height"], 1.0])
    truth = {**moved_truth(page, matrix @ scale), "width": rendered.width, "height": rendered.height, "dpi": dpi}
    pdf.with_name(f"{name}-scan.jpg").write_bytes(data)
    text = json.dumps({"pages": [truth]}, ensure_ascii=False, separators=(",", ":"))
    pdf.with_name(f"{name}-scan.structure.json").write_text(text, encoding="utf-8")


def _degrade_all(share: list[tuple[Path, str]]) -> None:
    for pdf, seed in share:
        degrade(pdf, seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pages", type=int, required=True, help="how many of the folder's pages, chosen by the seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    pdfs = sorted(path for path in options.folder.glob("*.pdf") if path.with_suffix(".structure.json").is_file())
    chosen = random.Random(options.seed).sample(pdfs, min(options.pages, len(pdfs)))
    work = [
        (pdf, f"{options.seed}-{pdf.name}")
        for pdf in chosen
        if not pdf.with_name(f"{pdf.stem}-scan.structure.json").is_file()
    ]
    processes = [
        multiprocessing.Process(target=_degrade_all, args=(work[n :: options.workers],)) for n in range(options.workers)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()


if __name__ == "__main__":
    main()
