"""Document types outside of inkgate: the YAML files in the folder `types`."""

from pathlib import Path

from inkgate.fields.document_types import TypePackage

TYPES = TypePackage(Path(__file__).parent / "types")
