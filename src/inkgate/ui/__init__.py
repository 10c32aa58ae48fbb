"""The web page: static files in `assets`, which call the HTTP API from the browser (docs/start/web-page.md)."""
