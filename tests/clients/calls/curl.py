"""curl: a form, a raw body, and rapidocr_api's form."""

import json
import os
import subprocess
from pathlib import Path

URL = f"{os.environ['INKGATE_URL']}/ocr"
FILE = str(Path(os.environ["DOCUMENTS"], "report.png"))


def curl(*arguments: str) -> str:
    key = f"Authorization: Bearer {os.environ['INKGATE_KEY']}"
    return subprocess.run(
        ["curl", "-sS", "--fail-with-body", "-H", key, *arguments], check=True, capture_output=True, text=True
    ).stdout


form = curl("-H", "Accept: text/markdown", "-F", f"file=@{FILE}", URL)
raw = json.loads(curl("--data-binary", f"@{FILE}", f"{URL}?task=parse"))
rapid = json.loads(curl("-F", f"image_file=@{FILE}", URL))
assert "| Gaza & West Bank | 2.60 |" in form
assert "Gaza & West Bank" in raw["text"]
assert "Algeria" in {line["rec_txt"] for line in rapid.values()}
print(json.dumps({"characters": len(form), "lines": len(rapid)}))
