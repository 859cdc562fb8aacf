"""What a person does from the first word to the fix that worked, in both languages, on a sample catalogue."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from textual.events import Paste
from textual.widgets import Input, OptionList
from tui_driver import FIRST, RUN, SECOND, Drive, drive, record_sessions

from distkb.diagnosis.moves import Ask, Done, NothingFits, Take, TryFix
from distkb.diagnosis.session import Answered, DontKnow, FixTried, StepDeclined, standing
from distkb.locale import Language, Say
from distkb.sessions import store
from distkb.tui.app import DistkbApp
from distkb.tui.screens.start import BREAK
from distkb.tui.widgets.move import MovePanel
from distkb.tui.widgets.trail import Trail

BOTH = pytest.mark.parametrize("lang", ["en", "ko"])


def move_of(driven: Drive) -> object:
    """The move that the session shows."""
    return driven.app.screen.query_one(MovePanel).move


def events_of(driven: Drive) -> list[object]:
    """The events of the open session that still count."""
    assert driven.app.desk is not None
    events = driven.app.desk.session.events
    return [events[number] for number in standing(events)]


async def until_move(driven: Drive, kind: type) -> None:
    """Go from move to move until one of this kind is shown."""
    for _ in range(8):
        if isinstance(move_of(driven), kind):
            return
        await driven.press("s")
    raise AssertionError(driven.shown)


@BOTH
@pytest.mark.usefixtures("recorded")
def test_from_an_answer_to_the_fix_that_helped(lang: Language) -> None:
    """Answer by number, read the fix, say that it helped: the session ends there, and the file has it all."""

    async def script(driven: Drive) -> None:
        await driven.press("down", "down", "down", "down", "down", "down", "down", "enter")
        await driven.at("session")
        await until_move(driven, Ask)
        await driven.press("1", "enter")
        assert isinstance(events_of(driven)[-1], Answered)
        await until_move(driven, TryFix)
        await driven.press("1")
        await driven.at("fix")
        assert Say(lang)("tui.fix.did-it-help") in driven.shown
        await driven.press("y")
        await driven.at("session")
        assert isinstance(move_of(driven), Done)

    app = drive(script, lang=lang, resume=None)
    assert app.desk is None
    saved = store.load(SECOND)
    assert isinstance(saved.events[-1], FixTried)
    assert saved.events[-1].outcome == "helped"


@BOTH
@pytest.mark.usefixtures("recorded")
def test_when_nothing_helps_it_says_so_and_offers_a_report(lang: Language, tmp_path: Path) -> None:
    """Declining, not knowing and failing fixes lead to the end of the catalogue, and to a report that is written."""

    async def script(driven: Drive) -> None:
        await driven.at("session")
        for _ in range(20):
            move = move_of(driven)
            if isinstance(move, NothingFits):
                break
            if isinstance(move, Ask):
                await driven.press("d")
            elif isinstance(move, Take):
                await driven.press("3" if move.step.kind == "collect" else "2")
            else:
                await driven.press("1")
                await driven.at("fix")
                await driven.press("n")
            await driven.at("session")
        assert isinstance(move_of(driven), NothingFits), driven.shown
        assert {DontKnow, FixTried} <= {type(event) for event in events_of(driven)}
        await driven.press("1")
        await driven.at("export")
        await driven.press("enter")
        driven.app.screen.query_one(Input).value = str(tmp_path / "report.md")
        await driven.press("enter")
        await driven.says(Say(lang)("tui.export.written", path="").split("{")[0].strip()[:8])

    drive(script, lang=lang, resume=FIRST)
    assert Say(lang)("session.upstream.title") in (tmp_path / "report.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("recorded")
def test_a_fix_that_could_not_be_tried_leads_to_the_next() -> None:
    """`t` is an event; after it something else is proposed."""

    async def script(driven: Drive) -> None:
        await driven.at("session")
        before = move_of(driven)
        assert isinstance(before, TryFix)
        await driven.press("1")
        await driven.at("fix")
        await driven.press("t")
        await driven.at("session")
        after = move_of(driven)
        assert not (isinstance(after, TryFix) and after.fix.id == before.fix.id)

    drive(script, resume=FIRST)


@pytest.mark.usefixtures("recorded")
def test_several_answers_are_ticked_and_confirmed() -> None:
    """Numbers and Space tick, ticking again takes back, Enter confirms; `0` says none, `d` not known."""

    async def script(driven: Drive) -> None:
        await driven.at("session")
        await until_lines(driven)
        await driven.press("1", "2", "1")
        assert "[ ]" in driven.shown
        assert "[x]" in driven.shown
        await driven.press("down", "down", "space", "enter")
        answer = events_of(driven)[-1]
        assert isinstance(answer, Answered)
        assert len(answer.values) == 2
        await driven.press("u")
        await until_lines(driven)
        await driven.press("0")
        answer = events_of(driven)[-1]
        assert isinstance(answer, Answered)
        assert answer.values == ()
        assert answer.offered

    async def until_lines(driven: Drive) -> None:
        for _ in range(8):
            move = move_of(driven)
            if isinstance(move, Ask) and move.question.kind == "lines":
                return
            await driven.press("s")
        raise AssertionError(driven.shown)

    drive(script, resume=SECOND)


@pytest.mark.usefixtures("recorded")
def test_the_mouse_ticks_and_confirms() -> None:
    """Where several answers may hold a click ticks one, and a row below them confirms."""

    async def script(driven: Drive) -> None:
        await driven.at("session")
        while not (isinstance(move_of(driven), Ask) and "[ ]" in driven.shown):
            await driven.press("s")
        await driven.pilot.click("#move-options", offset=(3, 0))
        await driven.says("[x]")
        rows = driven.app.screen.query_one("#move-options", OptionList).option_count
        heights = [line for line in driven.shown.splitlines() if "↵" in line]
        assert heights
        y = next(n for n, line in enumerate(driven.shown.splitlines()) if "↵" in line)
        await driven.pilot.click(offset=(5, y))
        await driven.settle()
        assert rows
        assert isinstance(events_of(driven)[-1], Answered)

    drive(script, resume=SECOND)


@BOTH
@pytest.mark.usefixtures("recorded")
def test_undo_redo_change_and_withdraw(lang: Language) -> None:
    """What was answered can be taken back, brought back, answered anew and withdrawn; the causes follow."""

    async def script(driven: Drive) -> None:
        await driven.at("session")
        assert driven.app.desk is not None
        before = driven.app.desk.view
        await driven.press("u")
        assert len(events_of(driven)) == 1
        await driven.press("r")
        assert len(events_of(driven)) == 2
        assert driven.app.desk.view is not None
        assert before is not None
        assert driven.app.desk.view.entries == before.entries
        await driven.press("e", "enter")
        await driven.at("change")
        await driven.press("1", "enter")
        await driven.at("session")
        answer = events_of(driven)[-1]
        assert isinstance(answer, Answered)
        assert answer.values == ("code",)
        await driven.press("e", "home", "enter")
        await driven.at("change")
        await driven.press("t")
        await driven.at("session")
        answer = events_of(driven)[-1]
        assert isinstance(answer, Answered)
        assert answer.values == ("nodes",), "what it had replaced counts again"
        await driven.press("u", "u", "u", "u", "u", "u", "u", "u")
        assert not driven.app.desk.view.can_undo

    drive(script, lang=lang, resume=FIRST)


@pytest.mark.usefixtures("recorded")
def test_a_step_that_is_not_possible_here_is_not_asked_for_again() -> None:
    """`Not possible here` is an event of the session."""

    async def script(driven: Drive) -> None:
        await driven.at("session")
        await driven.press("u")
        await until_move(driven, Take)
        move = move_of(driven)
        assert isinstance(move, Take)
        await driven.press("1")  # copies the commands
        assert driven.app.clipboard == "\n".join(move.step.commands)
        await driven.press("3")
        declined = events_of(driven)[-1]
        assert isinstance(declined, StepDeclined)
        assert declined.step == move.step.id

    drive(script, resume=SECOND)


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
        await driven.press("f4", "f6")
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


@BOTH
@pytest.mark.usefixtures("recorded")
def test_export_writes_only_what_and_where_it_was_told(lang: Language, tmp_path: Path) -> None:
    """JSON goes to the typed path; an existing file is never replaced; Escape writes nothing."""
    target, taken = tmp_path / "out.json", tmp_path / "taken.json"
    taken.write_text("mine", encoding="utf-8")

    async def script(driven: Drive) -> None:
        await driven.at("session")
        await driven.press("x")
        await driven.at("export")
        await driven.press("down", "enter")
        driven.app.screen.query_one(Input).value = str(taken)
        await driven.press("enter")
        await driven.until(lambda: len(driven.app.screen.query("Toast")) > 0, "refusal")
        assert taken.read_text(encoding="utf-8") == "mine"
        driven.app.screen.query_one(Input).value = str(target)
        await driven.press("enter")
        await driven.until(target.exists, "file")
        await driven.press("escape")
        await driven.at("session")

    drive(script, lang=lang, resume=FIRST)
    assert json.loads(target.read_text(encoding="utf-8"))["id"] == FIRST


@pytest.mark.usefixtures("recorded")
def test_resuming_lists_the_latest_first_and_goes_on() -> None:
    """The list, `latest`, and an id that does not exist."""

    async def script(driven: Drive) -> None:
        await driven.press("f5")
        await driven.at("resume")
        await driven.press("down", "enter")
        await driven.at("session")
        assert driven.app.desk is not None
        assert driven.app.desk.session.id == SECOND
        await driven.press("escape")
        await driven.at("start")
        assert driven.app.desk is None
        driven.app.resume_session("20200101-000000-000000")
        await driven.until(lambda: len(driven.app.screen.query("Toast")) > 0, "complaint")
        driven.app.resume_session("latest")
        await driven.at("session")
        assert driven.app.desk.session.id == FIRST

    drive(script)


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
        await driven.until(lambda: driven.app.screen.query_one("CommandList", OptionList).option_count == 1, "one")
        await driven.press("enter")
        await driven.at("glossary")

    drive(script, lang=lang)


@pytest.mark.usefixtures("recorded")
def test_arrows_lead_from_the_input_into_the_results() -> None:
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

    drive(script)


@pytest.mark.usefixtures("sample")
def test_a_paste_keeps_all_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Line breaks of a pasted text are shown and given on: each line of a log is a line."""
    begun: list[str] = []
    monkeypatch.setattr(DistkbApp, "begin", lambda _, description="", paths=(): begun.append(f"{description}{paths}"))

    async def script(driven: Drive) -> None:
        driven.app.screen.focused.post_message(Paste("first \x1b[31mred\x1b[0m\r\n\r\nsecond\n"))  # type: ignore[union-attr]
        await driven.until(lambda: BREAK in driven.app.screen.query_one(Input).value, "paste")
        await driven.press("enter")

    drive(script)
    assert begun == ["first red\nsecond()"]


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
def test_resizing_while_open_keeps_everything_in_sight(size: tuple[int, int]) -> None:
    """From 80x24 to 200x50 and back the session, its fix and its help fit the terminal."""

    async def script(driven: Drive) -> None:
        await driven.at("session")
        for columns, rows in ((200, 50), (80, 24), (110, 30), (81, 25)):
            await driven.pilot.resize_terminal(columns, rows)
            await driven.settle()
            lines = driven.shown.splitlines()
            assert len(lines) == rows
            assert "D2" in driven.shown
            assert lines[-1].rstrip().endswith("Help")
        await driven.press("f")
        await driven.at("fix")
        await driven.pilot.resize_terminal(200, 50)
        await driven.says("+ ")

    drive(script, size=size, resume=FIRST)


@pytest.mark.usefixtures("sample")
def test_a_recorded_session_drives_the_screen(tmp_path: Path) -> None:
    """Every prefix of a recorded session can be resumed, and shows what was known then."""
    record_sessions()
    whole = store.load(FIRST)
    for count in range(len(whole.events) + 1):
        store.save(type(whole)(id=FIRST, started=whole.started, title=whole.title, events=whole.events[:count]))

        async def script(driven: Drive, count: int = count) -> None:
            await driven.at("session")
            assert len(events_of(driven)) == count
            assert ("never arrived" in driven.shown) is (count > 0)

        drive(script, resume=FIRST)
    assert (RUN / "rank0.log").exists()
    assert tmp_path.exists()
