"""Instructor over OpenAI's client: an answer in JSON becomes an object."""

import json
import os

import instructor
from openai import OpenAI
from pydantic import BaseModel


class Invoice(BaseModel):
    number: str


client = instructor.from_openai(
    OpenAI(api_key=os.environ["INKGATE_KEY"], base_url=f"{os.environ['INKGATE_URL']}/v1"), mode=instructor.Mode.JSON
)
invoice = client.chat.completions.create(
    model=os.environ["INKGATE_MODEL"], response_model=Invoice, messages=[{"role": "user", "content": "The invoice?"}]
)
assert isinstance(invoice, Invoice)
assert invoice.number == "20417"
print(json.dumps(invoice.model_dump()))
