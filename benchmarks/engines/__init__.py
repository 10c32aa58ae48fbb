"""The embedded engine beside others, step by step, and behind HTTP. See __main__ and service."""
