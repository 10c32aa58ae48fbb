"""Reads images with one other OCR package: a child process of benchmarks.engines.others, in that package's environment.

    PYTHON other_tool.py NAME

Loads the package's models and writes an empty line. Then, for each path on standard input, writes one line of JSON: its
text, and the process's peak of resident memory in MB. Needs nothing but that package.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path


def faster_paddle(size: str) -> Callable[[str], str]:
    engine = import_module("faster_paddle").OcrEngine(model_size=size)
    return lambda path: str(engine.ocr(Path(path).read_bytes())["text"])


def rapidocrlite(models: str) -> Callable[[str], str]:
    """`models`: "lite", those of Indra that the package has; else a folder with PP-OCRv6's."""
    if models == "lite":
        params = {"Det.model_type": "lite", "Rec.model_type": "lite", "Global.use_cls": False}
    else:
        folder = Path(models)
        params = {
            "Det.model_path": str(folder / "PP-OCRv6_det_small.onnx"),
            "Rec.model_path": str(folder / "PP-OCRv6_rec_small.onnx"),
            "Cls.model_path": str(folder / "ch_ppocr_mobile_v2.0_cls_mobile.onnx"),
            "Rec.rec_keys_path": str(folder / "ppocrv6_dict.txt"),
        }
    engine = import_module("rapidocr").RapidOCR(params={"Global.log_level": "critical", **params})
    return lambda path: "\n".join(engine(path).txts or ())


def turboocr(folder: str) -> Callable[[str], str]:
    """`folder`: with PP-OCRv6's models as the package names them."""
    options = {"backend": "openvino", "device": "CPU", "tier": "small", "models_dir": folder, "allow_download": False}
    engine = import_module("turboocr_engine").OCR(**options)
    return lambda path: str(engine.read(path).text)


TOOLS: dict[str, Callable[[], Callable[[str], str]]] = {
    "faster-paddle-small": lambda: faster_paddle("small"),
    "faster-paddle-tiny": lambda: faster_paddle("tiny"),
    "indra": lambda: rapidocrlite("lite"),
    "rapidocrlite": lambda: rapidocrlite(os.environ["INKGATE_BENCH_MODELS"]),
    "turboocr": lambda: turboocr(os.environ["INKGATE_BENCH_MODELS"]),
}


def main() -> None:
    # Packages print to standard output what is none of an answer, also from C.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    read = TOOLS[sys.argv[1]]()
    print(file=answers, flush=True)
    for line in sys.stdin:
        text = read(line.rstrip("\n"))
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"text": text, "memory_mb": memory}), file=answers, flush=True)


if __name__ == "__main__":
    main()
