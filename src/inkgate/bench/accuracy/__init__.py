"""How well an engine reads, measured on documents whose content is known. docs/evaluation.md defines the figures."""
