"""MinerU 3's service, as its own documentation calls it: a form, with the content list and figures in the response."""

import json
import os
import re
from pathlib import Path

import requests

path = Path(os.environ["DOCUMENTS"], "three.pdf")
options = {"return_md": "true", "return_content_list": "true", "return_images": "true"}
with path.open("rb") as file:
    response = requests.post(
        f"{os.environ['INKGATE_URL']}/file_parse",
        files={"files": (path.name, file, "application/pdf")},
        data=options,
        headers={"Authorization": f"Bearer {os.environ['INKGATE_KEY']}"},
        timeout=120,
    )
assert response.status_code == 200, response.text
[(name, result)] = response.json()["results"].items()
items = json.loads(result["content_list"])
figures = [item["img_path"] for item in items if item["type"] == "image"]
assert {figure.removeprefix("images/") for figure in figures} <= set(result["images"])
assert all(figure in result["md_content"] for figure in figures)
tables = [item["table_body"].split("<tr")[1:] for item in items if item["type"] == "table"]
objects = {
    "pages": sorted({item["page_idx"] for item in items}),
    "figures": figures,
    "tables": [f"{len(rows)}x{len(re.findall('<t[dh][ >]', rows[0]))}" for rows in tables],
    "headings": [item["text"] for item in items if item.get("text_level")],
}
print(json.dumps({"objects": objects, "name": name}))
