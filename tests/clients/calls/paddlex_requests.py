"""The Python client that PaddleX's documentation prints for its services of OCR and of layout parsing."""

import base64
import json
import os
import re
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
assert "Algeria" in texts
assert len(page["prunedResult"]["rec_boxes"]) == len(texts)
pages = post("/layout-parsing", "three.pdf", 0)["layoutParsingResults"]
blocks = [(number, block) for number, page in enumerate(pages) for block in page["prunedResult"]["parsing_res_list"]]
figures = [(number, name) for number, page in enumerate(pages) for name in page["markdown"]["images"]]
assert all(f'src="{name}"' in pages[number]["markdown"]["text"] for number, name in figures)
tables = [block["block_content"].split("<tr")[1:] for _, block in blocks if block["block_label"] == "table"]
objects = {
    "pages": [number for number, _ in enumerate(pages)],
    "figures": [f"page {number}: {name}" for number, name in figures],
    "tables": [f"{len(rows)}x{len(re.findall('<t[dh][ >]', rows[0]))}" for rows in tables],
    "headings": [
        block["block_content"] for _, block in blocks if block["block_label"] in {"doc_title", "paragraph_title"}
    ],
}
print(json.dumps({"objects": objects, "lines": len(texts)}))
