"""The advisor in a real browser: it answers as it is filled in, is shared by its address, and says what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING

import pytest

from distkb.locale import LANGUAGES, Language, Say
from distkb.report import sizing as report
from distkb.sizing.advise import advise, choose
from distkb.sizing.form import Form, command_line, read
from distkb.sizing.launch import command, files

if TYPE_CHECKING:
    from browser import Site
    from playwright.sync_api import Page

pytest_plugins = ("browser",)
pytestmark = pytest.mark.browser


def verdict(page: Page) -> str:
    """The answer's sentence, once what was typed is answered."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.inner_text("#verdict")


def fill(page: Page, form: Form) -> None:
    """Fill in every field as a person does."""
    for name, value in asdict(form).items():
        if page.locator(f"select#f-{name}").count():
            page.select_option(f"#f-{name}", value)
        else:
            page.fill(f"#f-{name}", value)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_it_answers_as_the_program_does(lang: Language, site: Site, page: Page) -> None:
    """Sentence, rows, command and files are the program's, in the language of the page."""
    say = Say(lang)
    page.goto(site.url(f"{lang}/advise.html"))
    assert verdict(page) == report.verdict(advise(*read(Form())), say)
    form = Form(model="llama-3-8b", gpus="16", memory="40G", seq="8192", precision="fp16", host="1T")
    fill(page, form)
    advice = advise(*read(form))
    assert verdict(page) == report.verdict(advice, say)
    assert page.locator("#rows tbody tr").count() == len(report.shown(advice))
    for place, row in enumerate(report.shown(advice)):
        cells = page.locator("#rows tbody tr").nth(place).locator("td").all_inner_texts()
        assert tuple(cells[1:]) == report.figures(row, advice.run)
        assert say(f"advise.fit.{report.fit(row, advice.run)}") in cells[0]
    shown = {name: page.text_content(f'[data-piece="{name}"]') for name in ("torchrun", *files(advice), "distkb")}
    assert shown == {"torchrun": command(advice) + "\n", **files(advice), "distkb": command_line(form) + "\n"}
    page.select_option("#f-strategy", "zero3")
    verdict(page)
    assert page.text_content('[data-piece="ds_config.json"]') == files(choose(advice, "zero3"))["ds_config.json"]


def test_the_address_asks_the_same(site: Site, page: Page, open_page: Callable[..., Page]) -> None:
    """What differs from the beginning is in the address; opened elsewhere, and in the other language, it is there."""
    page.goto(site.url("en/advise.html"))
    form = Form(model="13B", gpus="2", memory="48G", checkpointing="on", lora="16")
    fill(page, form)
    page.select_option("#f-strategy", "zero2")
    verdict(page)
    query = page.url.partition("?")[2]
    assert set(query.split("&")) >= {"model=13B", "gpus=2", "memory=48G", "checkpointing=on", "lora=16"}
    assert "seq" not in query
    other = open_page()
    other.goto(site.url("ko/advise.html", query=query))
    assert verdict(other) == report.verdict(advise(*read(form)), Say("ko"))
    assert other.input_value("#f-strategy") == "zero2"
    page.click("a.lang")
    page.wait_for_url("**/ko/advise.html?*")
    assert page.input_value("#f-model") == "13B"


def test_what_is_wrong_is_said_at_the_field(site: Site, page: Page) -> None:
    """The field is marked and described, one line names it, nothing runs as markup, and the last answer stays."""
    page.goto(site.url("en/advise.html", query="gpus=%3Cimg%20src%3Dx%3E&precision=int3&nonsense=1"))
    assert page.input_value("#f-precision") == "bf16"
    assert page.get_attribute("#f-gpus", "aria-invalid") == "true"
    assert page.inner_text("#problem").startswith("✗ GPUs: '<img src=x>'")
    assert page.locator("#problem img").count() == 0
    page.fill("#f-gpus", "4")
    assert "4 GPUs" in verdict(page)
    assert page.get_attribute("#f-gpus", "aria-invalid") is None
    assert page.inner_text("#problem") == ""
    before = verdict(page)
    page.fill("#f-memory", "much")
    assert verdict(page) == before
    assert "much" in page.inner_text("#a-memory")


def test_a_configuration_can_be_pasted(site: Site, page: Page) -> None:
    """A `config.json` stands for the model and stays out of the address; what is no JSON object is said."""
    page.goto(site.url("en/advise.html"))
    page.click("details.field summary")
    page.fill("#f-config", "{")
    assert verdict(page)
    assert page.inner_text("#problem").startswith("✗ config.json")
    page.fill(
        "#f-config",
        '{"num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,'
        ' "intermediate_size": 14336, "vocab_size": 128256}',
    )
    verdict(page)
    assert "8.03B" in page.inner_text("#assumed")
    assert "hidden_size" not in page.url


def test_without_scripts_there_are_the_tables(site: Site, open_page: Callable[..., Page]) -> None:
    """No form that would do nothing, and the tables of common sizes."""
    page = open_page(java_script_enabled=False)
    page.goto(site.url("en/advise.html"))
    assert not page.is_visible("#advise")
    assert not page.is_visible("#answer")
    assert page.locator("table.common").count() == 3
    assert page.is_visible("table.common >> nth=0")


def test_it_fits_a_phone(site: Site, open_page: Callable[..., Page]) -> None:
    """Nothing but the tables scrolls to the side."""
    page = open_page(viewport={"width": 360, "height": 740})
    page.goto(site.url("ko/advise.html", query="gpus=64&model=llama-3-405b"))
    assert verdict(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
