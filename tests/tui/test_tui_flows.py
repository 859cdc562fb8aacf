"""What a person does from the first word to the fix that worked, in both languages, on a sample catalogue."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.events import Paste
from textual.widgets import Input, OptionList
from tui_driver import BOTH, FIRST, SECOND, Drive, drive, events_of, move_of, until_move

from distkb.diagnosis.moves import Ask, Done, NothingFits, Take, TryFix
from distkb.diagnosis.session import Answered, DontKnow, FixTried, StepDeclined
from distkb.locale import Language, Say
from distkb.sessions import store
from distkb.tui.app import DistkbApp
from distkb.tui.widgets.prompt import BREAK


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
    assert app.current is None
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
@BOTH
def test_a_fix_that_could_not_be_tried_leads_to_the_next(lang: Language) -> None:
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

    drive(script, lang=lang, resume=FIRST)


@pytest.mark.usefixtures("recorded")
@BOTH
def test_several_answers_are_ticked_and_confirmed(lang: Language) -> None:
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

    drive(script, lang=lang, resume=SECOND)


@BOTH
@pytest.mark.usefixtures("recorded")
def test_an_answer_that_excludes_the_others_is_taken_at_once(lang: Language) -> None:
    """Of a question with several answers, `nothing` needs no confirmation and no tick beside it."""

    async def script(driven: Drive) -> None:
        await driven.at("session")
        await driven.press("e", "enter")
        await driven.at("change")
        assert driven.shown.count("[ ]") == 3
        await driven.press("1", "4")
        await driven.at("session")
        answer = events_of(driven)[-1]
        assert isinstance(answer, Answered)
        assert answer.values == ("nothing",)

    drive(script, lang=lang, resume=FIRST)


@pytest.mark.usefixtures("recorded")
@BOTH
def test_the_mouse_ticks_and_confirms(lang: Language) -> None:
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

    drive(script, lang=lang, resume=SECOND)


@BOTH
@pytest.mark.usefixtures("recorded")
def test_undo_redo_change_and_withdraw(lang: Language) -> None:
    """What was answered can be taken back, brought back, answered anew and withdrawn; the causes follow."""

    async def script(driven: Drive) -> None:
        await driven.at("session")
        assert driven.app.current is not None
        before = driven.app.current.view
        await driven.press("u")
        assert len(events_of(driven)) == 1
        await driven.press("r")
        assert len(events_of(driven)) == 2
        assert driven.app.current.view is not None
        assert before is not None
        assert driven.app.current.view.entries == before.entries
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
        assert not driven.app.current.view.can_undo

    drive(script, lang=lang, resume=FIRST)


@pytest.mark.usefixtures("recorded")
@BOTH
def test_a_step_that_is_not_possible_here_is_not_asked_for_again(lang: Language) -> None:
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

    drive(script, lang=lang, resume=SECOND)


@pytest.mark.usefixtures("sample")
@BOTH
def test_a_paste_keeps_all_its_lines(lang: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    """Line breaks of a pasted text are shown and given on: each line of a log is a line."""
    begun: list[str] = []
    monkeypatch.setattr(DistkbApp, "begin", lambda _, description="", paths=(): begun.append(f"{description}{paths}"))

    async def script(driven: Drive) -> None:
        driven.app.screen.focused.post_message(Paste("first \x1b[31mred\x1b[0m\r\n\r\nsecond\n"))  # type: ignore[union-attr]
        await driven.until(lambda: BREAK in driven.app.screen.query_one(Input).value, "paste")
        await driven.press("enter")

    drive(script, lang=lang)
    assert begun == ["first red\nsecond()"]
