"""mineru-vl-utils: the two steps of MinerU's vision-language model, by its HTTP client."""

import json
import os
from pathlib import Path

from mineru_vl_utils import MinerUClient
from PIL import Image

client = MinerUClient(
    backend="http-client",
    server_url=os.environ["INKGATE_URL"],
    server_headers={"Authorization": f"Bearer {os.environ['INKGATE_KEY']}"},
)
image = Image.open(Path(os.environ["DOCUMENTS"], "report.png")).convert("RGB")
blocks = client.two_step_extract(image)
assert [(block.type, block.content) for block in blocks] == [("text", "Invoice number 20417")], blocks
print(json.dumps({"blocks": [[block.type, block.content] for block in blocks]}))
