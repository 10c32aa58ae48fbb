"""Runs models in worker processes, because Python's global lock limits a single process."""
