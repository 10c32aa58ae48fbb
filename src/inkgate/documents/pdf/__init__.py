"""PDF: renders pages and reads their text layer in worker processes. A hostile file can crash only its worker.

In the service: pool.py (scheduling), jobs.py (calls and their documents), lane.py (one worker at a time, replaced when
it fails), process.py (the worker's process). In the worker: worker.py (the loop), pdfium.py, characters.py and
objects.py (the library), text_layer.py (characters to lines), trust.py (whether to use the text layer). Between them:
wire.py, shared.py.

This module imports nothing: workers import it at start, and must start fast.
"""
