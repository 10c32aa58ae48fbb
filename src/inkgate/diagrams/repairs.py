"""Repairs of flowcharts: the usual errors of models, each changed only in lines that are no Mermaid as they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator

from inkgate.diagrams.flowchart import HEADER, LONGEST, PLAIN, SHAPES, Flowchart, read_flowchart
from inkgate_client.diagram import DiagramRepair

MAX_LINES = 2000
"""Longer diagrams are not repaired."""
_LONGEST_LINE = 500
_LOOSE_HEADER = re.compile(
    r"\A\s*(?P<word>flowchart|graph)(?:[ \t]+(?P<way>TB|TD|BT|RL|LR)\b)?[ \t]*[:;]?[ \t]*(?P<rest>[^\n]*)",
    re.IGNORECASE,
)
_ESCAPED = re.compile(r"--?&gt;|==?&gt;|-\.-&gt;|&lt;--|&amp;(?=[ \t])")
_END_ID = re.compile(r"(?P<before>(?:^|[;&|>\-=ox.~])[ \t]*)end(?=[ \t]*(?:[\[({>&;]|-|=|\Z|@|:::))")
_END_STYLED = re.compile(r"^([ \t]*(?:style|class|click)[ \t]+)end\b")
_WIDE = str.maketrans("（）［］【】｛｝", "()[][]{}")
_WIDE_SHAPES = {"（": "(", "［": "[", "【": "[", "｛": "{"}
_CURLY = ("“", "”")
_LINE_END = re.compile(r"[ \t]*(?:[;；][ \t]*)?\Z")
_LOOSE_LINK = re.compile(
    r"[ \t]*(?P<link>[xo<]?(?:--+[-xo>]|==+[=xo>]|-\.+->?)|~~~+"
    r"|(?P<wide>[－—–]+[>＞]|[－-]+＞|→|⟶|➔|➜)|(?P<thick>⇒|=>)|(?P<thin>->))[ \t]*"
    r"(?P<bar>[|｜])?"
)
_LOOSE_TEXT = re.compile(r"[ \t]*--[ \t]*(?P<text>[^\n]{1,200}?)[ \t]*--+>[ \t]*")
_LOOSE_BAR = re.compile(r"(?P<text>.{0,200}?)[|｜](?=[ \t]*[\w])")
_LOOSE_ID = re.compile(r"(?:[\w!#$%'*+.`?\\/]|-(?=[^>\-.\s])|=(?![=>]))+")
_AND = re.compile(r"[ \t]*&[ \t]*")
_CLASS = re.compile(r":::[\w-]+")
_UNCHANGED = re.compile(
    r"[ \t]*(?:subgraph|end|direction|classDef|class|style|linkStyle|click|%%|acc(?:Title|Descr))(?!\w)"
)
_SUBGRAPH = re.compile(r"(?P<begin>[ \t]*subgraph[ \t]+[^\s\[\](){}|\"]+[ \t]*\[)(?P<title>[^\n]+)\][ \t]*\Z")


def repaired(source: str) -> tuple[str, tuple[DiagramRepair, ...], Flowchart]:
    """The source as a flowchart, what had to be changed, and its content.

    If no repair helps, the source stays as it is, and the content has the problem.
    """
    found = read_flowchart(source)
    if found.problem is None or len(source) > LONGEST or source.count("\n") > MAX_LINES:
        return source, (), found
    made: list[DiagramRepair] = []
    for text, repairs in _attempts(source):
        changed = read_flowchart(text)
        if changed.problem is None and changed.nodes:
            made = [repair for repair in DiagramRepair if repair in repairs]
            return text, tuple(made), changed
    return source, (), found


def _attempts(source: str) -> Iterator[tuple[str, set[DiagramRepair]]]:
    """Changed sources, those with fewer changes first."""
    made: set[DiagramRepair] = set()
    text, header = _with_header(source)
    if header:
        made.add(DiagramRepair.HEADER)
        yield text, made
    if (plain := _ESCAPED.sub(_unescaped, text)) != text:
        made.add(DiagramRepair.ESCAPES)
        text = plain
        yield text, made
    head, *lines = text.split("\n")
    named = _unused_end(text)
    changed: list[str] = []
    for line in lines:
        fixed, repairs = _line(line, named)
        made |= repairs
        changed.append(fixed)
    if DiagramRepair.RESERVED in made:
        changed = [_END_STYLED.sub(rf"\g<1>{named}", line) for line in changed]
    yield "\n".join([head, *changed]), made
    made = made | {DiagramRepair.UNFINISHED}
    while changed and not changed[-1].strip():
        changed.pop()
    if changed and _is_cut_off(changed[-1]):
        changed.pop()
    yield "\n".join([head, *changed]) + "\nend" * _open_subgraphs(changed), made


def _with_header(source: str) -> tuple[str, bool]:
    """The source with a header on a line of its own, and whether that is a change."""
    if HEADER.match(source) is not None:
        return source, False
    loose = _LOOSE_HEADER.match(source)
    if loose is None:
        return f"flowchart TD\n{source.strip()}", True
    header = f"{loose['word'].lower()} {(loose['way'] or 'TD').upper()}"
    rest = f"\n{loose['rest']}" if loose["rest"].strip() else ""
    text = header + rest + source[loose.end() :]
    return text, text != source


def _unescaped(match: re.Match[str]) -> str:
    return match[0].replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&")


def _unused_end(text: str) -> str:
    """A name for a node called `end`."""
    name = "end_"
    while re.search(rf"\b{name}\b", text):
        name += "_"
    return name


def _is_cut_off(line: str) -> bool:
    """Whether the line ends within brackets, quotes or a link."""
    closing = {"[": "]", "(": ")", "{": "}"}
    opened = sum(line.count(sign) - line.count(end) for sign, end in closing.items())
    return opened > 0 or line.count('"') % 2 == 1 or line.rstrip().endswith(("-", "=", ">", "|", "&", "."))


def _open_subgraphs(lines: list[str]) -> int:
    opened = sum(line.lstrip().startswith("subgraph") for line in lines)
    return max(opened - sum(line.strip(" \t;") == "end" for line in lines), 0)


def _line(line: str, end_name: str) -> tuple[str, set[DiagramRepair]]:
    """The line, repaired if it is no statement as it stands, and what was changed."""
    if len(line) > _LONGEST_LINE or read_flowchart(f"graph TD\n{line}").problem is None:
        return line, set()
    if (subgraph := _SUBGRAPH.match(line)) is not None:
        title = subgraph["title"]
        needs = not (PLAIN.fullmatch(title) or re.fullmatch(r'"[^"]+"', title))
        return (f"{subgraph['begin']}{_quoted(_unquoted(title))}]", {DiagramRepair.QUOTES}) if needs else (line, set())
    made: set[DiagramRepair] = set()
    text = line
    if line.strip(" \t;") != "end" and (renamed := _END_ID.sub(rf"\g<before>{end_name}", line)) != line:
        made.add(DiagramRepair.RESERVED)
        text = renamed
    if _UNCHANGED.match(text):
        return line, set()
    rewritten = _LooseLine(text)
    fixed = rewritten.read()
    if fixed is None or read_flowchart(f"graph TD\n{fixed}").problem is not None:
        return (text, made) if made else (line, set())
    return fixed, made | rewritten.made


class _LooseLine:
    """One statement of nodes and edges, read with more patience than Mermaid has."""

    def __init__(self, line: str) -> None:
        self.line = line
        self.at = 0
        self.made: set[DiagramRepair] = set()

    def read(self) -> str | None:
        """The line as Mermaid; None if it is no such statement."""
        indent = len(self.line) - len(self.line.lstrip())
        self.at = indent
        parts = [self.line[:indent]]
        while True:
            node = self._node()
            if node is None:
                return None
            parts.append(node)
            if (ending := _LINE_END.match(self.line, self.at)) is not None:
                self.made |= {DiagramRepair.FULL_WIDTH} if "；" in ending[0] else set()
                return "".join(parts)
            if (both := _AND.match(self.line, self.at)) is not None:
                self.at = both.end()
                parts.append(" & ")
                continue
            edge = self._edge()
            if edge is None:
                return None
            parts.append(edge)

    def _node(self) -> str | None:
        found = _LOOSE_ID.match(self.line, self.at)
        if found is None:
            return None
        self.at = found.end()
        label = self._label()
        if (styled := _CLASS.match(self.line, self.at)) is not None:
            self.at = styled.end()
        return found[0] + label + (styled[0] if styled else "")

    def _label(self) -> str:
        """The node's text with its brackets, in quotes if it needs them; empty if it has none."""
        for opener, closer in (*SHAPES, *((wide, "") for wide in _WIDE_SHAPES)):
            if not self.line.startswith(opener, self.at):
                continue
            narrow = _WIDE_SHAPES.get(opener, opener)
            shut = closer or dict(SHAPES)[narrow]
            end = self._closer(self.at + len(opener), shut)
            if end < 0:
                continue
            written = self.line[self.at + len(opener) : end]
            wide = opener != narrow or self.line[end : end + len(shut)] != shut
            self.at = end + len(shut)
            if wide:
                self.made.add(DiagramRepair.FULL_WIDTH)
            return f"{narrow}{self._text(written, narrow)}{shut}"
        return ""

    def _closer(self, begin: int, closer: str) -> int:
        """Returns where the bracket is that ends the node: a link, another node or nothing follows, and all brackets
        before it are closed. -1 if there is none.
        """
        narrow = self.line.translate(_WIDE)
        at = narrow.find(closer, begin)
        while at >= 0:
            after = at + len(closer)
            if (styled := _CLASS.match(self.line, after)) is not None:
                after = styled.end()
            ends = any(pattern.match(self.line, after) for pattern in (_LINE_END, _AND, _LOOSE_LINK, _LOOSE_TEXT))
            if ends and _balanced(self.line[begin:at]):
                return at
            at = narrow.find(closer, at + 1)
        return -1

    def _text(self, written: str, opener: str) -> str:
        """The text as it may stand between brackets."""
        if re.fullmatch(r'"[^"]*"', written):
            return written
        needs = not PLAIN.fullmatch(written) or (opener == "[" and written.startswith(("/", "\\")))
        if not needs:
            return written
        self.made.add(DiagramRepair.QUOTES)
        return _quoted(_unquoted(written))

    def _edge(self) -> str | None:
        link = _LOOSE_LINK.match(self.line, self.at)
        if link is None:
            text = _LOOSE_TEXT.match(self.line, self.at)
            if text is None:
                return None
            self.at = text.end()
            self.made.add(DiagramRepair.QUOTES)
            return f" -->|{_quoted(_unquoted(text['text']))}| "
        self.at = link.end()
        written = link["link"]
        if link["wide"] or link["thin"] or link["thick"]:
            self.made.add(DiagramRepair.ARROWS)
            written = "==>" if link["thick"] else "-->"
        if not link["bar"]:
            return f" {written} "
        text = _LOOSE_BAR.match(self.line, self.at)
        if text is None:
            return None
        if "｜" in (link["bar"], self.line[text.end() - 1]):
            self.made.add(DiagramRepair.FULL_WIDTH)
        self.at = text.end()
        while self.line[self.at : self.at + 1] in {" ", "\t"}:
            self.at += 1
        return f" {written}|{self._text(text['text'], '')}| "


def _balanced(text: str) -> bool:
    """Whether each bracket in the text has its partner."""
    opened: list[str] = []
    for sign in text:
        if sign in "[({":
            opened.append("])}"["[({".index(sign)])
        elif sign in "])}" and (not opened or opened.pop() != sign):
            return False
    return not opened


def _unquoted(text: str) -> str:
    """The text without quotes around it, or without one that has no partner."""
    text = text.strip()
    for begin, end in (('"', '"'), _CURLY):
        if len(text) > 1 and text.startswith(begin) and text.endswith(end):
            return text[1:-1]
    if text.count('"') == 1:
        return text.strip('"')
    return text


def _quoted(text: str) -> str:
    return '"' + (text.strip() or " ").replace('"', "#quot;") + '"'
