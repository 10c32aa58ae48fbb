"""An agent of Pydantic AI that gets an image."""

import json
import os
from pathlib import Path

from pydantic_ai import Agent, BinaryContent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

provider = OpenAIProvider(base_url=f"{os.environ['INKGATE_URL']}/v1", api_key=os.environ["INKGATE_KEY"])
agent = Agent(OpenAIChatModel(os.environ["INKGATE_MODEL"], provider=provider))
image = Path(os.environ["DOCUMENTS"], "line.png").read_bytes()
run = agent.run_sync([BinaryContent(data=image, media_type="image/png"), "OCR:"])
assert run.output == "Invoice number 20417", run
print(
    json.dumps(
        {"text": run.output, "requests": run.usage.requests if not callable(run.usage) else run.usage().requests}
    )
)
