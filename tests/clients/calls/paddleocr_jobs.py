"""PaddleOCR's own API client reads a document by its job API, saves the figures, and reads lines of some pages."""

import json
import os
from pathlib import Path

from paddleocr import Model, PaddleOCRClient

document = str(Path(os.environ["DOCUMENTS"]) / "three.pdf")
with PaddleOCRClient(token=os.environ["INKGATE_KEY"], base_url=os.environ["INKGATE_URL"]) as client:
    found = client.parse_document(file_path=document)
    saved = client.save_document_parsing_result_resources(found, ".")
    structured = client.parse_document(file_path=document, model=Model.PP_STRUCTURE_V3)
    lines = client.ocr(file_path=document, page_ranges="2-3", batch_id="a batch")
    batch = client.get_batch_status("a batch")
texts = [page.markdown_text for page in found.pages]
assert [text.split("\n")[0].lstrip("# ") for text in texts] == [
    "Survey of the northern hills",
    "Rainfall by station",
    "Results and outlook",
], texts
assert all(f'src="{name}"' in page.markdown_text for page in found.pages for name in page.markdown_images)
assert len(saved) == len({Path(path).read_bytes() for path in saved}) == 3, saved
assert found.data_info["numPages"] == 3
(table,) = structured.pages[1].pruned_result["table_res_list"]
assert "<td>Algeria</td><td>120</td><td>310</td>" in table["pred_html"]
assert "Rainfall by station" in structured.pages[1].pruned_result["overall_ocr_res"]["rec_texts"]
first = [page.pruned_result["rec_texts"][0] for page in lines.pages]
assert first == ["Rainfall by station", "Results and outlook"], first
assert [(job.job_id, job.state, job.progress.extracted_pages) for job in batch.jobs] == [(lines.job_id, "done", 2)]
print(json.dumps({"pages": len(texts), "figures": [Path(path).name for path in saved], "lines": first}))
