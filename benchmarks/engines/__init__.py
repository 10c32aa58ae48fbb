"""The embedded engine compared with others, step by step, and behind HTTP. See __main__ and service."""
