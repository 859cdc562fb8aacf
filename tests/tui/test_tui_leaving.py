"""Leaving and coming back: what is exported, copied, remembered, found again and deleted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from textual.widgets import Input, OptionList
from tui_driver import BOTH, FIRST, SECOND, Drive, drive

from distkb.locale import Language, Say, asked
from distkb.report.measure import percent
from distkb.sessions import store
from distkb.tui import app as app_module
from distkb.tui import clipboard, habits
from distkb.tui.app import LIGHT, TERMINAL, DistkbApp
from distkb.tui.habits import Habits
from distkb.tui.screens import start
from distkb.tui.screens.export import written


@BOTH
@pytest.mark.usefixtures("recorded")
def test_an_export_holds_the_order_and_numbers_of_the_screen_and_the_fix(lang: Language) -> None:
    """Entries stand in the screen's order with its percentages, in Markdown and JSON, and the offered fix follows."""

    async def script(driven: Drive) -> None:
        await driven.at("session")
        current = driven.app.current
        assert current is not None
        assert current.view is not None
        text = written("markdown", current, Say(lang))
        places = [text.index(f"- **{row.id}** ") for row in current.view.entries]
        assert places == sorted(places)
        for row in current.view.entries:
            (line,) = [line for line in text.splitlines() if line.startswith(f"- **{row.id}** ")]
            assert f"({percent(row.probability)})" in line
        document = json.loads(written("json", current, Say(lang)))
        assert [row["entry"] for row in document["entries"]] == [row.id for row in current.view.entries]
        assert document["fix"] in text

    drive(script, lang=lang, resume=FIRST)


@BOTH
@pytest.mark.usefixtures("recorded")
def test_sessions_are_filtered_and_deleted(lang: Language) -> None:
    """The latest comes first, words narrow the list down, and only the second press deletes."""

    async def script(driven: Drive) -> None:
        await driven.press("f5")
        await driven.at("resume")
        listing = driven.app.screen.query_one(OptionList)
        assert [option.id for option in listing.options] == [FIRST, SECOND]
        await driven.press("slash")
        driven.app.screen.query_one(Input).value = "20260103 2026-01-03"[9:]
        await driven.until(lambda: listing.option_count == 1, "filter")
        assert listing.get_option_at_index(0).id == SECOND
        await driven.press("down", "ctrl+d")
        assert Say(lang)("tui.resume.sure")[:10] in driven.shown
        assert len(store.list_sessions()) == 2
        await driven.press("ctrl+d")
        assert [one.id for one in store.list_sessions()] == [FIRST]

    drive(script, lang=lang)


@pytest.mark.usefixtures("recorded")
def test_theme_language_and_width_are_remembered() -> None:
    """What was chosen holds at the next start, unless the language is asked for then."""

    async def script(driven: Drive) -> None:
        await driven.at("session")
        await driven.press("ctrl+t", "ctrl+l", "left_square_bracket")
        assert driven.app.theme == LIGHT
        await driven.press("ctrl+t")

    drive(script, resume=FIRST)
    assert habits.load() == Habits(theme=TERMINAL, lang="ko", causes_width=60)
    again = DistkbApp(Say("en"), remembered=habits.load())
    assert again.causes_width == 60
    assert asked(["--lang=ko"], {})
    assert asked([], {"DISTKB_LANG": "en"})
    assert not asked(["diagnose"], {"LANG": "ko_KR.UTF-8"})


@pytest.mark.parametrize("content", ["", "{", "[]", '{"theme": 3}'])
def test_what_was_remembered_badly_counts_as_nothing(content: str) -> None:
    """A damaged file is no reason not to start."""
    habits.save(Habits(theme="x"))
    path = habits._path()
    path.write_text(content, encoding="utf-8")
    assert habits.load() == Habits()


@BOTH
@pytest.mark.usefixtures("recorded")
def test_quitting_says_how_to_go_on(
    lang: Language, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """After the screen is left, one line on stderr names the session; nothing where none was open."""

    def pretend(app: DistkbApp) -> int:
        app.last_session = FIRST
        return 0

    monkeypatch.setattr(DistkbApp, "run", pretend)
    assert app_module.run(Say(lang)) == 0
    printed = capsys.readouterr()
    assert not printed.out
    assert f"distkb --resume {FIRST}" in printed.err
    monkeypatch.setattr(DistkbApp, "run", lambda _: 0)
    app_module.run(Say(lang))
    assert not capsys.readouterr().err


@BOTH
@pytest.mark.usefixtures("recorded")
def test_copying_says_what_was_done(lang: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the way, and the file that has the text whatever the terminal did."""
    monkeypatch.setattr(clipboard, "hand_over", lambda _: "tmux")

    async def script(driven: Drive) -> None:
        await driven.at("session")
        await driven.press("x", "ctrl+y")
        await driven.until(lambda: any("copied.txt" in n.message for n in driven.app._notifications), "message")
        (notice,) = driven.app._notifications
        assert notice.message.startswith(Say(lang)("tui.copied.tmux"))
        path = Path(notice.message.split("copied.txt")[0].rpartition(" ")[2] + "copied.txt")
        assert path.read_text(encoding="utf-8") == driven.app.clipboard
        assert path.stat().st_mode & 0o777 == 0o600

    drive(script, lang=lang, resume=FIRST)


@BOTH
def test_a_long_first_start_says_how_long_it_takes(lang: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the catalogue is compiled the seconds go on, and it says that this happens once."""
    monkeypatch.setattr(start, "LONG_S", 0.0)
    monkeypatch.setattr(DistkbApp, "_load", lambda _: None)

    async def script() -> None:
        app = DistkbApp(Say(lang))
        async with app.run_test(size=(80, 24)) as pilot:
            driven = Drive(app, pilot)
            await driven.until(lambda: Say(lang)("tui.start.compiling", n="0")[:12] in driven.shown, "seconds")

    import asyncio

    asyncio.run(script())
