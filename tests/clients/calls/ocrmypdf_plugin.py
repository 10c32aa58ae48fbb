"""OCRmyPDF with inkgate's plugin makes a searchable PDF."""

import json
import os
import subprocess
import sys
from pathlib import Path

source = Path(os.environ["DOCUMENTS"], "three.pdf")
plugin = ["--plugin", "inkgate.integrations.ocrmypdf", "--inkgate-server", os.environ["INKGATE_URL"]]
files = ["--sidecar", "text.txt", "--output-type", "pdf", str(source), "searchable.pdf"]
subprocess.run(
    [sys.executable, "-m", "ocrmypdf", *plugin, "--inkgate-key", os.environ["INKGATE_KEY"], *files], check=True
)
text = Path("text.txt").read_text("utf-8")
assert "Rainfall by station" in text
assert text.count("\f") == 2, text
assert Path("searchable.pdf").read_bytes().startswith(b"%PDF-")
print(json.dumps({"characters": len(text)}))
