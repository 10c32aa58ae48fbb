"""docling's command line and its client, which convert by a service."""

import json
import os
import subprocess
import sys
from pathlib import Path

from docling.service_client import ChunkerKind, DoclingServiceClient
from docling_core.types.doc import DoclingDocument

pdf = Path(os.environ["DOCUMENTS"]) / "three.pdf"
command = [str(Path(sys.executable).parent / "docling"), "convert-remote", "--service-url", os.environ["INKGATE_URL"]]
command += ["--api-key", os.environ["INKGATE_KEY"]]
subprocess.run([*command, str(pdf)], check=True)
markdown = Path("three.md").read_text("utf-8")
assert markdown.count("<!-- image -->") == 3, markdown
subprocess.run([*command, "--to", "json", "--image-export-mode", "embedded", str(pdf)], check=True)
found = DoclingDocument.model_validate_json(Path("three.json").read_text("utf-8"))
assert list(found.pages) == [1, 2, 3]
pictures = [picture.prov[0].page_no for picture in found.pictures if picture.image is not None]
assert pictures == [1, 2, 3], pictures
assert [table.prov[0].page_no for table in found.tables] == [2]
headings = [text.prov[0].page_no for text in found.texts if text.label in ("title", "section_header")]
assert headings == [1, 2, 3], headings

with DoclingServiceClient(url=os.environ["INKGATE_URL"], api_key=os.environ["INKGATE_KEY"]) as client:
    result = client.convert(source=pdf, page_range=(2, 2))
    assert list(result.document.pages) == [2]
    assert "Rainfall by station" in result.document.export_to_markdown()
    assert client.health().status == "ok"
    for chunker in ChunkerKind:
        chunks = client.chunk(source=pdf, chunker=chunker).chunks
        assert {page for chunk in chunks for page in chunk.page_numbers} == {1, 2, 3}
        assert all(chunk.doc_items and chunk.headings for chunk in chunks)
objects = {
    "pages": list(found.pages),
    "figures": [picture.self_ref for picture in found.pictures],
    "tables": [f"{table.data.num_rows}x{table.data.num_cols}" for table in found.tables],
    "headings": [text.text for text in found.texts if text.label in ("title", "section_header")],
}
print(json.dumps({"objects": objects}))
