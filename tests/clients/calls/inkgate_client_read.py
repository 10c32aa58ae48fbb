"""inkgate's own client, alone in its environment: a document as objects, and as a Word file."""

import json
import os
from pathlib import Path

from inkgate_client import InkgateClient
from inkgate_client.types import BlockType

with InkgateClient(os.environ["INKGATE_URL"], key=os.environ["INKGATE_KEY"]) as client:
    document = client.read(Path(os.environ["DOCUMENTS"], "three.pdf"), images=True)
    document.save("three.docx")
assert Path("three.docx").read_bytes().startswith(b"PK")
blocks = [block for page in document.pages for block in page.blocks]
objects = {
    "pages": [page.index for page in document.pages],
    "figures": [block.image.name for block in blocks if block.type is BlockType.FIGURE],
    "tables": [f"{len(table.rows)}x{len(table.rows[0])}" for table in document.tables],
    "headings": [block.text for block in blocks if block.type is BlockType.TITLE],
}
print(json.dumps({"objects": objects, "status": document.status}))
