"""PDF: pages rendered, and their own text read, in worker processes that hostile files can only take down alone.

On the service's side: pool.py (who runs next), jobs.py (what is asked, and of which document), lane.py (one worker at a
time, replaced when it fails), process.py (the operating system's side of it). In the worker: worker.py (the loop),
pdfium.py, characters.py and objects.py (the library), text_layer.py (characters to lines), trust.py (whether to believe
them). Between them: wire.py, shared.py.

Nothing is imported here: a worker starts by importing this package, and must start fast.
"""
