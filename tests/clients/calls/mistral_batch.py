"""A batch of Mistral with the lines in the request, whose output file is downloaded."""

import base64
import json
import os
import time
from pathlib import Path

from mistralai.client import Mistral

client = Mistral(api_key=os.environ["INKGATE_KEY"], server_url=os.environ["INKGATE_URL"])
data = base64.b64encode(Path(os.environ["DOCUMENTS"], "report.png").read_bytes()).decode()
document = {"type": "image_url", "image_url": f"data:image/png;base64,{data}"}
lines = [{"custom_id": f"page-{number}", "body": {"document": document}} for number in range(2)]
content = "".join(json.dumps(line) + "\n" for line in lines).encode()
uploaded = client.files.upload(file={"file_name": "lines.jsonl", "content": content}, purpose="batch")
job = client.batch.jobs.create(input_files=[uploaded.id], model="mistral-ocr-latest", endpoint="/v1/ocr")
while job.status in {"QUEUED", "RUNNING"}:
    time.sleep(0.5)
    job = client.batch.jobs.get(job_id=job.id)
assert job.status == "SUCCESS", job
assert (job.total_requests, job.succeeded_requests, job.failed_requests) == (2, 2, 0)
output = client.files.download(file_id=job.output_file)
answers = [json.loads(line) for line in output.read().decode().splitlines()]
assert {answer["custom_id"] for answer in answers} == {"page-0", "page-1"}
assert all("Gaza & West Bank" in answer["response"]["body"]["pages"][0]["markdown"] for answer in answers)
assert job.id in {listed.id for listed in client.batch.jobs.list().data}
print(json.dumps({"status": job.status, "lines": len(answers)}))
