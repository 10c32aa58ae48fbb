"""Azure AI Document Intelligence: the layout of a PDF as Markdown, with the images of its figures."""

import json
import os
from pathlib import Path

from azure.ai.documentintelligence import DocumentIntelligenceAdministrationClient, DocumentIntelligenceClient
from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import ResourceNotFoundError

URL, KEY = os.environ["INKGATE_URL"], AzureKeyCredential(os.environ["INKGATE_KEY"])
client = DocumentIntelligenceClient(URL, KEY)
with Path(os.environ["DOCUMENTS"], "three.pdf").open("rb") as file:
    poller = client.begin_analyze_document(
        "prebuilt-layout", body=file, output_content_format="markdown", output=["figures"]
    )
result = poller.result()
assert [page.page_number for page in result.pages] == [1, 2, 3]
assert result.pages[0].unit == "inch"
assert "<td>Algeria</td>\n<td>120</td>" in result.content, result.content
assert '<!-- PageNumber="2" -->' in result.content
for page in result.pages:
    assert len(page.words) > 50
    for item in page.words:
        text = result.content[item.span.offset : item.span.offset + item.span.length]
        assert text == item.content, (text, item.content)
(table,) = result.tables
cells = {(cell.row_index, cell.column_index): cell.content for cell in table.cells}
assert (table.row_count, table.column_count, cells[1, 0]) == (4, 3, "Algeria"), cells
roles = [paragraph.role for paragraph in result.paragraphs if paragraph.role]
assert roles == ["title", "pageNumber", "sectionHeading", "pageNumber", "sectionHeading", "pageNumber"], roles
assert len(result.sections) == 4
ids = [figure.id for figure in result.figures]
assert ids == ["1.1", "2.1", "3.1"], ids
for figure in result.figures:
    assert figure.caption.content.endswith("Hills in the morning")
    operation = poller.details["operation_id"]
    image = b"".join(client.get_analyze_result_figure("prebuilt-layout", operation, figure.id))
    assert image.startswith(b"\x89PNG"), image[:20]
names = [model.model_id for model in DocumentIntelligenceAdministrationClient(URL, KEY).list_models()]
try:
    client.begin_analyze_document("prebuilt-invoice", body=b"%PDF-1.4")
    raise AssertionError("prebuilt-invoice was accepted")
except ResourceNotFoundError as error:
    refusal = error
assert refusal.error.code == "NotFound"
assert "prebuilt-layout" in refusal.message
headings = {"title", "sectionHeading"}
objects = {
    "pages": [page.page_number for page in result.pages],
    "figures": ids,
    "tables": [f"{table.row_count}x{table.column_count}"],
    "headings": [paragraph.content for paragraph in result.paragraphs if paragraph.role in headings],
}
print(json.dumps({"objects": objects, "words": [len(page.words) for page in result.pages], "models": names}))
