"""The web page: it sends documents to the service through `inkgate.client`.

Needs `inkgate[ui]`. The service imports it after the start, because Gradio takes seconds to load.
"""
