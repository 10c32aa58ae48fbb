"""Models in processes of their own, since one process computes no faster than Python's lock lets it."""
