"""The ONNX model that finds the most likely class of each column on the device that holds the softmax.

scripts/write_columns_head.py has its source, and writes this file.
"""

from __future__ import annotations

from typing import Final

INPUT: Final = "softmax"
OUTPUTS: Final = ("best", "probability", "last")
"""(N, T) each: int32, float32, float32, from an input (N, T, C) float32."""
MODEL: Final = """
CAc63AIKNgoHc29mdG1heBIFcGxhY2UiBkFyZ01heCoLCgRheGlzGAKgAQIqDwoIa2VlcGRpbXMYAKABAgoeCgVwbGFjZRIEYmVzdCIEQ2FzdCoJCgJ0
bxgGoAECCj8KB3NvZnRtYXgSC3Byb2JhYmlsaXR5IglSZWR1Y2VNYXgqCwoEYXhlc0ACoAEHKg8KCGtlZXBkaW1zGACgAQIKKQoHc29mdG1heAoDZW5k
EgRsYXN0IgZHYXRoZXIqCwoEYXhpcxgCoAECEgxjb2x1bW5zX2hlYWQqERAHQgNlbmRKCP//////////WiAKB3NvZnRtYXgSFQoTCAESDwoDEgFOCgMS
AVQKAxIBQ2IYCgRiZXN0EhAKDggGEgoKAxIBTgoDEgFUYh8KC3Byb2JhYmlsaXR5EhAKDggBEgoKAxIBTgoDEgFUYhgKBGxhc3QSEAoOCAESCgoDEgFO
CgMSAVRCBAoAEA0=
"""
"""The model's file, in base64."""
