"""docling-serve-client: a file within its request, and by a task."""

import json
import os
from pathlib import Path

from docling_serve_sdk import DoclingClient
from docling_serve_sdk.models import HybridChunkerOptions

pdf = Path(os.environ["DOCUMENTS"]) / "three.pdf"
with DoclingClient(os.environ["INKGATE_URL"], api_key=os.environ["INKGATE_KEY"]) as client:
    assert client.health_check().status == "ok"
    assert client.version_info()
    document = client.convert_file(pdf).document
    # Its default is to embed images.
    assert document.md_content.count("](data:image/") == 3
    assert "Rainfall by station" in document.md_content
    task = client.convert_file_async_task(pdf)
    later = client.wait_for_task(task.task_id)
    assert later["document"]["md_content"] == document.md_content
    chunks = client.chunk_hybrid_file(pdf, chunking_options=HybridChunkerOptions(max_tokens=128)).chunks
    assert {page for chunk in chunks for page in chunk.page_numbers} == {1, 2, 3}
    assert all(chunk.num_tokens <= 128 and chunk.headings for chunk in chunks)
    assert any("| --- |" in chunk.text for chunk in chunks)
print(json.dumps({"characters": len(document.text_content), "status": later["status"], "chunks": len(chunks)}))
