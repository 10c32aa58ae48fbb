"""The web page's figures, its ZIP of all documents, and what it shows before a document is read, in a real browser."""

from __future__ import annotations

import json
import re
import zipfile

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from support.browser import give, shoot, visit
from support.images import encoded
from support.pdf_writer import paragraph, text_pdf
from support.pictured_page import opened, pictured_page
from support.server import Server

pytestmark = pytest.mark.real


def copies_have_no_dead_links_and_a_zip_has_the_images(page: Page) -> None:
    page.click("#result-tab-source")
    page.click("#copy-page")
    expect(page.locator("#copy-page")).to_have_text("Copied")
    for text in (page.evaluate("navigator.clipboard.readText()"), page.inner_text("#result-source")):
        assert "Hills in the morning" in text
        assert "images/" not in text
    page.click("#result-tab-preview")
    page.click(".page-bar .menu summary")
    with page.expect_download() as download:
        page.click("#downloads [data-format=zip]")
    with zipfile.ZipFile(download.value.path()) as archive:
        markdown, image = sorted(archive.namelist())
        assert markdown == "hills.md"
        assert f"![Figure]({image})" in archive.read(markdown).decode()
        assert archive.read(image).startswith((b"\xff\xd8", b"\x89PNG"))


def test_figures_are_images_in_the_preview_and_in_files_and_all_documents_go_into_one_zip(
    browser: Browser, page_server: Server
) -> None:
    scan = encoded(pictured_page(), "PNG")
    with visit(browser, page_server) as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        give(page, ("hills.png", scan))
        expect(page.locator("#files .file.done")).to_have_count(1)
        figure = page.locator("#result-preview .block.figure img")
        expect(figure).to_have_count(1)
        shown = figure.evaluate("(node) => [node.naturalWidth, node.naturalHeight, node.offsetWidth]")
        assert shown[0] > 550
        assert shown[1] > 270
        assert 200 < shown[2] < shown[0]
        expect(page.locator("#result-preview p", has_text="Hills in the morning")).to_have_count(1)
        shoot(page, "figures")
        copies_have_no_dead_links_and_a_zip_has_the_images(page)
        give(page, ("../hills.png", scan), ("text.pdf", text_pdf(paragraph())))
        expect(page.locator("#files .file.done")).to_have_count(3)
        expect(page.locator("#files-total")).to_have_text("3 of 3 documents read")
        page.click("#all summary")
        with page.expect_download() as download:
            page.click("#downloads-all [data-all=markdown]")
        with zipfile.ZipFile(download.value.path()) as archive:
            assert archive.testzip() is None
            assert sorted(archive.namelist()) == ["_hills.md", "hills.md", "text.md"]
            markdown = archive.read("hills.md").decode()
        link = re.search(r"!\[Figure\]\((data:image/\w+;base64,[^)]+)\)", markdown)
        assert link is not None
        assert opened(link[1]).width == shown[0]
        page.click(".page-bar .menu summary")
        with page.expect_download() as download:
            page.click("#downloads [data-format=docx]")
        with zipfile.ZipFile(download.value.path()) as word:
            assert [name for name in word.namelist() if name.startswith("word/media/")]


def test_only_jpeg_and_png_images_of_blocks_are_shown(browser: Browser, page_server: Server) -> None:
    drawing = "<svg xmlns='http://www.w3.org/2000/svg' onload='document.title=1'/>"

    def changed(route: Route) -> None:
        answer = route.fetch()
        lines = answer.text().splitlines()
        read = json.loads(lines[0])
        (figure,) = [block for block in read["blocks"] if block.get("image")]
        hostile = [
            {"name": "a", "mime_type": "image/svg+xml", "width": 5, "height": 5, "base64": "PHN2Zy8+"},
            {"name": "a", "mime_type": "image/png", "width": "5' onload=", "height": {}, "base64": f'",{drawing}'},
            {"name": "a", "mime_type": "image/png\nx", "width": 5, "height": 5, "base64": "AAAA"},
            {"name": "a", "mime_type": "image/png", "width": 5, "height": 5, "base64": ["AAAA"]},
        ]
        read["blocks"] = [{**figure, "image": image} for image in hostile]
        route.fulfill(response=answer, body="\n".join([json.dumps(read), *lines[1:]]) + "\n")

    with visit(browser, page_server) as page:
        page.route("**/ocr", changed)
        give(page, ("hills.png", encoded(pictured_page(), "PNG")))
        expect(page.locator("#files .file.done")).to_have_count(1)
        expect(page.locator("#result-preview .block.figure")).to_have_count(4)
        assert page.locator("#result-preview img").count() == 0


def test_the_page_is_shown_while_it_is_read_and_a_jobs_link_survives_a_reload(
    browser: Browser, page_server: Server
) -> None:
    with visit(browser, page_server) as page:
        held: list[Route] = []
        page.route("**/ocr", lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks it
        assert page.get_attribute("#camera-input", "capture") == "environment"
        give(page, ("hills.png", encoded(pictured_page(), "PNG")), field="#camera-input")
        expect(page.locator("#viewer .picture")).to_be_visible()
        expect(page.locator("#pending")).to_contain_text("hills.png: reading")
        expect(page.locator("#result")).to_be_hidden()
        expect(page.locator(".loading-text")).to_be_visible()
        for route in held:
            route.abort()
        expect(page.locator("#files .file.failed")).to_have_count(1)
        expect(page.locator(".loading-text")).to_be_hidden()
        page.route("**/v1/files", lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks it
        give(page, ("text.pdf", text_pdf(paragraph())))
        expect(page.locator("#viewer .blank-page")).to_be_visible()
        with page.expect_request("**/ocr"):
            held.pop().continue_()
        expect(page.locator("#viewer img.picture")).to_be_visible()
        expect(page.locator("#viewer .blank-page")).to_have_count(0)
        held.pop().continue_()
        page.unroute_all()
        expect(page.locator("#files .file.done")).to_have_count(1)
        expect(page.locator("#result-preview .block")).to_have_count(1)
        page.click("#tab-jobs")
        hills = ("hills.png", encoded(pictured_page(), "PNG"))
        give(page, hills, ("text.pdf", text_pdf(paragraph())), field="#jobs-input")
        expect(page.locator("#jobs-total")).to_have_text("2 of 2 documents read")
        page.locator("tr", has_text="hills.png").locator("[data-act=show]").click()
        expect(page.locator("#result-preview .block.figure img")).to_have_count(1)
        read = page.locator("#result-preview").inner_text()
        assert "#job/" in page.url
        page.reload()
        expect(page.locator("#result-preview")).to_have_text(read, use_inner_text=True)
        page.click("#tab-live")
        page.click("#tab-read")
        assert "#job/" in page.url
        page.goto(page_server.url + "/#job/nothing")
        page.reload()
        expect(page.locator("#failure .problem")).to_be_visible()
