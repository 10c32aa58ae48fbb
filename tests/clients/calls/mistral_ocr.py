"""Mistral's OCR of an uploaded PDF by its signed URL, and of an image in a data URL."""

import base64
import json
import os
import re
from pathlib import Path

from mistralai.client import Mistral

documents = Path(os.environ["DOCUMENTS"])
client = Mistral(api_key=os.environ["INKGATE_KEY"], server_url=os.environ["INKGATE_URL"])
with (documents / "three.pdf").open("rb") as file:
    uploaded = client.files.upload(file={"file_name": "three.pdf", "content": file}, purpose="ocr")
signed = client.files.get_signed_url(file_id=uploaded.id)
answer = client.ocr.process(
    model="mistral-ocr-latest",
    document={"type": "document_url", "document_url": signed.url},
    include_image_base64=True,
    table_format="html",
)
assert [page.index for page in answer.pages] == [0, 1, 2]
assert "Rainfall by station" in answer.pages[1].markdown
images = [image.id for page in answer.pages for image in page.images]
assert all(f"]({image.id})" in page.markdown for page in answer.pages for image in page.images)
tables = [table for page in answer.pages for table in page.tables]
assert [table.id for table in tables] == ["tbl-0.html"]
assert "[tbl-0.html](tbl-0.html)" in answer.pages[1].markdown
rows = [re.findall("<t[dh][ >]", row) for row in tables[0].content.split("<tr")[1:]]
objects = {
    "pages": [page.index for page in answer.pages],
    "figures": images,
    "tables": [f"{len(rows)}x{len(rows[0])}"],
    "headings": re.findall("^#+ (.*)", "\n".join(page.markdown for page in answer.pages), re.MULTILINE),
}

data = base64.b64encode((documents / "report.png").read_bytes()).decode()
report = client.ocr.process(
    model="mistral-ocr-latest", document={"type": "image_url", "image_url": f"data:image/png;base64,{data}"}
)
assert "Gaza & West Bank" in report.pages[0].markdown
assert client.models.list().data
assert client.models.retrieve(model_id="mistral-ocr-latest").capabilities.ocr
print(json.dumps({"objects": objects}))
