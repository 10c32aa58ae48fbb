"""The Python client that PaddleX's documentation prints for its services of OCR and of layout parsing."""

import base64
import json
import os
from pathlib import Path

import requests

documents = Path(os.environ["DOCUMENTS"])


def post(path: str, name: str, kind: int) -> dict:
    file = base64.b64encode((documents / name).read_bytes()).decode("ascii")
    headers = {"Authorization": f"Bearer {os.environ['INKGATE_KEY']}"}
    response = requests.post(
        f"{os.environ['INKGATE_URL']}{path}", json={"file": file, "fileType": kind}, headers=headers, timeout=120
    )
    assert response.status_code == 200, response.text
    return response.json()["result"]


[page] = post("/ocr", "report.png", 1)["ocrResults"]
texts = page["prunedResult"]["rec_texts"]
pages = post("/layout-parsing", "three.pdf", 0)["layoutParsingResults"]
assert "Algeria" in texts
assert len(page["prunedResult"]["rec_boxes"]) == len(texts)
assert len(pages) == 3
assert "Rainfall by station" in pages[1]["markdown"]["text"]
labels = [[block["block_label"] for block in page["prunedResult"]["parsing_res_list"]] for page in pages]
print(json.dumps({"lines": len(texts), "labels": labels}))
