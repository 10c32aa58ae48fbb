"""Flowcharts in Mermaid as nodes and edges: a reader of what its grammar (packages/mermaid/src/diagrams/flowchart,
version 11) allows that models write. It accepts hardly anything that Mermaid's parser refuses (docs/guides/diagrams.md
has figures), and refuses some that it accepts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import unescape

LONGEST = 100_000
"""Maximum length in characters; longer text is not read."""

_NEWLINE = re.compile(r"\r\n?")
_FRONT = re.compile(r"\A\s*---[ \t]*\n.*?\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_ASIDE = re.compile(r"^[ \t]*%%[^\n]*$", re.MULTILINE)
"""A comment, or a directive of one line."""
HEADER = re.compile(r"\s*(?:flowchart(?:-elk)?|graph)(?:[ \t]+(?:TB|TD|BT|RL|LR)[ \t]*(?:;|\n|\Z)|[ \t]*(?:\n|\Z))")
_BLANK = re.compile(r"[\s;]*")
_SPACE = re.compile(r"[ \t]*")
_STATEMENT_END = re.compile(r"[ \t]*(?:;|\n|\Z)")
_STYLING = re.compile(
    r"(?:(?:classDef|class|style|linkStyle)[ \t]+(?![-=.<>~\s])[\w,.\-]+[ \t]+[\w,.:;#%!\- \t]+"
    r'|click[ \t]+[\w.\-]+[ \t]+[^\n"{}]*(?:"[^"\n]*"[^\n"{}]*)*'
    r"|direction[ \t]+(?:TB|TD|BT|RL|LR)|acc(?:Title|Descr)[ \t]*:[^\n]*)(?=\n|\Z)"
)
# Possessive here and below, so that no run of blanks is searched from each of its blanks.
_SUBGRAPH = re.compile(
    r"subgraph(?![\w.-])"
    r'(?:[ \t]++(?:(?P<id>[^\s\[\](){}|";]++)[ \t]*+\[(?:"(?P<quoted>[^"\n]*)"|(?P<title>[^\[\](){}|"\n]++))\]'
    r'|"(?P<bare>[^"\n]*)"|(?P<name>[^\[\](){}|"\n;]++)))'
)
_END = re.compile(r"end(?=[ \t]*(?:;|\n|\Z))")
NODE_ID = re.compile(r"(?:[\w!#$%'*+.`?\\/]|-(?=[^>\-.\s]))+")
RESERVED = frozenset(
    {"end", "graph", "flowchart", "subgraph", "click", "style", "class", "classDef", "linkStyle", "direction"}
)
SHAPES = (
    ("(((", ")))"),
    ("((", "))"),
    ("([", "])"),
    ("[[", "]]"),
    ("[(", ")]"),
    ("[/", "/]"),
    ("[/", "\\]"),
    ("[\\", "\\]"),
    ("[\\", "/]"),
    ("{{", "}}"),
    ("[", "]"),
    ("(", ")"),
    ("{", "}"),
    (">", "]"),
)
"""The brackets around a node's text, the longest first."""
PLAIN = re.compile(r'[^\[\](){}|"]+')
"""Text that needs no quotes."""
_QUOTED = re.compile(r'"([^"]+)"')
_ATTRIBUTES = re.compile(r'@\{(\s*\w+:\s*(?:"[^"]*"|[\w.-]+)(?:\s*,\s*\w+:\s*(?:"[^"]*"|[\w.-]+))*\s*)\}')
_LABEL = re.compile(r'label:\s*(?:"([^"]*)"|([^,"}\n]*))')
_AND = re.compile(r"[ \t]++&\s+")
_CLASS = re.compile(r":::[\w-]+")
_EDGE_ID = re.compile(r"[A-Za-z_]\w*@(?=[xo<]?(?:--|==|-\.))")
_LINK = re.compile(r"[xo<]?--+[-xo>]|[xo<]?==+[=xo>]|[xo<]?-\.+-[xo>]?|~~~+")
_TEXT_LINK = re.compile(
    r'[xo<]?--(?:[ \t]*"(?P<a>[^"\n]*)"[ \t]*|(?P<b>(?:[^\-"\n]|-(?!-))++))--+[-xo>]'
    r'|[xo<]?==(?:[ \t]*"(?P<c>[^"\n]*)"[ \t]*|(?P<d>(?:[^="\n]|=(?!=))++))==+[=xo>]'
    r'|[xo<]?-\.(?:[ \t]*"(?P<e>[^"\n]*)"[ \t]*|(?P<f>(?:[^."\n]|\.(?![.\-]))++))\.+-[xo>]?'
)
_BAR_TEXT = re.compile(r'[ \t]*\|(?:[ \t]*"([^"]+)"[ \t]*|([^\[\](){}|"]++))\|')
_BREAK = re.compile(r"<br ?/?>|\n")
_ENTITY = re.compile(r"#(\w+);")


@dataclass(frozen=True, slots=True)
class FlowEdge:
    """An edge between two nodes, by their ids. `text`: its label. `directed`: it has an arrow's head."""

    begin: str
    end: str
    text: str = ""
    directed: bool = True


@dataclass(frozen=True, slots=True)
class FlowProblem:
    """The place at which the text stops being a flowchart. `line`: from 1."""

    line: int
    what: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.what}"


@dataclass(slots=True)
class Flowchart:
    """What could be read. `problem`: None if that is the whole text.

    Attributes:
        nodes: texts by id, in the order in which the ids come first; the id itself for nodes without a text.
        texts: of nodes, edges and subgraphs, in the order of the source.
    """

    nodes: dict[str, str] = field(default_factory=dict)
    edges: list[FlowEdge] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    problem: FlowProblem | None = None


def read_flowchart(source: str) -> Flowchart:
    """The nodes and edges of the source. Takes time linear in its length."""
    if len(source) > LONGEST:
        return Flowchart(problem=FlowProblem(1, f"longer than {LONGEST} characters"))
    reader = _FlowReader(source)
    try:
        reader.read()
    except _NoFlowchart as problem:
        line = source.count("\n", 0, min(reader.at, len(source))) + 1
        reader.found.problem = FlowProblem(min(line, source.rstrip().count("\n") + 1), str(problem))
    named = reader.labelled
    reader.found.texts = [text for name, text in reader.texts if not name or name not in named]
    return reader.found


def shown_text(label: str) -> str:
    """A label as it is shown: Mermaid's and HTML's entities replaced, line breaks as spaces."""
    label = label.strip().strip("`") if label.strip().startswith("`") else label
    return " ".join(unescape(_ENTITY.sub(r"&\1;", _BREAK.sub(" ", label))).split())


class _NoFlowchart(Exception):
    """What is wrong; where is the reader's place."""


class _FlowReader:
    def __init__(self, source: str) -> None:
        # Blanks instead of what is not read, so that lines keep their numbers.
        text = _FRONT.sub(lambda front: "\n" * front[0].count("\n"), _NEWLINE.sub("\n", source))
        self.text = _ASIDE.sub(lambda aside: " " * len(aside[0]), text)
        self.at = 0
        self.open = 0
        self.found = Flowchart()
        self.texts: list[tuple[str, str]] = []
        """Texts, with the node's id where the text is that."""
        self.labelled: set[str] = set()

    def read(self) -> None:
        header = HEADER.match(self.text)
        if header is None:
            raise _NoFlowchart("no `flowchart` with a direction")
        self.at = header.end()
        while True:
            self._skip(_BLANK)
            if self.at >= len(self.text):
                break
            self._statement()
            if _STATEMENT_END.match(self.text, self.at) is None:
                raise _NoFlowchart(f"{self._rest()!r} is not expected here")
        if self.open:
            raise _NoFlowchart("a subgraph has no `end`")

    def _statement(self) -> None:
        if (subgraph := _SUBGRAPH.match(self.text, self.at)) is not None:
            self.open += 1
            self.at = subgraph.end()
            title = next((t for t in subgraph.group("quoted", "title", "bare", "name") if t and t.strip()), "")
            self._text(title)
        elif (end := _END.match(self.text, self.at)) is not None:
            if not self.open:
                raise _NoFlowchart("`end` without a subgraph")
            self.open -= 1
            self.at = end.end()
        elif (styling := _STYLING.match(self.text, self.at)) is not None:
            self.at = styling.end()
        else:
            self._chain()

    def _chain(self) -> None:
        begins = self._nodes()
        while (edge := self._edge()) is not None:
            text, directed = edge
            self._skip(_BLANK)
            ends = self._nodes()
            self.found.edges += [FlowEdge(a, b, text, directed) for a in begins for b in ends]
            begins = ends

    def _nodes(self) -> list[str]:
        ids = [self._node()]
        while True:
            both = _AND.match(self.text, self.at)
            if both is None:
                return ids
            self.at = both.end()
            ids.append(self._node())

    def _node(self) -> str:
        found = NODE_ID.match(self.text, self.at)
        if found is None:
            raise _NoFlowchart(f"a node is expected, not {self._rest()!r}")
        name = found[0]
        if name in RESERVED:
            raise _NoFlowchart(f"{name!r} is a reserved word")
        self.at = found.end()
        label = self._label()
        if label is not None:
            self.found.nodes[name] = shown_text(label)
            self.labelled.add(name)
            self._text(label)
        elif name not in self.found.nodes:
            self.found.nodes[name] = name
            self.texts.append((name, name))
        if (styled := _CLASS.match(self.text, self.at)) is not None:
            self.at = styled.end()
        return name

    def _label(self) -> str | None:
        """The node's text; None if it has none."""
        if (attributes := _ATTRIBUTES.match(self.text, self.at)) is not None:
            self.at = attributes.end()
            label = _LABEL.search(attributes[1])
            return None if label is None else label[1] or label[2]
        openers = [pair for pair in SHAPES if self.text.startswith(pair[0], self.at)]
        for opener, closer in openers:
            begin = self.at + len(opener)
            quoted = _QUOTED.match(self.text, begin)
            if quoted is not None and self.text.startswith(closer, quoted.end()):
                self.at = quoted.end() + len(closer)
                return quoted[1]
            if (plain := self._plain(begin, opener, closer)) is not None:
                self.at = begin + len(plain) + len(closer)
                return plain
        if openers:
            raise _NoFlowchart(f"the text {self._rest()!r} must be in quotes, or has no end")
        return None

    def _plain(self, begin: int, opener: str, closer: str) -> str | None:
        """The unquoted text from `begin` on, up to `closer`; None if it is none."""
        plain = PLAIN.match(self.text, begin)
        if plain is None:
            return None
        text = plain[0]
        if closer[0] in "/\\":
            text = text[:-1] if text.endswith(closer[0]) else ""
        elif opener in "[(" and text.startswith(("/", "\\") if opener == "[" else "-"):
            return None
        return text if text and self.text.startswith(closer, begin + len(text)) else None

    def _edge(self) -> tuple[str, bool] | None:
        """The text of the edge here, and whether it has an arrow's head; None if there is none."""
        place = self.at
        self._skip(_SPACE)
        if (named := _EDGE_ID.match(self.text, self.at)) is not None:
            self.at = named.end()
        link = _LINK.match(self.text, self.at)
        written = link or _TEXT_LINK.match(self.text, self.at)
        if written is None:
            self.at = place
            return None
        self.at = written.end()
        text = "" if link else next((t for t in written.group("a", "b", "c", "d", "e", "f") if t), "")
        if link and (bar := _BAR_TEXT.match(self.text, self.at)) is not None:
            self.at = bar.end()
            text = bar[1] or bar[2] or ""
        self._text(text)
        return shown_text(text), written[0].endswith((">", "x", "o")) or written[0].startswith("<")

    def _text(self, text: str) -> None:
        if shown := shown_text(text):
            self.texts.append(("", shown))

    def _skip(self, blank: re.Pattern[str]) -> None:
        found = blank.match(self.text, self.at)
        self.at = self.at if found is None else found.end()

    def _rest(self) -> str:
        return self.text[self.at : self.at + 40].split("\n", 1)[0]
