"""The sizing advisor on the screen: it follows what is typed, says what is wrong, and hands over what to start with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from textual.events import Key
from textual.widgets import Input, OptionList
from tui_driver import Drive, drive

from distkb.locale import Language, Say
from distkb.report import sizing as report
from distkb.report.layout import width
from distkb.sizing.advise import advise, choose
from distkb.sizing.form import Form, read
from distkb.sizing.launch import command, files
from distkb.tui.screens.advise import AdviseScreen
from distkb.tui.screens.launch import LaunchScreen
from distkb.tui.widgets.choice import Choice

pytestmark = pytest.mark.usefixtures("sample")

BOTH = pytest.mark.parametrize("lang", ["en", "ko"])
LLAMA = {"num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "vocab_size": 128256}


async def opened(driven: Drive) -> AdviseScreen:
    """Open the advisor and wait for its first answer."""
    await driven.press("f6")
    await driven.at("advise")
    screen = driven.app.screen
    assert isinstance(screen, AdviseScreen)
    await driven.until(lambda: screen.advice is not None, "an answer")
    return screen


async def typed(driven: Drive, **fields: str) -> None:
    """Put words into fields and wait until they are answered."""
    screen = driven.app.screen
    assert isinstance(screen, AdviseScreen)
    for field, text in fields.items():
        widget = screen.query_one(f"#advise-{field}")
        if isinstance(widget, Input):
            widget.value = text
        elif isinstance(widget, Choice):
            widget.choose(text)
    await settled(driven)


async def settled(driven: Drive) -> None:
    """Wait until what stands in the fields is answered, by figures or by a complaint."""
    screen = driven.app.screen
    assert isinstance(screen, AdviseScreen)
    await driven.pilot.pause()
    await driven.until(lambda: not screen.busy, "the answer to what was typed")


def rows(driven: Drive) -> list[str]:
    """The lines of the table, one a strategy."""
    names = tuple(report.NAMES.values())
    return [line for line in driven.shown.splitlines() if line[1:].lstrip("▸ ").startswith(names) and "   " in line]


@BOTH
def test_it_answers_at_once_and_follows_what_is_typed(lang: Language) -> None:
    """The first answer is for what stands there at first; every keystroke is followed, and the sentence is advise's."""

    async def script(driven: Drive) -> None:
        screen = await opened(driven)
        assert report.verdict(advise(*read(Form())), Say(lang))[:40] in driven.shown
        await driven.press("home", "delete")
        await driven.write("1")
        await settled(driven)
        assert screen.advice is not None
        assert screen.advice.shape == read(Form(model="1B"))[0]
        await typed(driven, gpus="16", checkpointing="on", lora="8", host="1T", per_node="4", optimizer="sgd")
        asked = Form(model="1B", gpus="16", checkpointing="on", lora="8", host="1T", per_node="4", optimizer="sgd")
        assert screen.advice.run == read(asked)[1]

    drive(script, lang=lang)


@BOTH
def test_what_cannot_be_read_is_said_in_one_line(lang: Language) -> None:
    """The field and what is wrong with it are named, the last answer stays, and what is put right is answered."""
    say = Say(lang)

    async def script(driven: Drive) -> None:
        screen = await opened(driven)
        before = screen.advice
        await typed(driven, gpus="[red]0[/]")
        lines = [line for line in driven.shown.splitlines() if "✗ " in line and "[red]0[/]" in line]
        assert len(lines) == 1
        assert lines[0].strip().startswith(f"✗ {say('advise.field.gpus')}")
        assert screen.advice is before
        await typed(driven, gpus="12")
        assert say("advise.error.spread", gpus=12, per_node=8) in driven.shown
        await typed(driven, gpus="16")
        assert "✗ " + say("advise.field.per_node") not in driven.shown
        assert screen.advice is not before

    drive(script, lang=lang)


MORE = [pytest.param(text, marks=pytest.mark.slow) for text in ("٣", "1e999", "💥", "{0}", "-1", "a/b", "/", "~x/y")]


@pytest.mark.parametrize("text", ["\x1b[31m", "9" * 400, "🇰🇷 7B", *MORE])
def test_nothing_that_is_typed_breaks_it(text: str) -> None:
    """Any text in any field leaves a screen that goes on."""

    async def script(driven: Drive) -> None:
        screen = await opened(driven)
        for field in ("model", "gpus", "memory", "per_node", "seq", "batch", "lora", "host"):
            await typed(driven, **{field: text})
            assert "✗" in driven.shown
            await typed(driven, **{field: getattr(Form(), field)})
        assert screen.advice is not None

    drive(script)


@BOTH
def test_the_language_changes_and_what_was_typed_stays(lang: Language) -> None:
    """Every label is said anew; fields, choices and the answer are as they were."""
    other = Say("en" if lang == "ko" else "ko")

    async def script(driven: Drive) -> None:
        screen = await opened(driven)
        await typed(driven, model="llama-3-8b", gpus="32", precision="fp16")
        form = screen.form()
        await driven.press("ctrl+l")
        assert other("advise.field.memory") in driven.shown
        assert other("tui.advise.title") in driven.shown
        assert screen.form() == form
        assert report.verdict(advise(*read(form)), other)[:30] in driven.shown

    drive(script, lang=lang)


def test_choices_turn_with_the_keyboard_and_the_mouse() -> None:
    """Arrows go to and fro, Space and a click go on; the first follows the last."""

    async def script(driven: Drive) -> None:
        screen = await opened(driven)
        choice = screen.query_one("#advise-precision", Choice)
        choice.focus()
        await driven.press("right")
        assert choice.value == "fp16"
        await driven.press("left", "left")
        assert choice.value == "fp32"
        await driven.press("space")
        assert choice.value == "bf16"
        await driven.pilot.click("#advise-precision")
        await settled(driven)
        assert choice.value == "fp16"
        assert screen.advice is not None
        assert screen.advice.run.precision == "fp16"

    drive(script)


def test_a_configuration_file_stands_for_the_model(tmp_path: Path) -> None:
    """Its path is typed where the number goes; one that is missing or broken is said in one line."""
    path = tmp_path / "config.json"

    async def script(driven: Drive) -> None:
        screen = await opened(driven)
        await typed(driven, model=str(path))
        assert "✗" in driven.shown
        path.write_text(json.dumps(LLAMA))
        await typed(driven, model=f" {path}")
        assert screen.advice is not None
        assert screen.advice.shape.source == "config"
        await driven.press("f8")
        await driven.at("launch")
        assert isinstance(driven.app.screen, LaunchScreen)
        assert f"--config {path}" in driven.app.screen.pieces["distkb"]

    drive(script)


@BOTH
def test_the_launch_of_any_row_is_read_and_copied(lang: Language) -> None:
    """Enter on a row shows the files for its strategy, Enter on a file copies it, Escape comes back."""

    async def script(driven: Drive) -> None:
        screen = await opened(driven)
        await driven.press("down")
        listing = screen.query_one("#advise-rows", OptionList)
        assert listing.has_focus
        await driven.press("home", "down")
        await driven.press("ctrl+y")
        assert screen.advice is not None
        chosen = choose(screen.advice, "zero1")
        assert driven.app.clipboard == command(chosen)
        await driven.press("enter")
        await driven.at("launch")
        await driven.says(Say(lang)("tui.launch.title", strategy="ZeRO-1"))
        for name, text in files(chosen).items():
            await driven.press("down", "enter")
            assert driven.app.clipboard == text, name
        await driven.press("escape")
        await driven.at("advise")
        assert listing.highlighted == 1

    drive(script, lang=lang)


def test_a_burst_of_keys_keeps_its_order() -> None:
    """What arrives in one packet of a slow line does what it would do key by key: no character overtakes a key."""
    burst = ["backspace", "backspace", *"13B", "tab", "backspace", *"16", "shift+tab", "home", "delete", "9"]

    async def script(driven: Drive) -> None:
        screen = await opened(driven)
        for name in burst:
            driven.app.post_message(Key(name, name if len(name) == 1 else None))
        await driven.until(lambda: screen.form() == Form(model="93B", gpus="16"), "all keys, in their order")
        screen.query_one("#advise-optimizer").focus()
        for name in ("right", "tab", "left"):
            driven.app.post_message(Key(name, None))
        form = Form(model="93B", gpus="16", optimizer="sgd-momentum", precision="fp32")
        await driven.until(lambda: screen.form() == form, "both choices")

    drive(script)


@BOTH
@pytest.mark.parametrize("size", [(80, 24), (100, 30), (120, 40), (200, 50)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_every_row_is_one_line_with_a_word_and_a_sign(lang: Language, size: tuple[int, int]) -> None:
    """Whatever the width: all strategies are in sight, none is cut, and a word says beside the sign whether it fits."""
    say = Say(lang)

    async def script(driven: Drive) -> None:
        screen = await opened(driven)
        for form in (Form(), Form(model="405B", gpus="64", memory="192G"), Form(model="2T", gpus="8", memory="24G")):
            await typed(driven, model=form.model, gpus=form.gpus, memory=form.memory)
            assert screen.advice is not None
            found = rows(driven)
            assert len(found) == len(report.shown(screen.advice)), driven.shown
            for line, row in zip(found, report.shown(screen.advice), strict=True):
                fit = report.fit(row, screen.advice.run)
                assert line.endswith(f"{'✗' if fit == 'no' else '✓'} {say(f'advise.fit.{fit}')}"), line
            assert all(width(line) <= size[0] for line in driven.shown.splitlines())

    drive(script, lang=lang, size=size)


@BOTH
def test_it_is_in_the_palette_and_explains_itself(lang: Language) -> None:
    """The command palette opens it, and the help explains the field that has the focus."""
    say = Say(lang)

    async def script(driven: Drive) -> None:
        await driven.press("ctrl+p")
        await driven.until(lambda: driven.app.screen.query("CommandList.--visible").__bool__(), "commands")
        await driven.write(say("tui.command.advise"))
        await driven.until(lambda: say("tui.command.advise.help") in driven.shown, "the command")
        await driven.press("enter")
        await driven.at("advise")
        await driven.press("f1")
        await driven.at("help")
        assert say("tui.help.advise-model")[:20] in driven.shown
        await driven.press("escape", "down", "question_mark")
        await driven.at("help")
        assert say("tui.help.advise-rows")[:20] in driven.shown

    drive(script, lang=lang)


def test_the_smallest_terminal_does_not_break_it() -> None:
    """Where there is no room for everything, it scrolls or is cut, and nothing fails."""

    async def script(driven: Drive) -> None:
        await opened(driven)
        await typed(driven, gpus="64")
        await driven.press("f8")
        await driven.at("launch")

    drive(script, size=(40, 12))
