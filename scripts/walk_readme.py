"""Executes a page of the documentation line by line, as a new user types it, in a fresh clone with its own environment.

    python scripts/walk_readme.py [FILE ...]    # default: README.md and docs/start/first-document.md

Every line of a shell block and every block of Python is run, and every link and picture is opened: in the clone, and on
the service that `make serve` started. Where a command says how to install a package that it lacks, that is run, and the
command again. RULES has the lines that end at Ctrl-C, that need what no machine of CI has, or that another step of CI
runs. A line that was not run is printed with the reason. The exit status is 1 if something failed.

Needs git, make, curl and Python alone, so that it runs on an empty Debian.
"""

from __future__ import annotations

import argparse
import functools
import html.parser
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "docs/start/first-document.md")
GUIDE = "http://127.0.0.1:7860/docs/guide/"
SAMPLES = "src/inkgate/cli/demo/samples"
TIMEOUT_S = 600.0
INSTALLS = re.compile(r"`((?:\S+ -m|uv) pip install [^`]+)`")
LINK = re.compile(r"(!?)\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\)")
PICTURE = """
import sys
from PIL import Image, ImageStat
with Image.open(sys.argv[1]) as image:
    for frame in range(getattr(image, "n_frames", 1)):
        image.seek(frame)
        if max(ImageStat.Stat(image.convert("L")).stddev) < 1:
            sys.exit(f"frame {frame} is blank")
print(image.size)
"""


@dataclass(frozen=True, slots=True)
class Rule:
    """How lines that match `line` are run. Without a rule, a line must end with status 0.

    Attributes:
        url: the line starts a service, which runs on; it is ready when this URL answers 200.
        until: Ctrl-C ends the line once its output matches this.
        refused: the line needs what is not here, so it ends with status 2 and says this.
        skip: the line is not run, for this reason.
        writes: files that the line writes, as patterns.
    """

    line: str
    url: str = ""
    until: str = ""
    refused: str = ""
    skip: str = ""
    writes: tuple[str, ...] = ()


RULES = (
    Rule("make serve", url="http://127.0.0.1:7860/readyz"),
    Rule("make test", skip="a step of .ci/run of its own"),
    Rule("inkgate serve --port 8000", url="http://127.0.0.1:8000/readyz"),
    Rule("inkgate serve --engine hunyuanocr", refused="vLLM was not found. Install it"),
    Rule("inkgate demo ", until="Ctrl-C"),
    Rule("inkgate read scans/ -o out -f text,markdown", writes=("out/tea-house.txt", "out/warranty.md")),
    Rule("inkgate watch ", until="warranty", writes=("text/*.md",)),
    Rule("inkgate batch ", writes=("results/**/*.parquet",)),
    Rule("inkgate notion ", refused="NOTION_TOKEN"),
    Rule("inkgate feishu", skip="its package has 100 MB; `inkgate notion` is installed in the same way"),
    Rule("inkgate work", until="Running jobs"),
    Rule("inkgate loadtest ", until="run 1"),
    Rule("inkgate tune ", until="Finding the demand"),
    Rule("inkgate compare-engines ", until="starts, round 1"),
)


@dataclass(slots=True)
class Walk:
    """A walk through pages in the folder `clone`, with other files in `work`. `rules`: those that were used."""

    clone: Path
    work: Path
    failures: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    count: int = 0
    services: list[subprocess.Popen[str]] = field(default_factory=list)
    ports: dict[str, str] = field(default_factory=dict)
    rules: set[str] = field(default_factory=set)
    log: Path = Path(os.devnull)

    def check(self, place: str, what: str, run: Callable[[], str | None]) -> None:
        """Runs one thing that the page shows, and prints how it went. `run` returns why it was not run."""
        begun = time.monotonic()
        try:
            reason = run()
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            self.failures.append(f"{place}: {what}")
            print(f"FAILED  {place}: {what}\n{error}", flush=True)
            return
        if reason:
            self.skipped.append(what)
            print(f"not run {place}: {what}: {reason}", flush=True)
            return
        self.count += 1
        print(f"{time.monotonic() - begun:5.1f} s {place}: {what}", flush=True)

    def here(self, text: str) -> str:
        """The text with the ports of the page replaced by others where something listens on them already."""
        return re.sub(r"(127\.0\.0\.1:|--port )(\d{4,5})\b", lambda found: found[1] + self._port(found[2]), text)

    def _port(self, port: str) -> str:
        if port not in self.ports:
            with socket.socket() as listener:
                try:
                    listener.bind(("127.0.0.1", int(port)))
                except OSError:
                    listener.bind(("127.0.0.1", 0))
                self.ports[port] = str(listener.getsockname()[1])
            if self.ports[port] != port:
                print(f"port {port} is taken: {self.ports[port]} is used in its place", flush=True)
        return self.ports[port]

    def environment(self) -> dict[str, str]:
        """The variables of a user's shell: the clone's programs first, and nothing of earlier runs of inkgate."""
        cache = os.environ.get("PIP_CACHE_DIR") or str(Path.home() / ".cache" / "pip")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("INKGATE_", "VIRTUAL_ENV"))}
        paths = [str(self.clone / ".venv" / "bin"), str(self.work / "yours" / "bin"), kept.get("PATH", "")]
        return kept | {
            "PATH": os.pathsep.join(paths),
            "PIP_CACHE_DIR": cache,
            "XDG_CACHE_HOME": str(self.work / "cache"),
            "XDG_STATE_HOME": str(self.work / "state"),
            "UV_TOOL_DIR": str(self.work / "uv" / "tools"),
            "UV_TOOL_BIN_DIR": str(self.work / "uv" / "bin"),
            "UV_SYSTEM_CERTS": "1",  # as curl does
            "PYTHONUNBUFFERED": "1",
        }

    def shell(self, line: str, **variables: str) -> subprocess.Popen[str]:
        """Starts a line; its output goes to a file of its own, which `output` reads."""
        descriptor, name = tempfile.mkstemp(".txt", "output-", self.work)
        self.log = Path(name)
        process = subprocess.Popen(
            ["bash", "-c", self.here(line)],
            cwd=self.clone,
            env=self.environment() | variables,
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        os.close(descriptor)
        return process

    def output(self) -> str:
        """What the line that was started last has printed."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def run(self, line: str, *statuses: int) -> str:
        """The output of a line, after what it names was installed. Raises AssertionError: it ended otherwise."""
        code = self._ended(line)
        named = INSTALLS.search(self.output())
        if code != 0 and named is not None:
            print(f"        {self.output().strip()}", flush=True)
            folder, found, _ = line.partition(" && ")  # the command may name files relative to it
            assert self._ended(f"{folder} && {named[1]}" if found else named[1]) == 0, self.output()[-3000:]
            code = self._ended(line)
        assert code in (statuses or (0,)), f"status {code}\n{self.output()[-3000:]}"
        assert "Traceback (most recent call last)" not in self.output(), self.output()[-3000:]
        return self.output()

    def _ended(self, line: str) -> int:
        process = self.shell(line)
        try:
            return process.wait(TIMEOUT_S)
        finally:
            end(process)

    def run_line(self, line: str) -> str | None:
        """Runs a line of a shell block by its rule. Returns why it was not run."""
        rule = next((rule for rule in RULES if rule.line in line), Rule(line))
        self.rules.add(rule.line)
        if rule.skip:
            return rule.skip
        if line.startswith("docker ") and not docker_runs():
            return "there is no docker here"
        if rule.url:
            self._serve(line, self.here(rule.url))
        elif rule.until:
            self._interrupt(line, rule.until)
        elif rule.refused:
            said = self.run(f"INKGATE_SERVER__PORT=0 {line}", 2)  # that of `make serve` is taken
            assert rule.refused in said, said
        elif "inkgate doctor " in line:
            for url in re.findall(r"http://\S+/docs/guide/[^\s)]+", self.run(line, 0, 1)):  # 1: it found something
                address, _, anchor = url.partition("#")
                assert anchor in Anchors(page_at(address)).names, url
        else:
            self.run(line)
        for pattern in rule.writes:
            assert list(self.clone.glob(pattern)), f"{pattern} was not written"
        return None

    def _serve(self, line: str, url: str) -> None:
        port = url.split(":")[2].split("/", maxsplit=1)[0]
        process = self.shell(line, **({"INKGATE_SERVER__PORT": port} if "--port" not in line else {}))
        self.services.append(process)
        wait_until(lambda: opens(url), process, self.output)

    def _interrupt(self, line: str, until: str) -> None:
        process = self.shell(line)
        try:
            wait_until(lambda: re.search(until, self.output()) is not None, process, self.output)
            os.killpg(process.pid, signal.SIGINT)
            process.wait(60)
        finally:
            end(process)
        assert "Traceback (most recent call last)" not in self.output(), self.output()[-3000:]

    def close(self) -> None:
        """Ends the services that run on."""
        for process in self.services:
            end(process)


def end(process: subprocess.Popen[str]) -> None:
    """Ends a line and what it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(20)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def wait_until(reached: Callable[[], bool], process: subprocess.Popen[str], output: Callable[[], str]) -> None:
    """Waits for a condition. Raises AssertionError: the line ended before, or it takes too long."""
    limit = time.monotonic() + TIMEOUT_S
    while not reached():
        assert process.poll() is None or reached(), f"ended with status {process.returncode}\n{output()[-3000:]}"
        assert time.monotonic() < limit, f"not reached in {TIMEOUT_S:.0f} s\n{output()[-3000:]}"
        time.sleep(0.2)


def opens(url: str) -> bool:
    """Whether the URL answers 200."""
    try:
        return page_at(url) is not None
    except AssertionError:
        return False


@functools.cache
def _read(url: str) -> str:
    with urllib.request.urlopen(url, timeout=60) as answer:
        return str(answer.read().decode("utf-8", "replace"))


def page_at(url: str) -> str:
    """The body at the URL. Raises AssertionError: it can't be opened."""
    try:
        return _read(url)
    except (OSError, urllib.error.URLError) as error:
        raise AssertionError(f"{url}: {error}") from error


@functools.cache
def docker_runs() -> bool:
    """Whether a server of docker answers."""
    found = shutil.which("docker")
    return found is not None and subprocess.run([found, "version"], capture_output=True, check=False).returncode == 0


class Anchors(html.parser.HTMLParser):
    """The targets of links, and the anchors, of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.names.add(values.get("id") or "")
        if tag in {"a", "link"} and values.get("href"):
            self.targets.append(values["href"] or "")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page; `line`: the number of its first line."""

    language: str
    line: int
    lines: tuple[str, ...]


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page."""
    language, begin, lines = None, 0, list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("```"):
            lines.append(line)
        elif language is None:
            language, begin, lines = line.strip("` "), number + 1, []
        else:
            yield Block(language, begin, tuple(lines))
            language = None


def walk_page(walk: Walk, name: str) -> None:
    """Executes a page: its blocks, its inline code, its links and pictures."""
    text = (walk.clone / name).read_text(encoding="utf-8")
    for folder in ("out", "text", "results"):  # of the page before
        shutil.rmtree(walk.clone / folder, ignore_errors=True)
    found = list(blocks(text))
    for number, block in enumerate(found):
        after = found[number + 1] if number + 1 < len(found) else None
        shown = [line for line in after.lines if "---" not in line] if after and after.language == "markdown" else []
        if block.language == "sh":
            for offset, line in enumerate(block.lines):
                run = functools.partial(shell_line, walk, line, shown)
                if line.strip() and not line.startswith("#"):
                    walk.check(f"{name}:{block.line + offset}", line.split("  #")[0].strip(), run)
        elif block.language == "python":
            walk.check(f"{name}:{block.line}", "the program in Python", functools.partial(program, walk, block, text))
    prose = re.sub(r"^```.*?^```$", lambda block: "\n" * block[0].count("\n"), text, flags=re.DOTALL | re.MULTILINE)
    for number, line in enumerate(prose.splitlines(), 1):
        for command in re.findall(r"`(\.venv/bin/inkgate [^`]+)`", line):
            walk.check(f"{name}:{number}", command, functools.partial(walk.run_line, command))
        for picture, target in LINK.findall(line):
            run = functools.partial(open_picture if picture else open_link, walk, name, target)
            walk.check(f"{name}:{number}", target, run)
        for url in re.findall(r"http://127\.0\.0\.1:7860[\w/]*", line):
            walk.check(f"{name}:{number}", url, functools.partial(open_page, walk, url))


def shell_line(walk: Walk, line: str, shown: list[str]) -> str | None:
    """Runs a line; the response to curl has the table that the page shows."""
    if line.startswith("uv ") and shutil.which("uv") is None:
        walk.run(f"{walk.work}/yours/bin/pip install --quiet uv")
    if line.startswith("pip "):  # "into an environment of yours"
        walk.run(f"python3 -m venv {walk.work}/yours")
        line = f"{walk.work}/yours/bin/{line}"
    reason = walk.run_line(line)
    if line.startswith("curl "):
        said = walk.output()
        assert '"code"' not in said or '"pages"' in said, said[-3000:]
        assert [row for row in shown if row not in said] == [], said[-3000:]
    for begin, folder in (("pip", "yours"), ("uv tool", "uv/tools/inkgate")):
        if f"{begin} install" in line:
            python = next((walk.work / folder / "bin").glob("python3"))
            inkgate = f"cd {walk.work / folder} && {python} -m inkgate"
            walk.run(f"{inkgate} read {walk.clone}/page.png -o out -f docx,xlsx,pdf")
            said = walk.run(f"{inkgate} notion DATABASE {walk.clone}/page.png", 2)
            assert "NOTION_TOKEN" in said, said
            code = "from inkgate.api import guide; print(any((place / 'docs').is_dir() for place in guide.SOURCES))"
            assert "True" in walk.run(f'cd {walk.work} && {python} -c "{code}"'), "the documentation is missing"
    return reason


def program(walk: Walk, block: Block, text: str) -> None:
    """Runs a block of Python with the clone's Python, and after it the statements of the text that continue it."""
    code = list(block.lines)
    if "import inkgate\n" in f"{code[0]}\n":
        saves = sorted(
            {*re.findall(r"`(page\.save\([^`]+\))`", text), 'page.save("report.xlsx")', 'page.save("a.pdf")'}
        )
        code += saves
        if 'inkgate.extract("receipt.jpg", Receipt)' in text:
            code += ["from pydantic import BaseModel", "class Receipt(BaseModel):", "    total: float | None = None"]
            code += ['print(inkgate.extract("receipt.jpg", Receipt).data.total)']
    file = walk.work / "program.py"
    file.write_text(walk.here("\n".join(code)), encoding="utf-8")
    said = walk.run(f"PYTHONPATH= .venv/bin/python {file}")
    assert said.strip(), "it prints nothing"
    for name in re.findall(r'save\("([^"]+)"\)', "\n".join(code)):
        assert (walk.clone / name).stat().st_size > 1000, name


def open_link(walk: Walk, name: str, target: str) -> str | None:
    """Opens a link: the file in the clone, and where it is documentation, the page of the service."""
    if "://" in target:
        return "it leads out of this machine"
    path, _, anchor = target.partition("#")
    file = (walk.clone / name).parent / path if path else walk.clone / name
    assert file.exists(), f"there is no {path}"
    docs = (walk.clone / "docs").resolve()
    if file.suffix == ".md" and docs in file.resolve().parents:
        address = file.resolve().relative_to(docs).with_suffix("").as_posix()
        page = Anchors(page_at(walk.here(f"{GUIDE}{address}/")))
        assert not anchor or anchor in page.names, f"the page has no #{anchor}"
    return None


def open_page(walk: Walk, url: str) -> str | None:
    """Opens an address of the service, and what its page links to."""
    if url.endswith("/ocr"):
        return "it takes documents; curl sends one above"
    url = f"{walk.here(url).rstrip('/')}/"
    is_home = urllib.parse.urlsplit(url).path == "/"
    for page in (url, f"{url}ui/") if is_home else (url,):
        for target in Anchors(page_at(page)).targets:
            other = urllib.parse.urljoin(page, target).partition("#")[0]
            if other.startswith("http://127.0.0.1:"):
                page_at(other)
    return None


def open_picture(walk: Walk, name: str, target: str) -> None:
    """Decodes a picture. Raises AssertionError: it is missing or blank."""
    file = (walk.clone / name).parent / target
    (walk.work / "picture.py").write_text(PICTURE, encoding="utf-8")
    walk.run(f".venv/bin/python {walk.work}/picture.py {file}")


def lay_out(clone: Path) -> None:
    """Puts the documents that the pages name into the clone."""
    samples = clone / SAMPLES
    (clone / "scans").mkdir()
    for name in ("receipts/tea-house.png", "archive/warranty.jpg"):
        shutil.copy(samples / name, clone / "scans")
    shutil.copy(clone / "examples" / "report.png", clone / "page.png")
    shutil.copy(samples / "receipts" / "harbour-bakery.jpg", clone / "receipt.jpg")
    for name in ("report.pdf", "scan.pdf", "long.pdf"):
        (clone / name).write_bytes(pdf([f"This is page {number} of the report." for number in range(1, 8)]))
    (clone / "page.txt").write_text("FEMIP", encoding="utf-8")
    manifest = '[{"path": "page.png", "language": "en", "ground_truth": {"text": "page.txt"}}]'
    (clone / "manifest.json").write_text(manifest, encoding="utf-8")


def pdf(texts: list[str]) -> bytes:
    """A PDF with a page for each text."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(texts)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {len(texts)} /Kids [{kids}] >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(texts):
        content = f"BT /F1 20 Tf 72 700 Td ({text}) Tj ET"
        resources = f"/Resources << /Font << /F1 3 0 R >> >> /Contents {5 + 2 * number} 0 R"
        objects.append(f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] {resources} >>")
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    file, places = "%PDF-1.4\n", list[int]()
    for number, each in enumerate(objects, 1):
        places.append(len(file))
        file += f"{number} 0 obj\n{each}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(file)}\n%%EOF\n"
    return f"{file}xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{end}".encode()


def main() -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", default=PAGES, help="pages, from the repository's root")
    pages = parser.parse_args().pages
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="walk-") as folder:
        work = Path(folder)
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(work / "inkgate")], check=True)
        walk = Walk(work / "inkgate", work)
        lay_out(walk.clone)
        try:
            for page in pages:
                walk_page(walk, page)
            if tuple(pages) == PAGES:
                walk.failures += [
                    f"no line is as the rule {rule.line!r}" for rule in RULES if rule.line not in walk.rules
                ]
        finally:
            walk.close()
    print(*walk.failures, sep="\n")
    print(
        f"{walk.count} of {walk.count + len(walk.skipped) + len(walk.failures)} lines, links and pictures were run "
        f"in {time.monotonic() - begun:.0f} s; {len(walk.skipped)} were not run, {len(walk.failures)} failed"
    )
    return 1 if walk.failures else 0


if __name__ == "__main__":
    sys.exit(main())
