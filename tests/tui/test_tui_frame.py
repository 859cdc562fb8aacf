"""What every screen shares: language, theme, size, help, palette, and how the catalogue is browsed."""

from __future__ import annotations

import pytest
from textual.widgets import Input, OptionList
from tui_driver import BOTH, FIRST, SECOND, Drive, drive, move_of

from distkb.diagnosis.moves import Ask
from distkb.locale import Language, Say
from distkb.tui.widgets.trail import Trail


@BOTH
@pytest.mark.usefixtures("recorded")
def test_browse_entry_related_and_back(lang: Language) -> None:
    """Words narrow the list, links lead from entry to entry, Escape comes back step by step, `b` at once."""

    async def script(driven: Drive) -> None:
        await driven.press("f4")
        await driven.at("browse")
        await driven.write("rank")
        await driven.press("down", "enter")
        await driven.at("entry")
        await driven.press("escape")
        await driven.at("browse")
        driven.app.show_entry("D2")
        await driven.at("entry")
        await driven.press("tab")
        for _ in range(3):
            if driven.app.screen.focused is not None and driven.app.screen.focused.id == "entry-related":
                break
            await driven.press("tab")
        await driven.press("enter")
        await driven.until(lambda: "D10" in driven.shown.splitlines()[0], "D10")
        await driven.press("b")
        await driven.at("browse")

    drive(script, lang=lang)


@BOTH
@pytest.mark.usefixtures("recorded")
def test_the_glossary_defines_and_leads_to_entries(lang: Language) -> None:
    """A word of either language is found; Enter reads the entry that explains it."""

    async def script(driven: Drive) -> None:
        await driven.press("f4", "f7")
        await driven.at("glossary")
        await driven.write("배리어")
        assert "barrier" in driven.shown
        await driven.press("enter")
        await driven.at("entry")
        await driven.press("escape")
        await driven.write("zzz")
        assert Say(lang)("tui.glossary.none") in driven.shown

    drive(script, lang=lang)


@pytest.mark.usefixtures("recorded")
def test_toggling_the_language_loses_nothing() -> None:
    """Typed words, ticks, the highlighted row, the focus and the screen stay; only the words change."""

    async def script(driven: Drive) -> None:
        await driven.write("freeze 멈춤")
        await driven.press("ctrl+l")
        assert driven.app.screen.query_one(Input).value == "freeze 멈춤"
        assert Say("ko")("tui.start.ask") in driven.shown
        await driven.press("escape", "ctrl+l")
        driven.app.resume_session(SECOND)
        await driven.at("session")
        while not (isinstance(move_of(driven), Ask) and "[ ]" in driven.shown):
            await driven.press("s")
        await driven.press("2", "down", "down", "w")
        highlighted = driven.app.screen.query_one("#move-options", OptionList).highlighted
        await driven.press("ctrl+l")
        assert driven.app.screen.query_one("#move-options", OptionList).highlighted == highlighted == 2
        assert "2 [x]" in driven.shown
        assert Say("ko")("tui.session.trail") in driven.shown
        await driven.press("e", "ctrl+l")
        assert driven.app.screen.focused is driven.app.screen.query_one(Trail)
        assert Say("en")("tui.session.trail") in driven.shown
        await driven.press("f")
        await driven.at("fix")
        await driven.press("f1")
        await driven.at("help")
        await driven.press("ctrl+l")
        assert Say("ko")("tui.help.keys") in driven.shown
        await driven.press("escape")
        await driven.at("fix")
        assert Say("ko")("tui.fix.did-it-help") in driven.shown

    drive(script)


@pytest.mark.slow
@pytest.mark.usefixtures("recorded")
def test_every_screen_has_help_of_its_own() -> None:
    """`F1` explains the screen and what has the focus, in full sentences, from every screen and dialog."""
    lang: Language = "ko"
    say = Say(lang)

    async def script(driven: Drive) -> None:
        async def helps(name: str) -> None:
            await driven.at(name)
            await driven.press("f1")
            await driven.at("help")
            words = say(f"tui.help.screen.{name}").replace("`", "").split()
            assert words[0] in driven.shown
            await driven.press("escape")
            await driven.at(name)

        await helps("start")
        for opens, name in (("f2", "open"), ("f3", "probes"), ("f4", "browse"), ("f5", "resume")):
            await driven.press(opens)
            await helps(name)
            await driven.press("escape")
            await driven.at("start")
        driven.app.show_glossary()
        await helps("glossary")
        await driven.press("escape")
        driven.app.resume_session(FIRST)
        await helps("session")
        await driven.press("x")
        await helps("export")
        await driven.press("escape", "f")
        await helps("fix")
        await driven.press("o")
        await helps("entry")
        await driven.press("escape", "escape", "e", "enter")
        await helps("change")
        await driven.press("escape", "end", "enter")
        await helps("context")

    drive(script, lang=lang)


@BOTH
@pytest.mark.usefixtures("recorded")
def test_the_palette_speaks_the_language_and_says_when_nothing_fits(lang: Language) -> None:
    """Its commands, its placeholder and its `no match` are in the language of the app."""
    say = Say(lang)

    async def script(driven: Drive) -> None:
        await driven.press("ctrl+p")
        await driven.says(say("tui.command.glossary"))
        assert say("tui.palette.placeholder") in driven.shown
        await driven.write("zzzz")
        await driven.says(say("tui.palette.none"))
        await driven.press("escape")
        await driven.at("start")
        await driven.press("ctrl+p")
        await driven.write(say("tui.command.glossary"))
        await driven.says(say("tui.command.glossary.help"))
        await driven.press("enter")
        await driven.at("glossary")

    drive(script, lang=lang)


@pytest.mark.usefixtures("recorded")
@BOTH
def test_arrows_lead_from_the_input_into_the_results(lang: Language) -> None:
    """↓ goes from the words to the entries that fit, Enter reads one, Escape comes back to the words."""

    async def script(driven: Drive) -> None:
        await driven.write("slow rank")
        await driven.press("down")
        assert driven.app.screen.focused is driven.app.screen.query_one("#start-results")
        await driven.press("enter")
        await driven.at("entry")
        await driven.press("escape", "escape")
        assert driven.app.screen.focused is driven.app.screen.query_one(Input)
        assert driven.app.screen.query_one(Input).value == ""

    drive(script, lang=lang)


@pytest.mark.usefixtures("recorded")
def test_the_theme_changes_and_no_color_is_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Light and dark; with NO_COLOR no cell has a colour, and what is chosen is still marked."""

    async def script(driven: Drive) -> None:
        assert driven.app.current_theme.dark
        await driven.press("ctrl+t")
        assert not driven.app.current_theme.dark

    drive(script)
    monkeypatch.setenv("NO_COLOR", "1")

    async def plain(driven: Drive) -> None:
        await driven.at("session")
        assert driven.app.no_color
        listing = driven.app.screen.query_one("#move-options", OptionList)
        style = listing.get_component_rich_style("option-list--option-highlighted")
        assert style.reverse

    drive(plain, resume=FIRST)


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("size", [(80, 24), (200, 50)], ids=["small", "large"])
@BOTH
def test_resizing_while_open_keeps_everything_in_sight(lang: Language, size: tuple[int, int]) -> None:
    """From 80x24 to 200x50 and back the session, its fix and its help fit the terminal."""

    async def script(driven: Drive) -> None:
        await driven.at("session")
        for columns, rows in ((200, 50), (80, 24), (110, 30), (81, 25)):
            await driven.pilot.resize_terminal(columns, rows)
            await driven.settle()
            lines = driven.shown.splitlines()
            assert len(lines) == rows
            assert "D2" in driven.shown
            assert lines[-1].rstrip().endswith(Say(lang)("tui.key.help"))
        await driven.press("f")
        await driven.at("fix")
        await driven.pilot.resize_terminal(200, 50)
        await driven.says("+ ")

    drive(script, lang=lang, size=size, resume=FIRST)
