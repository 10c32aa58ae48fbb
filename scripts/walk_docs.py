"""Executes pages of the documentation line by line, as a new user types them, in a fresh clone.

    python scripts/walk_docs.py [FILE ...]             # default: README.md and docs/start/first-document.md
    python scripts/walk_docs.py --guides [FILE ...]    # default: all other pages that show commands or programs

Every command of a shell block and every block of Python is run in page order. On README's pages every link and picture
is opened, too: in the clone, and on the service that `make serve` started. Where a command says how to install a
package that it lacks, that is run, and the command again. With --guides each page begins in a clean clone with the
documents of `lay_out`, and services of SERVICES are started when a command names their port. The environment borrows
its packages from `.venv`; --fresh installs them anew.

RULES has the commands that end at Ctrl-C or that are not run, with the reason. Without a rule a command must succeed,
so what a page shows anew must run. A rule that no command needs is a failure, too. The exit status is 1 if something
failed.

Needs git, make, curl and Python alone, so that README's walk runs on an empty Debian.
"""

from __future__ import annotations

import argparse
import functools
import html.parser
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ("README.md", "docs/start/first-document.md")
NAMES = re.compile(r"((export )?\w+=(\$\(.*\)|\S*)( +\w+=\S*)*|cd \S+)( +#.*)?$", re.DOTALL)
SHELLS = {"sh", "bash", "console"}
PYTHONS = {"python", "py"}
GUIDE = "http://127.0.0.1:7860/docs/guide/"
SAMPLES = "src/inkgate/cli/demo/samples"
TIMEOUT_S = 600.0
ADDRESS = re.compile(r"\b(?:127\.0\.0\.1|localhost|inkgate|gpu[12]|10\.0\.0\.[23]):(\d{4,5})\b|(?<=--port )(\d{4,5})\b")
PLACES = {"/opt/inkgate/bin/": ".venv/bin/", "/srv/scans": "scans", "~/receipts": "scans", "0.0.0.0": "127.0.0.1"}
"""Where the walk has what a page names."""
MODEL = """
import sys, uvicorn
from support.stub_upstream import Reply, StubUpstream, words_as_tokens
names = ("PaddleOCR-VL-1.6-0.9B", "HunyuanOCR")
model = StubUpstream(lambda request: Reply(words_as_tokens("flowchart TD\\nA[Order received] --> B[Ship]")), names)
uvicorn.run(model, port=int(sys.argv[2]), log_level="warning", lifespan="off", ws="none")
"""
"""A model server that answers every request alike; arguments: --port PORT."""
SERVICES = {
    "7860": ("inkgate serve --config inkgate.toml --port 7860", "/readyz"),
    "7861": ("inkgate serve --engine paddleocr-vl --vllm-url http://127.0.0.1:8000/v1 --port 7861", "/readyz"),
    "8000": ("PYTHONPATH=tests python model.py --port 8000", "/v1/models"),
}
"""Command and path of what is started for a command that names the port."""
SETTINGS = """
[webhooks]
secrets = ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="]

[pipelines.receipts]
sources = ["s3://scans/in/"]
"""
PROGRAMS = """
import ast, asyncio, inspect, sys, traceback
names = {"__name__": "__main__"}
for line in sys.stdin:
    with open(line.strip(), encoding="utf-8") as file:
        code = file.read()
    status = 0
    try:
        began = eval(compile(code, line.strip(), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
        if inspect.iscoroutine(began):
            asyncio.run(began)
    except BaseException:
        traceback.print_exc()
        status = 1
    print(f"\\nEND {status}", flush=True)
"""
"""Runs the programs whose files it reads from stdin, each with the names of those before."""
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
        status: another status than 0 that the line may end with.
        replace: what stands for something else in the page, and that.
        arguments: of a script.
    """

    line: str
    url: str = ""
    until: str = ""
    refused: str = ""
    skip: str = ""
    writes: tuple[str, ...] = ()
    status: int = 0
    replace: tuple[str, str] = ("", "")
    arguments: str = ""


ACCOUNT = "needs an account, or a bucket, of another service"
CLUSTER = "needs a cluster"
GIGABYTES = "installs gigabytes; `make test-servers` does it for the tests"
SYSTEM = "changes the machine"
WHEEL = "the step `wheel` of .ci/run builds and installs wheels"
RULES = (
    Rule("make serve", url="http://127.0.0.1:7860/readyz"),
    Rule("make test", skip="a step of .ci/run of its own"),
    Rule("inkgate serve --port 8000", url="http://127.0.0.1:8000/readyz"),
    Rule("--vllm-url", url="http://127.0.0.1:7860/readyz"),
    Rule("inkgate serve --engine", refused="vLLM was not found. Install it"),
    Rule("INKGATE_TRACING__ENDPOINT", url="http://127.0.0.1:7860/readyz"),
    Rule("PROVIDER=cuda", skip="needs a GPU"),
    Rule(
        "inkgate serve --config inkgate.toml",
        url="http://127.0.0.1:7860/readyz",
    ),
    Rule("inkgate demo ", until="Ctrl-C"),
    Rule("inkgate read scans/ -o out -f text,markdown", writes=("out/tea-house.txt", "out/warranty.md")),
    Rule("inkgate read scans/ -o out -f pdf", writes=("out/tea-house.pdf",)),
    Rule("--images", writes=("out/report.md",)),
    Rule("inkgate watch scans/ results/ --type", until="Watching"),  # what is there was read by the line before
    Rule("inkgate watch scans/ results/", until="warranty", writes=("results/*.md",)),
    Rule("inkgate watch ", until="warranty", writes=("text/*.md",)),
    Rule("before.json after.json", replace=("before.json after.json", "run.json run.json")),
    Rule("mc admin", skip=ACCOUNT),
    Rule("mc event", skip=ACCOUNT),
    Rule("/v1/events"),
    Rule("s3://", skip=ACCOUNT),
    Rule("gcloud ", skip=ACCOUNT),
    Rule("-f parquet", writes=("results/**/*.parquet",)),
    Rule("[ray]", skip=GIGABYTES),
    Rule("--ray", skip=GIGABYTES),
    Rule("inkgate batch ", writes=("results/**/*.jsonl",)),
    Rule("www.notion.so", skip=ACCOUNT),
    Rule('notion "$DATABASE"', skip=ACCOUNT),
    Rule("inkgate notion ", refused="NOTION_TOKEN"),
    Rule("inkgate feishu", skip="its package has 100 MB; `inkgate notion` is installed in the same way"),
    Rule("inkgate work", until="Running jobs"),
    Rule("--rate 20", until="requests/s"),
    Rule(
        "--json run.json",
        replace=("--steps auto", "--steps 1,2 -z 1s --warm 0 --repeats 1"),
        writes=("run.json",),
    ),
    Rule("inkgate loadtest ", until="run 1"),
    Rule("inkgate tune ", until="Finding the demand"),
    Rule("inkgate compare-engines ", until="starts, round 1"),
    Rule("benchmarks.workers", skip="starts 30 processes, for a large machine"),
    Rule("inkgate mcp --http", until="7862"),
    Rule("--strict", status=3),
    Rule("sudo ", skip=SYSTEM),
    Rule("kubectl ", skip=CLUSTER),
    Rule("helm install", skip=CLUSTER),
    Rule("onnxruntime", skip="needs a GPU"),
    Rule("pip install vllm", skip=GIGABYTES),
    Rule("vllm serve", skip="needs a GPU"),
    Rule("[transformers]", skip=GIGABYTES),
    Rule("openapi-generator-cli", skip="a program in Java, which needs a compiler of each language"),
    Rule("make wheel", skip=WHEEL),
    Rule("dist/inkgate", skip=WHEEL),
    Rule("/opt/inkgate/bin/ocrmypdf", arguments=" scan.pdf out.pdf"),
    Rule("/opt/inkgate", skip=WHEEL),
    Rule("./inkgate", skip=WHEEL),
    Rule("wheelhouse", skip=WHEEL),
    Rule("data:image/png;base64,...", replace=("http://127.0.0.1:7860", "http://127.0.0.1:7861")),
)


@dataclass(slots=True)
class Walk:
    """A walk through pages in the folder `clone`, with other files in `work`. `borrowed`: it is of the guides, whose
    environment `make serve` did not install.

    Of a page: `page_services`, with ports of their own; `names`: assignments of its commands; `programs` runs its
    Python.
    """

    clone: Path
    work: Path
    borrowed: bool = False
    failures: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    count: int = 0
    services: list[subprocess.Popen[str]] = field(default_factory=list)
    ports: dict[str, str] = field(default_factory=dict)
    log: Path = Path(os.devnull)
    page_ports: dict[str, str] = field(default_factory=dict)
    page_services: list[subprocess.Popen[str]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    programs: subprocess.Popen[str] | None = None

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
        """The text with this machine's places, and other ports where something listens on those of the page already."""
        for place, mine in PLACES.items():
            text = text.replace(place, mine)
        return ADDRESS.sub(
            lambda found: f"127.0.0.1:{self._port(found[1])}" if found[1] else self._port(found[2]), text
        )

    def _port(self, port: str) -> str:
        if port in self.page_ports:
            return self.page_ports[port]
        if port not in self.ports:
            with socket.socket() as listener:
                try:
                    listener.bind(("127.0.0.1", 0 if self.borrowed else int(port)))  # tests run beside the guides
                except OSError:
                    listener.bind(("127.0.0.1", 0))
                self.ports[port] = str(listener.getsockname()[1])
            if self.ports[port] != port and not self.borrowed:
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
            # "0" turns isolation off: hatchling is borrowed, too.
            **({"PIP_NO_BUILD_ISOLATION": "0", "INKGATE_METRICS__PORT": "0"} if self.borrowed else {}),
            "CURL_HOME": str(self.work),  # curl fails for an error of HTTP
            "PYTHONUNBUFFERED": "1",
        }

    def shell(self, line: str, **variables: str) -> subprocess.Popen[str]:
        """Starts a line; its output goes to a file of its own, which `output` reads."""
        descriptor, name = tempfile.mkstemp(".txt", "output-", self.work)
        self.log = Path(name)
        process = subprocess.Popen(
            ["bash", "-c", "\n".join([*self.names, self.here(line)])],
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
        rule = rule_of(line)
        if rule.skip:
            return rule.skip
        if self.borrowed and line.startswith("make serve"):
            return "README's walk starts it"
        if re.match(r"(\w+=\S+ )?docker ", line) and not docker_runs():
            return "there is no docker here"
        line = line.replace(*rule.replace)
        if rule.url:
            self._serve(line, rule.url, for_page=self.borrowed)
            return None
        self.need(line)
        if NAMES.match(line):
            self.run(line)
            self.names.append(self.here(line))
        elif line.startswith("#!"):
            self.run(f"bash -s -- {rule.arguments} <<'END'\n{line}\nEND")
        elif rule.until:
            self._interrupt(line, rule.until)
        elif rule.refused:
            said = self.run(f"INKGATE_SERVER__PORT=0 {line}", 2)  # that of the page is taken
            assert rule.refused in said, said
        elif "inkgate doctor " in line:
            for url in re.findall(r"http://\S+/docs/guide/[^\s)]+", self.run(line, 0, 1)):  # 1: it found something
                address, _, anchor = url.partition("#")
                assert anchor in Anchors(page_at(address)).names, url
        else:
            self.run(line, 0, rule.status)
        for pattern in rule.writes:
            assert list(self.clone.glob(pattern)), f"{pattern} was not written"
        return None

    def _serve(self, line: str, url: str, *, for_page: bool = False) -> None:
        port = url.split(":")[2].split("/", maxsplit=1)[0]
        if for_page or port in self.ports:  # the page's own service, beside that of all pages
            self.end_page_services()
            self.page_ports[port] = "0"
            with socket.socket() as listener:
                listener.bind(("127.0.0.1", 0))
                self.page_ports[port] = str(listener.getsockname()[1])
        self._port(port)  # so that `need` starts nothing there
        self.need(line)
        variables = {"INKGATE_SERVER__PORT": self._port(port)} if "--port" not in line else {}
        process = self.shell(line, **variables)
        (self.page_services if port in self.page_ports else self.services).append(process)
        wait_until(lambda: opens(self.here(url)), process, self.output)

    def need(self, text: str) -> None:
        """Starts the services of SERVICES that the text names and that don't run yet; README starts its own."""
        for found in ADDRESS.finditer(text):
            port = found[1] or found[2]
            if self.borrowed and port in SERVICES and port not in self.ports and port not in self.page_ports:
                line, path = SERVICES[port]
                names, self.names = self.names, []
                self._serve(line, f"http://127.0.0.1:{port}{path}")
                self.names = names

    def run_program(self, code: str) -> str:
        """What a program prints that continues those of the page before it. Raises AssertionError: it failed."""
        self.need(code)
        if self.programs is None:
            self.programs = subprocess.Popen(
                [self.clone / ".venv" / "bin" / "python", "-c", PROGRAMS],
                cwd=self.clone,
                env=self.environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
        assert self.programs.stdin is not None
        assert self.programs.stdout is not None
        file = self.work / "program.py"
        file.write_text(self.here(code), encoding="utf-8")
        self.programs.stdin.write(f"{file}\n")
        self.programs.stdin.flush()
        printed, timer = "", threading.Timer(TIMEOUT_S, self.programs.kill)
        timer.start()
        for line in self.programs.stdout:
            if line.startswith("END "):
                break
            printed += line
        else:
            line = "it ended the process"
            self.end_programs()
        timer.cancel()
        assert line == "END 0\n", f"{line}{printed[-3000:]}"
        return printed.removesuffix("\n")

    def begin_page(self, *, clean: bool) -> None:
        """Forgets the page before; `clean` restores the files of the clone."""
        self.end_page_services()
        self.names.clear()
        self.end_programs()
        if clean:
            subprocess.run(["git", "checkout", "--quiet", "."], cwd=self.clone, check=True)
            subprocess.run(["git", "clean", "-xfdq", "-e", ".venv"], cwd=self.clone, check=True)
            lay_out(self.clone)
            (self.clone / "archive").mkdir()
            shutil.copy(self.clone / "page.png", self.clone / "archive" / "report.png")
            for name in ("scan.pdf", "archive/scan.pdf"):  # of pictures alone
                shutil.copy(self.clone / SAMPLES / "contracts" / "lease-signed.pdf", self.clone / name)

    def end_programs(self) -> None:
        """Ends the process that runs Python."""
        if self.programs is not None:
            end(self.programs)
            for pipe in (self.programs.stdin, self.programs.stdout):
                assert pipe is not None
                pipe.close()
            self.programs = None

    def end_page_services(self) -> None:
        """Ends what serves for this page alone."""
        for process in self.page_services:
            end(process)
        self.page_services.clear()
        self.page_ports.clear()

    def _interrupt(self, line: str, until: str) -> None:
        process = self.shell(line)
        try:
            wait_until(lambda: re.search(until, self.output()) is not None, process, self.output)
            os.killpg(process.pid, signal.SIGINT)
            process.wait(60)
        except subprocess.TimeoutExpired as error:
            raise AssertionError(f"runs on 60 s after Ctrl-C\n{self.output()[-3000:]}") from error
        finally:
            end(process)
        assert "Traceback (most recent call last)" not in self.output(), self.output()[-3000:]

    def close(self) -> None:
        """Ends all that runs on."""
        self.begin_page(clean=False)
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


def rule_of(line: str) -> Rule:
    """The first rule for a command or a program."""
    return next((rule for rule in RULES if rule.line in line), Rule(line))


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

    @property
    def text(self) -> str:
        """Its lines as one text."""
        return "\n".join(self.lines)


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page, without their indentation."""
    fence, language, begin, lines = "", "", 0, list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        found = re.match(r"( *)```(.*)", line)
        if found is None:
            lines.append(line.removeprefix(fence))
        elif not begin:
            fence, language, begin, lines = found[1], found[2].strip("` "), number + 1, []
        else:
            yield Block(language, begin, tuple(lines))
            begin = 0


def commands(block: Block) -> Iterator[tuple[int, str]]:
    """The commands of a shell block, each with the number of its first line in the page."""
    if block.lines[0].startswith("#!"):
        yield block.line, block.text
        return
    command, begin = "", 0
    for number, line in enumerate(block.lines, block.line):
        if command:
            command += f"\n{line}"
        elif block.language == "console" and not line.startswith("$ "):
            continue  # what the command before prints
        elif line.strip() and not line.startswith("#"):
            command, begin = line.removeprefix("$ ") if block.language == "console" else line, number
        if command and is_whole(command):
            yield begin, command
            command = ""
    assert not command, f"line {begin}: the command has no end"


def is_whole(command: str) -> bool:
    """Whether a command needs no further line."""
    read = subprocess.run(["bash", "-n", "-c", command], capture_output=True, check=False)
    return read.returncode == 0 and not command.endswith("\\")


def walk_page(walk: Walk, name: str) -> None:
    """Executes a page: its blocks, and on README's pages its inline code, its links and pictures."""
    text = (walk.clone / name).read_text(encoding="utf-8")
    for folder in ("out", "text", "results"):  # of the page before
        shutil.rmtree(walk.clone / folder, ignore_errors=True)
    found = list(blocks(text))
    for number, block in enumerate(found):
        after = found[number + 1] if number + 1 < len(found) else None
        if block.language in SHELLS:
            table = after.lines if after and after.language == "markdown" else ()
            shown = [line for line in table if "---" not in line]
            for line, command in commands(block):
                run = functools.partial(shell_line, walk, command, shown)
                walk.check(f"{name}:{line}", command.split("  #")[0].split("\n")[0].strip(), run)
        elif block.language in PYTHONS:
            output = after.text if after and after.language == "text" else ""
            run = functools.partial(program, walk, block, text, output)
            walk.check(f"{name}:{block.line}", "the program in Python", run)
    if name.startswith("docs/") and name not in README:
        return  # `make site` checks the links
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
    if rule_of(line).skip:
        return rule_of(line).skip
    if line.startswith("uv ") and shutil.which("uv") is None:
        walk.run(f"{walk.work}/yours/bin/pip install --quiet uv")
    if line.startswith("pip install --constraint"):  # "into an environment of yours"
        walk.run(f"python3 -m venv {walk.work}/yours")
        line = f"{walk.work}/yours/bin/{line}"
    reason = walk.run_line(line)
    if line.startswith("curl "):
        said = walk.output()
        assert [row for row in shown if row not in said] == [], said[-3000:]
    if "curl" in line and '"state":"queued"' in walk.output().replace(" ", ""):
        walk.names.append(f"ID={json.loads(walk.output()[walk.output().index('{') :])['id']}")
    for begin, folder in (("pip", "yours"), ("uv tool", "uv/tools/inkgate")):
        if not reason and f"{begin} install --constraint" in line:
            python = next((walk.work / folder / "bin").glob("python3"))
            inkgate = f"cd {walk.work / folder} && {python} -m inkgate"
            walk.run(f"{inkgate} read {walk.clone}/page.png -o out -f docx,xlsx,pdf")
            said = walk.run(f"{inkgate} notion DATABASE {walk.clone}/page.png", 2)
            assert "NOTION_TOKEN" in said, said
            code = "from inkgate.api import guide; print(any((place / 'docs').is_dir() for place in guide.SOURCES))"
            assert "True" in walk.run(f'cd {walk.work} && {python} -c "{code}"'), "the documentation is missing"
    return reason


def program(walk: Walk, block: Block, text: str, output: str) -> str | None:
    """Runs a block of Python, and after README's the statements of the text that continue it.

    It prints `output`, where the page shows one. Returns why it was not run.
    """
    rule = rule_of(block.text)
    if rule.skip:
        return rule.skip
    code = list(block.lines)
    if text.startswith("# inkgate\n") and "import inkgate" in code:
        saves = sorted(
            {*re.findall(r"`(page\.save\([^`]+\))`", text), 'page.save("report.xlsx")', 'page.save("a.pdf")'}
        )
        code += saves
        if 'inkgate.extract("receipt.jpg", Receipt)' in text:
            code += ["from pydantic import BaseModel", "class Receipt(BaseModel):", "    total: float | None = None"]
            code += ['print(inkgate.extract("receipt.jpg", Receipt).data.total)']
    said = walk.run_program("\n".join(code).replace(*rule.replace))
    assert not output or said.strip() == output, f"it prints:\n{said}"
    assert said.strip() or not text.startswith("# inkgate\n"), "it prints nothing"
    for name in re.findall(r'^\w+\.save\("([^"]+\.\w+)"\)', "\n".join(code), re.MULTILINE):
        assert (walk.clone / name).stat().st_size > 1000, name
    return None


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
    (clone / "scans").mkdir(exist_ok=True)
    for name in ("receipts/tea-house.png", "archive/warranty.jpg"):
        shutil.copy(samples / name, clone / "scans")
    shutil.copy(clone / "examples" / "report.png", clone / "page.png")
    shutil.copy(samples / "receipts" / "harbour-bakery.jpg", clone / "receipt.jpg")
    for name in ("report.pdf", "scan.pdf", "long.pdf"):
        (clone / name).write_bytes(pdf([f"This is page {number} of the report." for number in range(1, 8)]))
    shutil.copy(clone / "examples" / "report.png", clone)
    shutil.copy(clone / "scans" / "warranty.jpg", clone / "scan.jpg")
    shutil.copy(clone / "scans" / "tea-house.png", clone / "receipt.png")
    for name in ("a.png", "b.png", "slip.png", "flow.png"):
        shutil.copy(samples / "archive" / "notice.png", clone / name)
    (clone / "documents").mkdir(exist_ok=True)
    shutil.copy(clone / "page.png", clone / "documents")
    shutil.copy(samples / "receipts" / "lamp-and-light.pdf", clone / "receipts.pdf")
    for name in ("a.pdf", "bill.pdf", "contract.pdf"):
        (clone / name).write_bytes(pdf(["Bill number: 20417"]))
    schema = '{"type": "object", "properties": {"number": {"type": "string", "title": "Bill number"}}}'
    (clone / "bill.schema.json").write_text(schema, encoding="utf-8")
    (clone / "values.json").write_text('{"total": "18.70"}', encoding="utf-8")
    (clone / "four-threads.toml").write_text("[engine.ppocr]\nthreads = 4\n", encoding="utf-8")
    (clone / "inkgate.toml").write_text(SETTINGS, encoding="utf-8")
    (clone / "model.py").write_text(MODEL, encoding="utf-8")
    (clone / "page.txt").write_text("FEMIP", encoding="utf-8")
    (clone / "documents" / "page.txt").write_text("FEMIP", encoding="utf-8")
    manifest = '[{"path": "page.png", "language": "en", "ground_truth": {"text": "page.txt"}}]'
    for folder in (clone, clone / "documents"):
        (folder / "manifest.json").write_text(manifest, encoding="utf-8")


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


def guides(root: Path) -> tuple[str, ...]:
    """The pages besides README's that have something to run."""
    return tuple(
        page.relative_to(root).as_posix()
        for page in sorted((root / "docs").rglob("*.md"))
        if page.relative_to(root).as_posix() not in README and "contributing" not in page.parts
        if any(block.language in SHELLS | PYTHONS for block in blocks(page.read_text(encoding="utf-8")))
    )


def needless_rules(root: Path) -> list[str]:
    """One message for each rule that is for no command of any page."""
    found = [block for name in (*README, *guides(root)) for block in blocks((root / name).read_text(encoding="utf-8"))]
    lines = [command for block in found if block.language in SHELLS for _, command in commands(block)]
    lines += [block.text for block in found if block.language in PYTHONS]
    used = {rule_of(line).line for line in lines}
    return [f"no command is as the rule {rule.line!r}" for rule in RULES if rule.line not in used]


def borrow_packages(clone: Path) -> None:
    """Makes an environment in the clone that has the packages of this checkout's, and inkgate from the clone."""
    python, venv = ROOT / ".venv" / "bin" / "python", clone / ".venv"
    subprocess.run([python, "-m", "venv", venv], check=True)
    query = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = subprocess.run(query, check=True, capture_output=True, text=True).stdout
    (site,) = venv.glob("lib/python3*/site-packages")
    (site / "borrowed.pth").write_text(packages, encoding="utf-8")
    projects = [".", *sorted(str(each) for each in (clone / "packages").iterdir())]
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check", "--no-warn-conflicts"]
    editable = [option for project in projects for option in ("--editable", project)]
    subprocess.run([venv / "bin" / "python", "-m", "pip", "install", *options, *editable], cwd=clone, check=True)
    for tool in ("ocrmypdf", "rapidocr"):  # with this environment's Python
        (venv / "bin" / tool).write_text(f'#!/bin/sh\nexec "{venv}/bin/python" -m {tool} "$@"\n', encoding="utf-8")
        (venv / "bin" / tool).chmod(0o755)


def main() -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", help="pages, from the repository's root")
    parser.add_argument("--guides", action="store_true", help="walk all pages but README's")
    parser.add_argument("--fresh", action="store_true", help="install all packages anew")
    options = parser.parse_args()
    pages = options.pages or (guides(ROOT) if options.guides else README)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="walk-") as folder:
        work = Path(folder)
        clone = work / "inkgate"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        (work / ".curlrc").write_text("fail-with-body\nsilent\nshow-error\n", encoding="utf-8")
        walk = Walk(clone, work, options.guides)
        if options.guides and options.fresh:
            subprocess.run(["make", "setup-dev"], cwd=clone, check=True)
        elif options.guides:
            borrow_packages(clone)
        else:
            lay_out(clone)
        walk.failures += needless_rules(clone)
        try:
            for page in pages:
                walk.begin_page(clean=options.guides)
                run, skipped, failed = walk.count, len(walk.skipped), len(walk.failures)
                walk_page(walk, page)
                run, skipped, failed = walk.count - run, len(walk.skipped) - skipped, len(walk.failures) - failed
                print(f"== {page}: {run} of {run + skipped + failed} run", flush=True)
        finally:
            walk.close()
    print(*walk.failures, sep="\n")
    print(
        f"{walk.count} of {walk.count + len(walk.skipped) + len(walk.failures)} were run "
        f"in {time.monotonic() - begun:.0f} s; {len(walk.skipped)} were not run, {len(walk.failures)} failed"
    )
    return 1 if walk.failures else 0


if __name__ == "__main__":
    sys.exit(main())
