"""The page in a real Chromium, from file://: the program starts in it, reads, asks by keyboard, and reaches a fix."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from test_browser_access import open_folds, violations

from distkb.catalogue.places import builtin
from distkb.diagnosis.batch import diagnose
from distkb.diagnosis.guide import Guide
from distkb.intake import read
from distkb.knowledge import open_knowledge
from distkb.locale import Say
from distkb.report import text as report
from distkb.report.meaning import Meanings
from distkb.search.index import load

if TYPE_CHECKING:
    from browser import Site
    from playwright.sync_api import Page

pytest_plugins = ("browser",)
pytestmark = [pytest.mark.browser, pytest.mark.timeout(600), pytest.mark.usefixtures("engine")]

PROGRAMS = Path(__file__).parents[1] / "replay" / "data" / "programs"
LONG = 120_000
"""Milliseconds that the program may take to start and to read on a busy machine."""
REPORT = {
    "en": """It freezes after the first epoch, two nodes, torchrun.

Traceback (most recent call last):
  File "/home/me/train.py", line 19, in main
    dist.barrier()
RuntimeError: Timed out waiting 5000ms for recv operation to complete
only rank 0 evaluates, everybody else waits at the barrier
""",
    "ko": "2노드 torchrun 학습이 에폭 끝 검증 다음에 멈춥니다. 오류는 없고 rank 0만 검증합니다.\n",
}
RANKS = "".join(
    f"2026-01-02 12:00:0{second} [rank{rank}] {text}\n"
    for second, rank, text in (
        (1, 0, "INFO step 1 loss 2.1"),
        (1, 1, "INFO step 1 loss 2.1"),
        (2, 1, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."),
        (9, 0, "INFO waiting"),
    )
)
KINDS = [".answers", ".example", ".checks", "textarea", ".name"]
"""What tells a question, lines to choose, several answers, output to paste, and a fix from one another."""
MOVES = 40
"""Moves after which a session has to have come to a fix."""


@contextmanager
def redrawn(page: Page) -> Iterator[None]:
    """Wait until what is done inside has been shown."""
    before = page.locator("#diagnose").get_attribute("data-drawn") or ""
    yield
    page.locator(f'#diagnose[data-drawn]:not([data-drawn="{before}"])').wait_for(timeout=LONG)


def paste(page: Page, text: str) -> None:
    """Do what a paste does, without the system's clipboard."""
    page.locator("#d-text").focus()
    with redrawn(page):
        page.evaluate(
            """text => {
              const box = document.getElementById("d-text"), data = new DataTransfer();
              data.setData("text/plain", text);
              const event = new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true });
              if (box.dispatchEvent(event)) box.value += text;
            }""",
            text,
        )


def press(page: Page, label: str) -> None:
    """Reach a button of the question by Tab, and press it."""
    for _ in range(40):
        if page.evaluate("document.activeElement.textContent").strip() == label:
            with redrawn(page):
                page.keyboard.press("Enter")
            return
        page.keyboard.press("Tab")
    pytest.fail(f"{label!r} is not reached by keyboard")


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_a_paste_leads_by_keyboard_to_a_fix(site: Site, page: Page, lang: str) -> None:
    """What is pasted is ranked and quoted, `don't know` leads on, and a fix asks whether it helped."""
    unknown, cannot, none, helped, solved = {
        "en": ("I don't know", "I can't do this now", "None of these lines", "It helped", "Solved"),
        "ko": ("모르겠습니다", "지금은 할 수 없습니다", "이 줄은 모두 없음", "도움이 되었습니다", "해결했습니다"),
    }[lang]
    page.goto(site.url(f"{lang}/diagnose.html"))
    paste(page, REPORT[lang])
    assert page.evaluate("document.activeElement.id") == "d-said"
    assert page.locator("#d-causes > li").first.locator("a").first.text_content() == "D21"
    assert page.locator("#d-answer q").count() > 0
    assert page.locator("#d-known select").count() >= 2
    for _ in range(MOVES):
        card = page.locator("#d-move")
        labels = [text.strip() for text in card.locator("button").all_text_contents()]
        if helped in labels:
            break
        press(page, next(label for label in (none, unknown, cannot) if label in labels))
        assert page.evaluate("document.activeElement.id") == "d-move-title"
    assert page.locator("#d-move .name a").get_attribute("href").startswith("e/")  # type: ignore[union-attr]
    press(page, helped)
    expect(page.locator("#d-move-title")).to_have_text(solved)


def test_answers_facts_and_the_way_back(site: Site, page: Page) -> None:
    """Number keys answer, chips change and go, back and forward undo, and the course can be taken back."""
    page.goto(site.url("en/diagnose.html"))
    with redrawn(page):
        page.locator("#d-ask").click()
    while not page.locator(".answers button").count():
        with redrawn(page):
            page.get_by_role("button", name=re.compile("^I (?:don't know|can't do this now)$")).click()
    first = page.locator("#d-move-title").text_content()
    page.locator(".answers button").first.focus()
    with redrawn(page):
        page.keyboard.press("2")
    assert page.locator("#d-move-title").text_content() != first
    assert page.locator("#d-known select").count() == 1
    with redrawn(page):
        page.locator("#d-undo").click()
    assert page.locator("#d-move-title").text_content() == first
    assert page.locator("#d-known select").count() == 0
    with redrawn(page):
        page.locator("#d-redo").click()
    with redrawn(page):
        page.locator("#d-known select").select_option(index=2)
    assert page.locator("#d-known select").evaluate("one => one.selectedIndex") == 2
    assert page.locator("#d-causes > li").count() > 3
    with redrawn(page):
        page.locator("#d-known button").click()
    assert page.locator("#d-known select").count() == 0


def test_a_fact_that_the_words_show_can_be_removed(site: Site, page: Page) -> None:
    """Then it is asked for, or not known; the rest of the text still counts."""
    page.goto(site.url("en/diagnose.html"))
    paste(page, "The training hangs, no error is printed.")
    assert "symptom" in page.locator("#d-known").inner_text()
    with redrawn(page):
        page.get_by_role("button", name=re.compile("^Remove: It freezes")).click()
    assert "symptom" not in page.locator("#d-known").inner_text()


def test_five_megabytes_do_not_freeze_the_page(site: Site, page: Page) -> None:
    """The page's clock goes on while a log is read, and the text is held beside the box."""
    page.goto(site.url("en/diagnose.html"))
    page.locator("#d-text").focus()
    page.locator("#diagnose[data-ready]").wait_for(timeout=LONG)
    page.evaluate(
        """() => {
          window.worst = 0;
          let last = performance.now();
          window.clock = setInterval(() => {
            worst = Math.max(worst, performance.now() - last);
            last = performance.now();
          }, 10);
        }"""
    )
    line = "2026-11-21 10:15:32,123 [rank0] INFO step 1200 loss=2.3456 lr=3.0e-04 tokens/s=12345\n"
    paste(page, line * 30_000 + "RuntimeError: CUDA out of memory\n" + line * 30_000)
    assert page.locator("#d-held").is_visible()
    assert page.locator("#d-text").input_value() == ""
    assert page.evaluate("worst") < 3000


@pytest.mark.parametrize("name", sorted(path.name for path in PROGRAMS.iterdir())[7::40])
def test_a_folder_gets_the_terminals_answer(site: Site, page: Page, name: str) -> None:
    """The page says of a run's folder what `distkb diagnose` says: the sentence, the ranking, the quotes, the fix."""
    compiled = open_knowledge()
    catalogue, index = compiled.catalogue(), load(compiled.search_index())
    folder = PROGRAMS / name
    answer = diagnose(Guide(catalogue), read(catalogue, [folder], index=lambda: index, look_near=True))
    told = report.write(answer, Meanings(catalogue), Say("en"), columns=10_000).split("\n")
    page.goto(site.url("en/diagnose.html"))
    with redrawn(page):
        page.set_input_files("#d-folder", folder)
    shown = " ".join(page.locator("#d-answer").inner_text().split())
    assert page.locator("#d-said").inner_text() == told[0]
    after = next((at for at, line in enumerate(told) if line.startswith(("Next", "Or "))), len(told))
    for line in told[:after]:
        words = " ".join(line.replace("`", "").lstrip(" |$").split())
        if str(folder) not in line and len(words) > 20:
            assert words in shown, words


def test_an_incident_that_is_pasted_gets_its_cause(site: Site, page: Page) -> None:
    """A log without a word of a person is read as a log, its ranks with it."""
    log = builtin() / "incidents" / "I2-frozen-after-validation" / "logs" / "console.log"
    page.goto(site.url("en/diagnose.html"))
    paste(page, log.read_text(encoding="utf-8"))
    assert "pasted.log" in page.locator("#d-answer").inner_text()
    assert page.locator("#d-answer .title a").first.text_content() == "D21"


def test_a_file_that_changes_after_it_was_given_costs_itself_alone(site: Site, page: Page, tmp_path: Path) -> None:
    """A log that a run still writes to is said to be unreadable, and the page goes on."""
    log = tmp_path / "rank0.log"
    log.write_text("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n")
    page.goto(site.url("en/diagnose.html"))
    with redrawn(page):
        page.set_input_files("#d-file", log)
    with log.open("a") as more:
        more.write("another line\n")
    with redrawn(page):
        page.locator("#diagnose form button.main").click()
    assert "rank0.log" in page.locator("#d-answer .faint").first.inner_text()
    with redrawn(page):
        page.set_input_files("#d-file", log)
    assert "CUDA out of memory" in page.locator("#d-answer").inner_text()


def test_a_folder_dropped_on_a_page_from_disk_is_read(site: Site, page: Page) -> None:
    """Anywhere on the page, whatever kind of entry the browser gives to a page of this origin."""
    page.goto(site.url("en/diagnose.html"))
    data = {"items": [], "files": [str(PROGRAMS / "music-lm")], "dragOperationsMask": 1}
    browser = page.context.new_cdp_session(page)
    with redrawn(page):
        for kind in ("dragEnter", "dragOver", "drop"):
            browser.send("Input.dispatchDragEvent", {"type": kind, "x": 900, "y": 700, "data": data})
    assert "music-lm" in page.locator("#d-course").inner_text()
    assert page.locator("#d-answer q").count() > 0


def test_what_is_pasted_twice_is_read_twice(site: Site, page: Page) -> None:
    """A log that is held and one in the box are files of their own."""
    page.goto(site.url("en/diagnose.html"))
    paste(page, "2026-11-21 10:15:32 [rank0] INFO step 1200 loss=2.3456\n" * 2000)
    with redrawn(page):
        page.fill("#d-text", "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n" * 5)
        page.locator("#diagnose form button.main").click()
    read = page.locator("#d-course").inner_text()
    assert "pasted-2.log, pasted.log" in read
    assert "pasted-2.log" in page.locator("#d-answer").inner_text()


def test_a_start_that_fails_forgets_nothing(site: Site, page: Page) -> None:
    """The kept session is shown by the next load that works."""
    page.goto(site.url("en/diagnose.html"))
    paste(page, "The training hangs in all_reduce.")
    page.route("**/diagnose-engine.*", lambda route: route.fulfill(body="", content_type="text/javascript"))
    page.reload()
    expect(page.locator("#d-state")).to_contain_text("could not be started", timeout=LONG)
    page.unroute_all()
    page.reload()
    page.locator("#d-causes > li").first.wait_for(timeout=LONG)
    assert "all_reduce" in page.locator("#d-text").input_value()


def test_a_shared_session_that_goes_on_is_kept_as_it_goes(site: Site, open_page: Callable[..., Page]) -> None:
    """A second click of an answer counts nothing; after a reload the later state is shown, not that of the link."""
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    page.goto(site.url("en/diagnose.html"))
    with redrawn(page):
        page.locator("#d-ask").click()
    page.locator("#d-share").click()
    expect(page.locator("#d-state")).to_have_text(re.compile("^Copied: the link"))
    while not page.locator(".answers button").count():
        with redrawn(page):
            page.get_by_role("button", name=re.compile("^I (?:don't know|can't do this now)$")).click()
    with redrawn(page):
        page.locator(".answers button").first.dblclick()
    assert page.locator("#d-known select").count() == 1
    page.reload()
    page.locator("#d-causes > li").first.wait_for(timeout=LONG)
    assert page.locator("#d-known select").count() == 1
    with redrawn(page):
        page.locator("#d-undo").click()
    assert page.locator("#d-known select").count() == 0


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_the_ranks_of_a_log_are_drawn(site: Site, page: Page, lang: str) -> None:
    """A lane for each rank, told in words as well; a text of one process has none."""
    page.goto(site.url(f"{lang}/diagnose.html"))
    paste(page, RANKS)
    assert page.locator("#d-lanes .lane").count() == 4
    told = page.locator("#d-lanes svg").get_attribute("aria-label") or ""
    assert "out of memory" in told
    assert page.locator("#d-lanes .failed").count() >= 1
    page.locator("#d-over").click()
    paste(page, "RuntimeError: CUDA out of memory\n" * 5)
    assert not page.locator("#d-lanes").is_visible()


def test_the_session_is_copied_as_markdown(site: Site, open_page: Callable[..., Page]) -> None:
    """Causes, evidence, what is known and the next move, without leaving the page."""
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    page.goto(site.url("en/diagnose.html"))
    paste(page, REPORT["en"])
    page.locator("#d-copy").click()
    expect(page.locator("#d-state")).to_have_text("Copied.")
    text = page.evaluate("navigator.clipboard.readText()")
    assert re.search(r"^## .*D21", text)
    assert "dist.barrier()" in text


def test_without_a_script_the_page_leads_to_the_tree(site: Site, open_page: Callable[..., Page]) -> None:
    """Nothing that needs a script is shown."""
    page = open_page(java_script_enabled=False)
    page.goto(site.url("ko/diagnose.html"))
    assert not page.locator("#diagnose").is_visible()
    assert page.locator(".without-script a").last.is_visible()


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_nothing_is_wider_than_the_window(site: Site, page: Page, lang: str) -> None:
    """With the answer, the ranking, a question and the facts shown, on a phone and on a desk."""
    page.goto(site.url(f"{lang}/diagnose.html"))
    paste(page, REPORT[lang])
    for width in (1280, 360, 320):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_only_the_tab_keeps_a_session(site: Site, page: Page) -> None:
    """A reload and the other language show it again; beginning anew forgets it, and nothing else ever held it."""
    page.goto(site.url("en/diagnose.html"))
    paste(page, "The training hangs in all_reduce, secret-name-4711.")
    first = page.locator("#d-causes > li a").first.text_content()
    page.reload()
    page.locator("#d-causes > li").first.wait_for(timeout=LONG)
    assert "4711" in page.locator("#d-text").input_value()
    page.click("a.lang")
    page.wait_for_url(site.url("ko/diagnose.html"))
    page.locator("#d-causes > li").first.wait_for(timeout=LONG)
    assert page.locator("#d-causes > li a").first.text_content() == first
    kept = page.evaluate("JSON.stringify([{ ...localStorage }, document.cookie, location.href])")
    assert "4711" not in kept
    page.locator("#d-over").click()
    assert page.evaluate("JSON.stringify({ ...sessionStorage })") == "{}"
    page.reload()
    assert page.locator("#d-text").input_value() == ""
    assert not page.locator("#d-result").is_visible()


def test_a_link_holds_a_session(site: Site, open_page: Callable[..., Page]) -> None:
    """Its fragment shows the same causes in another tab, without the text; a damaged one is said to be none."""
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    page.goto(site.url("en/diagnose.html"))
    paste(page, REPORT["en"])
    page.locator("#d-share").click()
    expect(page.locator("#d-state")).to_have_text(re.compile("^Copied: the link"))
    link = page.evaluate("navigator.clipboard.readText()")
    assert "#s=" in link
    other = open_page()
    other.goto(link)
    other.locator("#d-causes > li").first.wait_for(timeout=LONG)
    shown = [one.locator("#d-causes > li").first.inner_text() for one in (page, other)]
    assert shown[0] == shown[1]
    assert other.locator("#d-text").input_value() == ""
    third = open_page()
    third.goto(link[: len(link) // 2])
    expect(third.locator("#d-state")).to_have_text("This link holds no readable session.", timeout=LONG)


def test_no_step_of_a_session_has_a_barrier(site: Site, page: Page) -> None:
    """The ranking with its evidence, and every kind of question, step and fix, as axe judges them."""
    seen: dict[str, set[str]] = {}
    for text in ("The training hangs and nothing is printed any more.", REPORT["en"]):
        page.goto(site.url("ko/diagnose.html"))
        paste(page, text)
        for _ in range(MOVES):
            card = page.locator("#d-move")
            kind = card.evaluate("(one, kinds) => kinds.find(kind => one.querySelector(kind)) || ''", KINDS)
            if kind not in seen:
                open_folds(page)
                seen[kind] = violations(page)
            labels = ("이 줄은 모두 없음", "모르겠습니다", "지금은 할 수 없습니다")
            buttons = [card.get_by_role("button", name=label).last for label in labels]
            button = next((button for button in buttons if button.count()), None)
            if kind == ".name" or button is None:
                break
            with redrawn(page):
                button.click()
    assert {".answers", ".name"} <= set(seen)
    assert {kind: found for kind, found in seen.items() if found} == {}
