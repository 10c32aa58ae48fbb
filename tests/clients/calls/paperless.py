"""The calls of paperless-ngx's remote OCR: the text, and a searchable PDF."""

import json
import os
from pathlib import Path

from azure.ai.documentintelligence import DocumentIntelligenceClient
from azure.ai.documentintelligence.models import AnalyzeDocumentRequest, AnalyzeOutputOption, DocumentContentFormat
from azure.core.credentials import AzureKeyCredential

client = DocumentIntelligenceClient(
    endpoint=os.environ["INKGATE_URL"], credential=AzureKeyCredential(os.environ["INKGATE_KEY"])
)
request = AnalyzeDocumentRequest(bytes_source=Path(os.environ["DOCUMENTS"], "three.pdf").read_bytes())
poller = client.begin_analyze_document(
    model_id="prebuilt-read",
    body=request,
    output_content_format=DocumentContentFormat.TEXT,
    output=[AnalyzeOutputOption.PDF],
    content_type="application/json",
)
poller.wait()
result = poller.result()
assert "Rainfall by station" in result.content, result.content
pdf = b"".join(client.get_analyze_result_pdf(model_id="prebuilt-read", result_id=poller.details["operation_id"]))
assert pdf.startswith(b"%PDF-")
client.close()
print(json.dumps({"characters": len(result.content), "pdf_bytes": len(pdf)}))
