"""The course of events behind one key, and the part of a low terminal that has the room."""

from __future__ import annotations

import pytest
from textual.widgets import OptionList
from tui_driver import BOTH, FIRST, Drive, drive, events_of

from distkb.evidence.observation import Evidence, Quote, RankState
from distkb.locale import Language, Say
from distkb.tui.screens.course import course
from distkb.tui.widgets.causes import CauseList
from distkb.tui.widgets.move import Answers


@BOTH
@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40)], ids=str)
def test_one_key_shows_what_happened_in_order(lang: Language, size: tuple[int, int]) -> None:
    """`t` leads there and back, and whatever is listed is in the person's language."""

    async def script(driven: Drive) -> None:
        await driven.at("session")
        await driven.press("t")
        await driven.at("course")
        assert Say(lang)("report.events") in driven.shown
        await driven.press("ctrl+l")
        await driven.says(Say("en" if lang == "ko" else "ko")("report.events"))
        await driven.press("escape")
        await driven.at("session")

    drive(script, lang=lang, size=size, resume=FIRST)


@pytest.mark.usefixtures("recorded")
@BOTH
def test_an_event_opens_where_it_stands(lang: Language) -> None:
    """Enter on a line of the course shows its file around it."""

    async def script(driven: Drive) -> None:
        await driven.at("session")
        await driven.press("t")
        await driven.at("course")
        listing = driven.app.screen.query_one(OptionList)
        if any(not option.disabled for option in listing.options):
            await driven.press("enter")
            await driven.at("context")
            await driven.press("escape")
        await driven.press("t")
        await driven.at("session")

    drive(script, lang=lang, resume=FIRST)


def test_last_words_stand_where_their_times_or_lines_put_them() -> None:
    """Failures keep their order; a rank's last line is put before what is known to come later, and told once."""
    failed = Quote(text="late", path="a.log", line=9, time=20.0)
    early = Quote(text="early", path="b.log", line=1, time=10.0)
    above = Quote(text="above", path="a.log", line=3)
    other = Quote(text="elsewhere", path="c.log", line=1)
    ranks = tuple(
        RankState(rank=rank, state="silent", last=last) for rank, last in enumerate((failed, early, above, other, None))
    )
    assert course(Evidence(notes=(failed,), ranks=ranks)) == [early, above, failed, other]


@BOTH
@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("size", [(60, 20), (80, 24)], ids=str)
def test_on_a_low_terminal_the_focused_part_takes_the_room(lang: Language, size: tuple[int, int]) -> None:
    """`c` gives it to the causes, Escape to the question; what is folded away is not answered by accident."""

    async def script(driven: Drive) -> None:
        await driven.at("session")
        answers, causes = driven.app.screen.query_one(Answers), driven.app.screen.query_one(CauseList)
        await driven.press("e")
        before, events = causes.size.height, len(events_of(driven))
        await driven.press("c")
        assert causes.size.height > before
        assert not answers.size.height
        await driven.press("1")
        assert answers.has_focus
        assert answers.size.height
        assert len(events_of(driven)) == events

    drive(script, lang=lang, size=size, resume=FIRST)
