"""The web page: documents dropped on it are read by the service beside it, which it asks through `inkgate.client`.

Needs `inkgate[ui]`. Nothing here is imported before the service answers: Gradio takes seconds to load.
"""
