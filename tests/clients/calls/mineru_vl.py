"""mineru-vl-utils calls a model on a server, whose name it takes from the list of models."""

import json
import os
from pathlib import Path

os.environ["MINERU_VL_API_KEY"] = os.environ["INKGATE_KEY"]
from mineru_vl_utils import MinerUClient
from PIL import Image

client = MinerUClient(backend="http-client", server_url=os.environ["INKGATE_URL"])
image = Image.open(Path(os.environ["DOCUMENTS"], "line.png")).convert("RGB")
text = client.client.predict(image, "OCR:")
assert text == "Invoice number 20417", text
print(json.dumps({"text": text}))
