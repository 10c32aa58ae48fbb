"""olmOCR's pipeline with a server of ones own."""

import json
import os
import subprocess
import sys
from pathlib import Path

source = str(Path(os.environ["DOCUMENTS"], "three.pdf"))
server = ["--server", f"{os.environ['INKGATE_URL']}/v1", "--api_key", os.environ["INKGATE_KEY"]]
model = ["--model", os.environ["INKGATE_MODEL"]]
subprocess.run(
    [sys.executable, "-m", "olmocr.pipeline", "work", *server, *model, "--markdown", "--pdfs", source], check=True
)
[results] = Path("work", "results").glob("*.jsonl")
[document] = [json.loads(line) for line in results.read_text("utf-8").splitlines()]
assert document["metadata"]["pdf-total-pages"] == 3
assert document["metadata"]["total-fallback-pages"] == 0
assert document["text"].count("Invoice number 20417") == 3, document["text"]
print(json.dumps({"characters": len(document["text"]), "metadata": document["metadata"]}))
