"""PDF: renders pages and reads their text layer in worker processes. A hostile file can crash only its worker.

In the service: pool.py (documents and their calls, in the pool of workers/pool.py). In the worker: worker.py (the
loop), pdfium.py, characters.py and objects.py (the library), examine.py (a page before it is rendered), text_layer.py
(characters to lines), trust.py (whether to use the text layer). Between them: wire.py, facts.py.

This module imports nothing: workers import it at start, and must start fast. The service never loads pdfium.
"""
