"""Azure Form Recognizer 3: the layout of a PDF."""

import json
import os
from pathlib import Path

from azure.ai.formrecognizer import DocumentAnalysisClient, DocumentModelAdministrationClient
from azure.core.credentials import AzureKeyCredential

URL, KEY = os.environ["INKGATE_URL"], AzureKeyCredential(os.environ["INKGATE_KEY"])
with Path(os.environ["DOCUMENTS"], "three.pdf").open("rb") as file:
    result = DocumentAnalysisClient(URL, KEY).begin_analyze_document("prebuilt-layout", file).result()
assert result.api_version == "2023-07-31"
assert [page.page_number for page in result.pages] == [1, 2, 3]
lines = [line.content for line in result.pages[1].lines]
assert "Rainfall by station" in lines, lines
for line in result.pages[1].lines:
    assert [result.content[span.offset : span.offset + span.length] for span in line.spans] == [line.content]
(table,) = result.tables
cells = {(cell.row_index, cell.column_index): cell.content for cell in table.cells}
assert cells[1, 0] == "Algeria", cells
assert next(cell.kind for cell in table.cells) == "columnHeader"
names = [model.model_id for model in DocumentModelAdministrationClient(URL, KEY).list_document_models()]
print(json.dumps({"lines": [len(page.lines) for page in result.pages], "models": names}))
