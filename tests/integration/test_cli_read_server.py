"""`inkgate read --server`: the output of a local read, without an engine in this process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from support.api_client import png
from support.pdf_writer import paragraph, text_pdf
from support.server import SERVE_FAKE_ENGINE, Server, clean_environment, inkgate, inkgate_here, running_server

TESTS = Path(__file__).parents[1]
HEAVY = {"onnxruntime", "openvino", "cv2", "rapidocr", "fastapi", "uvicorn", "pypdfium2", "sqlalchemy", "aiohttp"}


@pytest.fixture(scope="module")
def fake() -> Iterator[Server]:
    with running_server(program=SERVE_FAKE_ENGINE, environment={"PYTHONPATH": str(TESTS)}) as started:
        yield started


@pytest.mark.smoke
def test_a_service_reads_a_folder_and_a_broken_file_among_others_fails_alone(fake: Server, tmp_path: Path) -> None:
    scans, out = tmp_path / "scans", tmp_path / "out"
    (scans / "sub").mkdir(parents=True)
    (scans / "a.png").write_bytes(png())
    (scans / "broken.png").write_bytes(png()[:60])
    (scans / "sub" / "b.pdf").write_bytes(text_pdf(paragraph(), paragraph()))
    formats = ("-f", "text,json,alto,docx", "--coordinates", "sent", "-j", "2")
    ended = inkgate("read", str(scans), "-o", str(out), *formats, "--server", fake.url)
    said = ended.stderr.decode()
    assert ended.returncode == 1, said
    assert ended.stdout == b""
    assert "2 read (3 pages)" in said
    assert "; 1 failed." in said
    assert f"{scans / 'broken.png'}: " in said
    assert "(image_corrupt)" in said
    written = sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file())
    ends = (".alto.xml", ".docx", ".json", ".txt")
    assert written == [f"{name}{end}" for name in ("a", "sub/b") for end in ends]
    assert (out / "a.docx").read_bytes()[:2] == b"PK"
    assert json.loads((out / "sub" / "b.json").read_bytes())["name"] == str(scans / "sub" / "b.pdf")
    again = inkgate_here("read", str(scans), "-o", str(out), "--server", fake.url)
    assert again.returncode == 2
    assert "--skip-existing" in again.stderr.decode()


def test_several_documents_are_printed_in_their_order_whichever_is_done_first(fake: Server, tmp_path: Path) -> None:
    names = [f"{number}.png" for number in range(6)]
    (tmp_path / "0.pdf").write_bytes(text_pdf(*[paragraph()] * 5))
    for name in names:
        (tmp_path / name).write_bytes(png())
    files = [str(tmp_path / name) for name in ("0.pdf", *names)]
    ended = inkgate("read", *files, "-f", "json", "--server", fake.url)
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert [json.loads(line)["name"] for line in ended.stdout.decode().splitlines()] == files


def test_a_service_finds_fields_and_the_output_is_its_answer(fake: Server, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.png", "b.png", "broken.png")]
    for file in files:
        file.write_bytes(png()[:60] if file.name == "broken.png" else png())
    ended = inkgate("extract", *map(str, files), "--fields", "total,date", "--server", fake.url)
    assert ended.returncode == 1, ended.stderr
    assert f"{files[2]}: " in ended.stderr.decode()
    assert b"(image_corrupt)" in ended.stderr
    printed = [json.loads(line) for line in ended.stdout.decode().splitlines()]
    sent = {"file": ("a.png", files[0].read_bytes())}
    answer = httpx.post(f"{fake.url}/extract", files=sent, data={"fields": "total,date"}).json()
    assert (
        [line["file"] for line in printed] == [line["document"]["name"] for line in printed] == [*map(str, files[:2])]
    )
    document = answer["document"] | {"name": str(files[0])}
    assert printed[0] == {"file": str(files[0]), **answer, "document": document}
    table = tmp_path / "rows.csv"
    csv = inkgate("extract", str(files[0]), "--fields", "total", "-f", "csv", "-o", str(table), "--server", fake.url)
    assert (csv.returncode, table.read_text("utf-8-sig").splitlines()[0]) == (0, "file,document_type,status,total")
    lost = inkgate("extract", str(files[0]), "--server", "http://127.0.0.1:9")
    assert (lost.returncode, lost.stderr.decode().count("can't be reached")) == (1, 1)
    assert inkgate_here("extract", str(files[0]), "--key-file", "key").returncode == 2


def test_a_service_reads_a_watched_folder(fake: Server, tmp_path: Path) -> None:
    scans, out = tmp_path / "scans", tmp_path / "out"
    (scans / "sub").mkdir(parents=True)
    (scans / "broken.png").write_bytes(png()[:60])
    (scans / "sub" / "b.pdf").write_bytes(text_pdf(paragraph(), paragraph()))
    watch = ("watch", str(scans), str(out), "-f", "text,json,docx", "--once", "--poll", "0.1")
    ended = inkgate(*watch, "--type", "invoice", "--server", fake.url)
    assert (ended.returncode, b"1 read; 1 failed." in ended.stderr) == (1, True), ended.stderr
    assert "(image_corrupt)" in (out / "broken.error.txt").read_text()
    written = {path.name for path in (out / "sub").iterdir()}
    assert written == {"b.txt", "b.json", "b.docx", "b.fields.json"}
    assert json.loads((out / "sub" / "b.json").read_bytes())["name"] == "sub/b.pdf"
    assert json.loads((out / "sub" / "b.fields.json").read_bytes())["document_type"] == "invoice"
    assert b"0 read; 0 failed." in inkgate(*watch, "--server", fake.url).stderr
    unknown = inkgate(*watch, "--type", "nonsense", "--server", fake.url)
    assert (unknown.returncode, b"no document type 'nonsense'" in unknown.stderr) == (2, True)
    lost = inkgate(*watch, "--server", "http://127.0.0.1:9")
    assert (lost.returncode, lost.stderr.decode().count("can't be reached")) == (1, 1)


def test_no_engine_is_imported_and_no_settings_are_read(fake: Server, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png())
    code = f"""
import sys
from inkgate.cli.main import main
sys.argv = ["inkgate", "read", {str(tmp_path / "a.png")!r}, "--server", {fake.url!r}]
try:
    main()
except SystemExit as end:
    print(end.code, sorted({{name.split(".")[0] for name in sys.modules}} & {HEAVY!r}), file=sys.stderr)
"""
    environment = clean_environment(INKGATE_CONFIG=str(tmp_path / "missing.toml"))
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert ended.stderr == "0 []\n"
    assert ended.stdout.strip()


def test_a_service_that_is_gone_ends_the_command_once(tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        (tmp_path / name).write_bytes(png())
    ended = inkgate("read", str(tmp_path), "--server", "http://127.0.0.1:9")
    assert ended.returncode == 1
    assert ended.stderr.decode().count("can't be reached") == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--server", "http://127.0.0.1:9", "--engine", "ppocr"), "the service chooses the engine"),
        (("--server", "nowhere"), "is not a URL"),
        (("--key-file", "key"), "is for --server"),
        (("--server", "http://127.0.0.1:9", "--key-file", "missing"), "missing: No such file"),
    ],
)
def test_what_does_not_go_together_is_misuse(options: tuple[str, ...], message: str, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png())
    ended = inkgate_here("read", str(tmp_path / "a.png"), *options)
    assert ended.returncode == 2
    assert message in ended.stderr.decode()


def test_a_type_that_does_not_exist_leaves_no_table(fake: Server, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png())
    table = tmp_path / "out.csv"
    arguments = ("extract", str(tmp_path / "a.png"), "--type", "nonsense", "-f", "csv", "-o", str(table))
    for reader in ((), ("--server", fake.url)):
        ended = inkgate(*arguments, *reader)
        assert (ended.returncode, b"document type" in ended.stderr, table.exists()) == (2, True, False), ended.stderr
