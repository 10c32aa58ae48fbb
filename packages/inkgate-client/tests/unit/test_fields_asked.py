"""What is asked for, in any form."""

from __future__ import annotations

from pydantic import BaseModel

from inkgate_client.fields.asked import WantedFields, instance_of


class Slip(BaseModel):
    total: float


def test_a_type_a_schema_a_class_and_names_are_told_apart() -> None:
    schema = Slip.model_json_schema()
    assert WantedFields.of("receipt") == WantedFields(type="receipt")
    assert WantedFields.of(' {"type": "object"}') == WantedFields(schema=' {"type": "object"}')
    assert WantedFields.of(schema) == WantedFields(schema=schema)
    assert WantedFields.of(Slip) == WantedFields(schema=Slip)
    assert WantedFields.of(["total", "date"], {"total": 1}) == WantedFields(names=("total", "date"), data={"total": 1})
    assert WantedFields.of(None) == WantedFields()


def test_values_that_a_class_does_not_take_are_not_in_its_reasons() -> None:
    assert instance_of(Slip, {"total": 2}) == (Slip(total=2), ())
    missing, reasons = instance_of(Slip, {"total": "secret"})
    assert missing is None
    assert len(reasons) == 1
    assert reasons[0].startswith("/total: ")
    assert "secret" not in reasons[0]
