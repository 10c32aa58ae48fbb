"""Accuracy of an engine on documents whose content is known. docs/guides/accuracy.md defines the figures."""
