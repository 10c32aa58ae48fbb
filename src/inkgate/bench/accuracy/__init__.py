"""How well an engine reads, on documents whose content is known. docs/guides/accuracy.md defines the figures."""
