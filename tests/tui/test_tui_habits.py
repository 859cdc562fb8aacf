"""Keys that hands know from other programs: q, /, :, Tab, Esc, clicks on hints, and what the palette finds."""

from __future__ import annotations

import pytest
from rich.cells import cell_len
from textual.widgets import Input
from tui_driver import BOTH, FIRST, RUN, Drive, drive

from distkb.locale import Language, Say
from distkb.tui.keys import PREFIX, KeyBar, shown_name
from distkb.tui.palette import entries, files, settings
from distkb.tui.screens.setting import SettingScreen
from distkb.tui.widgets.move import LETTERS


@BOTH
@pytest.mark.usefixtures("recorded")
def test_escape_never_leaves_the_session_and_q_does(lang: Language) -> None:
    """Escape goes to the question, then to the best step, then says that q leaves; q goes to the start."""

    async def script(driven: Drive) -> None:
        await driven.at("session")
        await driven.press("c", "escape")
        assert driven.app.screen.focused is not None
        assert driven.app.screen.focused.id == "move-options"
        await driven.press("s", "escape", "escape", "escape")
        assert driven.where == "session"
        assert Say(lang)("tui.session.leave-with-q")[:10] in driven.shown
        await driven.press("q")
        await driven.at("start")
        assert driven.app.current is None

    drive(script, lang=lang, resume=FIRST)


@BOTH
@pytest.mark.usefixtures("recorded")
def test_slash_searches_and_colon_commands(lang: Language) -> None:
    """`/` searches the catalogue or narrows the list that is there down; `:` opens the palette."""

    async def script(driven: Drive) -> None:
        await driven.at("session")
        await driven.press("slash")
        await driven.at("browse")
        await driven.press("down", "slash")
        assert isinstance(driven.app.screen.focused, Input)
        await driven.press("escape")
        await driven.at("session")
        await driven.press("colon")
        await driven.says(Say(lang)("tui.palette.placeholder")[:8])

    drive(script, lang=lang, resume=FIRST)


@BOTH
@pytest.mark.usefixtures("sample")
def test_an_empty_field_takes_colon_and_question_mark_as_keys(lang: Language) -> None:
    """`?` explains and `:` offers the commands where nothing is typed yet; behind words they are text."""

    async def script(driven: Drive) -> None:
        field = driven.app.screen.query_one(Input)
        await driven.press("question_mark")
        await driven.at("help")
        await driven.press("escape", "colon")
        await driven.says(Say(lang)("tui.palette.placeholder")[:8])
        await driven.press("escape")
        await driven.at("start")
        assert not len(field.value)
        await driven.press("a", "colon", "question_mark")
        assert field.value == "a:?"

    drive(script, lang=lang)


@pytest.mark.usefixtures("recorded")
@BOTH
def test_tab_goes_round_the_panes_and_the_hints_are_theirs(lang: Language) -> None:
    """Tab visits question, evidence and causes; the hints of the focused one come first."""

    async def script(driven: Drive) -> None:
        await driven.at("session")
        visited = []
        for _ in range(3):
            visited.append(getattr(driven.app.screen.focused, "id", None))
            await driven.press("tab")
        assert visited == ["move-options", "session-trail", "session-causes"]
        await driven.press("c")
        bar = driven.shown.splitlines()[-driven.app.screen.query_one(KeyBar).size.height :]
        assert Say(lang)("tui.key.why-here") in bar[0][:20]

    drive(script, lang=lang, resume=FIRST)


@BOTH
@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40)], ids=str)
def test_every_key_is_shown_whatever_the_size(lang: Language, size: tuple[int, int]) -> None:
    """At 60 by 20 the bar holds every key that it holds on a large terminal, whole."""

    async def script(driven: Drive) -> None:
        await driven.at("session")
        say, screen = Say(lang), driven.app.screen
        rows = driven.shown.splitlines()[-screen.query_one(KeyBar).size.height :]
        hints: dict[str, list[str]] = {}
        for active in screen.active_bindings.values():
            binding = active.binding
            if binding.show and active.enabled and binding.description.startswith(PREFIX):
                hint = f"{shown_name(binding)} {say(binding.description)}"
                hints.setdefault(binding.description, []).append(hint)
        for names in hints.values():
            assert any(name in row for name in names for row in rows), names

    drive(script, lang=lang, size=size, resume=FIRST)


@pytest.mark.usefixtures("recorded")
@BOTH
def test_a_click_on_a_hint_presses_its_key(lang: Language) -> None:
    """Where the bar says `o Entry` a click reads the entry."""

    async def script(driven: Drive) -> None:
        await driven.at("session")
        rows = driven.shown.splitlines()
        hint = f"o {Say(lang)('tui.key.read-entry')}"
        y = next(n for n, row in enumerate(rows) if hint in row)
        await driven.pilot.click(offset=(cell_len(rows[y].partition(hint)[0]) + 1, y))
        await driven.at("entry")

    drive(script, lang=lang, resume=FIRST)


@BOTH
def test_the_palette_finds_entries_settings_and_files(lang: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words find entries, names find settings and files; a setting's page is what `distkb show` prints."""
    monkeypatch.chdir(RUN)

    async def script(driven: Drive) -> None:
        app = driven.app
        assert any(name.startswith("D") for name, *_ in entries(app, "hangs at the barrier"))
        assert "NCCL_DEBUG" in [name for name, *_ in settings(app, "nccl_debug")]
        assert [name for name, *_ in files(app, "rank0")] == ["rank0.log"]
        assert [name for name, *_ in files(app, str(RUN))] == [f"{RUN}/"]
        await driven.press("ctrl+p")
        await driven.write("NCCL_DEBUG_FILE")
        await driven.says(Say(lang)("tui.palette.setting"))
        app.pop_screen()
        app.show_setting("NCCL_DEBUG_FILE")
        await driven.until(lambda: isinstance(app.screen, SettingScreen), "setting")
        assert "NCCL_DEBUG_FILE" in driven.shown
        await driven.press("q")
        await driven.at("start")

    drive(script, lang=lang)


@pytest.mark.usefixtures("recorded")
@BOTH
def test_the_same_function_key_everywhere(lang: Language) -> None:
    """F3 offers the probes, F4 the catalogue and F7 the glossary on whatever screen; F2 and F5 go through the start."""

    async def script(driven: Drive) -> None:
        await driven.at("session")
        for opens, name in (("f3", "probes"), ("f4", "browse"), ("f7", "glossary")):
            await driven.press(opens)
            await driven.at(name)
            await driven.press("escape")
            await driven.at("session")
        await driven.press("f5")
        await driven.at("resume")
        assert driven.app.current is None
        await driven.press("escape", "f2")
        await driven.at("open")

    drive(script, lang=lang, resume=FIRST)


def test_the_tenth_answer_has_a_key() -> None:
    """Answers beyond the ninth have letters that mean nothing else in a session."""
    from distkb.tui.screens.session import SessionScreen

    taken = {name for binding in SessionScreen.BINDINGS for name in str(getattr(binding, "key", "")).split(",")}
    assert len(LETTERS) >= 10
    assert set(LETTERS) <= taken
