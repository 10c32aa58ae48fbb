"""The documentation at `/docs/guide/`: the site that `make site` builds and `make wheel` packs, with generated parts of
the reference; in other installations the same pages of docs/, rendered when they are requested.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs

from fastapi import FastAPI
from markdown_it import MarkdownIt
from markdown_it.token import Token
from starlette.datastructures import URL
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

import inkgate
from inkgate.api.http.auth import GUIDE
from inkgate.settings import Settings
from inkgate_client.concurrency import Threads

_PACKAGE: Final = Path(inkgate.__file__).parent
SITE = _PACKAGE / "guide"
SOURCES = (_PACKAGE / "documentation", _PACKAGE.parents[1])
"""Where docs/ and examples/ may be: in an installed package (scripts/wheel_hook.py), and in a checkout."""

_FOLDERS: Final = ("start", "guides", "reference", "concepts", "operations", "contributing")
_SNIPPETS: Final = ("docs/assets/gallery", "docs/assets/formats", "examples/extending")
_MARKERS: Final = {
    "operations": '<a id="read-documents"></a>The page [/docs](OPENAPI) shows every operation, parameter and response.',
    "schemas": "The same page lists the schemas.",
    "commands": "`inkgate --help` lists the commands; `inkgate COMMAND --help` explains one.",
    "activities": "The site that `make site` builds has this table.",
    "routes": "The site that `make site` builds has this list.",
}
"""What stands for the parts that are generated when the site is built (scripts/docs_site/hook.py)."""
_FENCE: Final = re.compile(r"^(```+) ?\{ ?\.(\w+) ?\}$", re.MULTILINE)
_SNIPPET: Final = re.compile(r'^--8<-- "(\S+)"$', re.MULTILINE)
_MARKER: Final = re.compile(r"^<!-- site: (\w+) -->$", re.MULTILINE)
_DOCSTRING: Final = re.compile(r"^::: (\S+)$", re.MULTILINE)
_ERROR_CODE: Final = re.compile(r"^- `(\w+)` \(", re.MULTILINE)
_HEADING: Final = re.compile(r"#+ +(.+)")
_RELATIVE: Final = re.compile(r"(?![a-z]+:|/|#)")
_MAX_QUERY: Final = 200
_MAX_RESULTS: Final = 100

_PAGE: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title} - inkgate</title>
<style>
  :root {{ color-scheme: light dark; --line: #8884; --back: #8881 }}
  body {{ font: 16px/1.55 system-ui, sans-serif; margin: 0 auto; max-width: 76rem; padding: 0 1rem; display: grid;
    grid-template-columns: 15rem minmax(0, 1fr); gap: 2rem }}
  nav {{ font-size: .9rem; padding: 1.5rem 0; position: sticky; top: 0; max-height: 100vh; overflow: auto;
    box-sizing: border-box }}
  nav ul {{ list-style: none; margin: .2rem 0 .8rem; padding-left: .9rem }}
  nav summary {{ cursor: pointer; text-transform: capitalize }}
  nav input {{ font: inherit; width: 100%; box-sizing: border-box; margin: .8rem 0; padding: .3rem .5rem }}
  [aria-current] {{ font-weight: 600 }}
  main {{ padding: 1rem 0 4rem; overflow-wrap: break-word }}
  h2 {{ border-top: 1px solid var(--line); padding-top: 1rem; margin-top: 2rem }}
  a {{ color: #3f51b5 }}
  @media (prefers-color-scheme: dark) {{ body {{ background: #14151a; color: #e8e8ec }} a {{ color: #9fa8da }} }}
  pre {{ background: var(--back); padding: .8rem 1rem; overflow: auto; line-height: 1.4 }}
  code {{ font-size: .88em; background: var(--back); padding: .1em .25em }}
  pre code {{ background: none; padding: 0 }}
  table {{ border-collapse: collapse; display: block; overflow-x: auto; font-size: .92rem }}
  th, td {{ border: 1px solid var(--line); padding: .35rem .6rem; text-align: left; vertical-align: top }}
  img {{ max-width: 100% }}
  .gallery {{ display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 1rem; align-items: start }}
  .gallery > div {{ max-height: 40rem; overflow: auto; font-size: .75rem }}
  @media (max-width: 48rem) {{ body, .gallery {{ display: block }} nav {{ position: static; padding-bottom: 0 }} }}
</style>
<nav>
<a href="{home}">inkgate</a>
<form action="{home}"><input type="search" name="q" placeholder="Search" aria-label="Search" value="{query}"></form>
{menu}
</nav>
<main>
{body}
</main>
</html>
"""


def add_guide(app: FastAPI) -> None:
    """Serves the site, or else the pages of docs/. Without either, there is no such path."""
    root = next((place for place in SOURCES if (place / "docs" / "index.md").is_file()), None)
    if (SITE / "index.html").is_file():
        app.mount(GUIDE, StaticFiles(directory=SITE, html=True), name="guide")
    elif root is not None:
        app.mount(GUIDE, GuidePages(root), name="guide")


def guide_url(settings: Settings) -> str:
    """The base of links to the documentation, with a slash at the end: `docs.url`, else this service's own."""
    return f"{(settings.docs.url or settings.server.root_path + GUIDE).rstrip('/')}/"


class GuidePages(StaticFiles):
    """The pages and pictures in `docs/` of the folder `root`, at the addresses that they have in the built site."""

    def __init__(self, root: Path) -> None:
        super().__init__(directory=root / "docs")
        self._root = root
        self._threads = Threads("guide", 1)

    @cached_property
    def _pages(self) -> Mapping[str, Path]:
        docs = self._root / "docs"
        return {_address(file.relative_to(docs).as_posix()): file for file in sorted(docs.rglob("*.md"))}

    @cached_property
    def _titles(self) -> Mapping[str, str]:
        texts = {address: file.read_text(encoding="utf-8") for address, file in self._pages.items()}
        return {address: next(_sections(text))[0] for address, text in texts.items()}

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The page or picture at `path`, which has no slash at its end."""
        address = path.strip("./")
        if address not in self._pages:
            return await super().get_response(path, scope)
        url = URL(scope=scope)
        if not url.path.endswith("/"):
            return RedirectResponse(url.replace(path=f"{url.path}/"), 307)
        query = parse_qs(scope["query_string"].decode("latin-1")).get("q", [""])[0][:_MAX_QUERY]
        return HTMLResponse(await self._threads.run(self._whole_page, address, query))

    def _whole_page(self, address: str, query: str) -> str:
        words = dict.fromkeys(query.lower().split())
        body = _results(query, list(self._found(list(words), address))) if words else self._rendered(address)
        title = f"Search: {query}" if words else self._titles[address]
        return _PAGE.format(
            title=escape(title),
            home=_link("", address),
            query=escape(query),
            menu="\n".join(self._menu(address)),
            body=body,
        )

    def _menu(self, current: str) -> Iterator[str]:
        for folder in _FOLDERS:
            opened = " open" if (current or "start/").startswith(f"{folder}/") else ""
            yield f"<details{opened}><summary>{folder}</summary><ul>"
            for address, title in self._titles.items():
                if address.startswith(f"{folder}/"):
                    here = ' aria-current="page"' if address == current else ""
                    yield f'<li><a href="{_link(address, current)}"{here}>{escape(title)}</a></li>'
            yield "</ul></details>"

    def _found(self, words: list[str], current: str) -> Iterator[tuple[str, str, str]]:
        """The address, title and text of each section that has all the words."""
        for address, file in self._pages.items():
            anchors: dict[str, int] = {}
            for heading, text in _sections(file.read_text(encoding="utf-8")):
                anchor = _anchor(heading, anchors)
                lower = f"{heading} {text}".lower()
                if all(word in lower for word in words):
                    title = self._titles[address]
                    name = title if heading == title else f"{title}: {heading}"
                    yield f"{_link(address, current)}#{anchor}", name, _around(words[0], _plain(text))

    def _rendered(self, address: str) -> str:
        tokens = _MARKDOWN.parse(self._source(address))
        place = posixpath.dirname(f"{self._pages[address].relative_to(self._root / 'docs').as_posix()}")
        anchors: dict[str, int] = {}
        for before, token in zip([None, *tokens], tokens, strict=False):
            if before is not None and before.type == "heading_open":
                before.attrSet("id", _anchor(_plain(token.content), anchors))
            for child in token.children or ():
                _redirect(child, place, address)
        return str(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {}))

    def _source(self, address: str) -> str:
        """The Markdown of the page, with the files that it shows."""
        text = self._pages[address].read_text(encoding="utf-8")
        text = _MARKER.sub(lambda found: _MARKERS[found[1]].replace("OPENAPI", _link("..", address)), text)
        text = _DOCSTRING.sub(r"- `\1`: `python -m pydoc \1`", _FENCE.sub(r"\1\2", text))
        if address == "reference/errors":  # each code is an address, as in the built site
            text = _ERROR_CODE.sub(r'- <a id="\1"></a>`\1` (', text)
        return _SNIPPET.sub(lambda found: self._snippet(found[1]), text)

    def _snippet(self, name: str) -> str:
        files = (self._root / folder / name for folder in _SNIPPETS)
        return next((file.read_text(encoding="utf-8").strip("\n") for file in files if file.is_file()), name)


_MARKDOWN: Final = MarkdownIt("commonmark").enable("table")


def _address(name: str) -> str:
    """The address of a page below the guide: `start/install` of `start/install.md`, empty of `index.md`."""
    return "" if name == "index.md" else name.removesuffix(".md")


def _sections(text: str) -> Iterator[tuple[str, str]]:
    """The headings of a page, each with the lines below it."""
    heading, lines, in_code = "", list[str](), False
    for line in text.splitlines():
        in_code ^= line.lstrip().startswith("```")
        if in_code or (found := _HEADING.fullmatch(line)) is None:
            lines.append(line)
            continue
        if heading:
            yield heading, "\n".join(lines)
        heading, lines = _plain(found[1]), []
    yield heading, "\n".join(lines)


def _plain(text: str) -> str:
    """Markdown of a line without its marks."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("`", "").replace("*", "")


def _link(target: str, current: str) -> str:
    """The relative address of a page from another. Both are addresses with a slash at the end."""
    return f"{posixpath.relpath(target or '.', current or '.')}/"


def _anchor(heading: str, used: dict[str, int]) -> str:
    """The anchor of a heading, as Python-Markdown makes it; `used`: how often the page has each."""
    anchor = re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())
    used[anchor] = used.get(anchor, -1) + 1
    return f"{anchor}_{used[anchor]}" if used[anchor] else anchor


def _redirect(token: Token, place: str, address: str) -> None:
    """Points a link or picture of the file in the folder `place` of docs/ to what the page at `address` has there."""
    name = {"link_open": "href", "image": "src"}.get(token.type, "")
    target = str(token.attrGet(name) or "") if name else ""
    if not target or not _RELATIVE.match(target) or not (path := target.partition("#")[0]):
        return
    fragment = target.removeprefix(path)
    path = posixpath.normpath(posixpath.join(place, path))
    if path.endswith(".md"):
        token.attrSet(name, f"{_link(_address(path), address)}{fragment}")
    elif token.type == "image" or not path.startswith(".."):
        token.attrSet(name, f"{posixpath.relpath(path, address or '.')}{fragment}")


def _around(word: str, text: str) -> str:
    """The part of a text around a word."""
    text = " ".join(text.split())
    begin = max(text.lower().find(word) - 80, 0)
    return f"{'... ' if begin else ''}{text[begin : begin + 240]} ..."


def _results(query: str, found: Sequence[tuple[str, str, str]]) -> str:
    shown = found[:_MAX_RESULTS]
    rows = [f'<li><a href="{href}">{escape(title)}</a><br>{escape(text)}</li>' for href, title, text in shown]
    return f"<h1>{len(found)} sections have {escape(query)}</h1>\n<ul>\n" + "\n".join(rows) + "\n</ul>"
