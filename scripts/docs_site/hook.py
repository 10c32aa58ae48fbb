"""Hooks of mkdocs: put the generated parts into the pages, and keep the site free of what it does not need."""

from __future__ import annotations

import posixpath
import re
import shutil
from pathlib import Path

from command_line import commands_markdown
from cost_tables import activities_markdown, routes_markdown
from http_api import operations_markdown, schemas_markdown
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.pages import Page

GENERATED = {
    "<!-- site: operations -->": operations_markdown,
    "<!-- site: schemas -->": schemas_markdown,
    "<!-- site: commands -->": commands_markdown,
    "<!-- site: activities -->": activities_markdown,
    "<!-- site: routes -->": routes_markdown,
}
_MENTION = re.compile(r"(?<![\w/`\[(])docs/([\w/-]+)\.md(?![\w`\])])")
_EXTERNAL = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)=[\"']?(?:https?:)?//", re.IGNORECASE)
_CODE_ITEM = re.compile(r"^- `(\w+)` \(", re.MULTILINE)


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """The page with each marker line replaced by its generated part."""
    for marker, generate in GENERATED.items():
        if marker in markdown:
            markdown = markdown.replace(marker, generate())
    if page.file.src_uri == "reference/errors.md":  # each code is an address: reference/errors/#pdf_encrypted
        markdown = _CODE_ITEM.sub(r'- <a id="\1"></a>`\1` (', markdown)
    return _MENTION.sub(lambda found: _link(found[1], page.file.src_uri), markdown)


def _link(name: str, source: str) -> str:
    """Converts a page's path, as it appears in help and messages, to a link from the page `source`."""
    return f"[{name}]({posixpath.relpath(f'{name}.md', posixpath.dirname(source))})"


def on_post_build(config: MkDocsConfig, **_: object) -> None:
    """Leave out what the packaged site does not need, and fail if a page loads anything from elsewhere."""
    site = Path(config.site_dir)
    shutil.rmtree(site / "assets" / "javascripts" / "lunr", ignore_errors=True)  # for searches in other languages
    for pattern in ("404.html", "sitemap.xml*", "objects.inv", "**/*.map"):
        for path in site.glob(pattern):
            path.unlink()
    loading = [page for page in site.rglob("*.html") if _EXTERNAL.search(page.read_text(encoding="utf-8"))]
    if loading:
        raise PluginError(f"These pages load something from another host: {', '.join(map(str, loading))}")
