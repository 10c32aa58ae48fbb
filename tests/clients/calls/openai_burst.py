"""150 chat completions at once with the defaults of openai: all are answered, and none is sent again."""

import asyncio
import base64
import json
import os
from pathlib import Path

import httpx2
from openai import AsyncOpenAI, DefaultAsyncHttpxClient

data = base64.b64encode(Path(os.environ["DOCUMENTS"], "line.png").read_bytes()).decode()
image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
messages = [{"role": "user", "content": [image, {"type": "text", "text": "OCR:"}]}]
statuses: list[int] = []


async def on_response(response: httpx2.Response) -> None:
    statuses.append(response.status_code)


async def main() -> None:
    client = AsyncOpenAI(
        api_key=os.environ["INKGATE_KEY"],
        base_url=f"{os.environ['INKGATE_URL']}/v1",
        http_client=DefaultAsyncHttpxClient(event_hooks={"response": [on_response]}),
    )
    model = os.environ["INKGATE_MODEL"]
    calls = (client.chat.completions.create(model=model, messages=messages, temperature=0) for _ in range(150))
    answers = await asyncio.gather(*calls)
    texts = {answer.choices[0].message.content for answer in answers}
    assert texts == {"Invoice number 20417"}, texts
    assert statuses == [200] * 150, statuses
    print(json.dumps({"answered": len(answers), "text": texts.pop()}))


asyncio.run(main())
