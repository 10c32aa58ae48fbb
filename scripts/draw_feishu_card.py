"""Draws docs/screenshots/integrations/feishu-card.png: the cards of `inkgate feishu`, from their JSON, by our own HTML.
Feishu draws them otherwise. Needs Chromium.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from inkgate.client import JobFieldsFound
from inkgate.client.fields import Fields
from inkgate.fields.values import Extraction, ExtractionStatus, FieldStatus, FieldValue
from inkgate_feishu.cards import FieldCards
from inkgate_feishu.choices import shipped_words

OUT = Path(__file__).parents[1] / "docs" / "screenshots" / "integrations" / "feishu-card.png"
STYLE = """
body { margin: 24px; display: flex; gap: 24px; align-items: flex-start; background: #f5f6f7;
       font: 14px/1.6 "Noto Sans CJK SC", sans-serif; color: #1f2329 }
section { width: 360px; background: #fff; border: 1px solid #dee0e3; border-radius: 8px; overflow: hidden }
header { padding: 10px 12px; font-weight: 600; display: flex; gap: 8px; align-items: center }
header.orange { background: #feead2 } header.blue { background: #e1eaff }
header span { font-size: 12px; padding: 0 6px; border-radius: 4px; background: #fff8 }
main { padding: 12px; display: flex; flex-direction: column; gap: 6px }
label { display: block }
input { width: 100%; box-sizing: border-box; padding: 5px 8px; }
input, button { border: 1px solid #d0d3d6; border-radius: 6px; font: inherit }
button { align-self: flex-start; margin-top: 6px; padding: 4px 14px; background: #fff }
button.primary { border-color: #3370ff; color: #3370ff }
form { display: flex; flex-direction: column; gap: 8px }
"""
DATA = {
    "merchant_name": "LITTLE HARBOUR TRADING SDN BHD",
    "date": "2018-04-03",
    "subtotal": "28.50",
    "tax": "1.71",
    "total": "30.20",
    "items": [
        {"description": "ROPE 10M", "quantity": "2", "amount": "8.50"},
        {"description": "ANCHOR", "quantity": "1", "amount": "20.00"},
    ],
}


def drawn(part: dict[str, Any], language: str) -> str:
    """A part of a card as HTML."""
    inner = "".join(drawn(each, language) for each in part.get("elements", []))
    match part["tag"]:
        case "div":
            return f"<div>{text(part['text'], language)}</div>"
        case "button":
            return f'<button class="{part.get("type", "")}">{text(part["text"], language)}</button>'
        case "input":
            return f'<label>{text(part["label"], language)}<input value="{escape(part["default_value"])}"></label>'
        case "form":
            return f"<form>{inner}</form>"
    raise ValueError(part["tag"])


def text(part: dict[str, Any], language: str) -> str:
    return escape(part["i18n_content"][language])


def card(made: dict[str, Any], language: str) -> str:
    """A card as HTML."""
    header = made["header"]
    tags = "".join(f"<span>{text(tag['text'], language)}</span>" for tag in header.get("text_tag_list", []))
    parts = "".join(drawn(each, language) for each in made["body"]["elements"])
    title = text(header["title"], language)
    return f'<section><header class="{header["template"]}">{title}{tags}</header><main>{parts}</main></section>'


def main() -> None:
    doubtful = {"/date": FieldValue("/date", "date", FieldStatus.UNCERTAIN)}
    extraction = Extraction("receipt", DATA, doubtful, (), ExtractionStatus.NEEDS_REVIEW)
    found = JobFieldsFound(DATA, Fields(extraction, DATA), "needs_review", 1, ())
    cards = FieldCards(shipped_words(), "a secret", "job", "chat")
    shown = (
        card(cards.answer("", found), "en_us")
        + card(cards.answer("", found), "zh_cn")
        + card(cards.form(found), "en_us")
    )
    OUT.parent.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1180, "height": 400})
        page.set_content(f"<style>{STYLE}</style>{shown}")
        page.screenshot(path=OUT, full_page=True)
        browser.close()


if __name__ == "__main__":
    main()
