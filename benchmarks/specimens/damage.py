"""What a telephone's camera does to a paper: perspective, rotation, uneven light, blur, noise and JPEG."""

from __future__ import annotations

from io import BytesIO
from random import Random

import cv2
import numpy as np
from PIL import Image

MOST_DEGREES = 3.0


def photographed(image: Image.Image, random: Random) -> Image.Image:
    """The paper on a table, turned by up to three degrees."""
    pixels = np.asarray(image)
    high, wide = pixels.shape[:2]
    margin = int(0.06 * max(high, wide))
    table = random.choice(((96, 82, 70), (60, 62, 68), (150, 148, 142)))
    angle = np.deg2rad(random.uniform(-MOST_DEGREES, MOST_DEGREES))
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    corners = np.array([[0, 0], [wide, 0], [wide, high], [0, high]], np.float32)
    moved = (corners - (wide / 2, high / 2)) @ turn.T + (wide / 2 + margin, high / 2 + margin)
    moved += np.array([[random.uniform(-1, 1) * 0.012 * wide for _ in range(2)] for _ in range(4)])
    matrix = cv2.getPerspectiveTransform(corners, moved.astype(np.float32))
    size = (wide + 2 * margin, high + 2 * margin)
    seen = cv2.warpPerspective(pixels, matrix, size, flags=cv2.INTER_AREA, borderValue=table)
    seen = seen * _light(size, random)[..., None]
    seen = cv2.GaussianBlur(seen, (0, 0), random.uniform(0.5, 1.1))
    noise = np.random.default_rng(random.randrange(2**31)).normal(0, random.uniform(2, 7), seen.shape)
    clean = Image.fromarray(np.clip(seen + noise, 0, 255).astype(np.uint8))
    kept = BytesIO()
    clean.save(kept, "JPEG", quality=random.randrange(55, 86))
    return Image.open(kept).convert("RGB")


def _light(size: tuple[int, int], random: Random) -> np.ndarray:
    """Brightness that falls off to one side, from 1.05 to 0.65 at most."""
    x, y = np.meshgrid(np.linspace(-1, 1, size[0]), np.linspace(-1, 1, size[1]))
    direction, strength = random.uniform(0, 2 * np.pi), random.uniform(0.05, 0.2)
    return np.asarray(0.85 + strength * (x * np.cos(direction) + y * np.sin(direction)), np.float32)
