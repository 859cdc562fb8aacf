"""Sessions that outlive the screen: exported, listed, resumed and replayed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from textual.widgets import Input
from tui_driver import BOTH, FIRST, RUN, SECOND, Drive, drive, events_of, record_sessions

from distkb.locale import Language
from distkb.sessions import store


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
@BOTH
def test_resuming_lists_the_latest_first_and_goes_on(lang: Language) -> None:
    """The list, `latest`, and an id that does not exist."""

    async def script(driven: Drive) -> None:
        await driven.press("f5")
        await driven.at("resume")
        await driven.press("down", "enter")
        await driven.at("session")
        assert driven.app.current is not None
        assert driven.app.current.session.id == SECOND
        await driven.press("q")
        await driven.at("start")
        assert driven.app.current is None
        driven.app.resume_session("20200101-000000-000000")
        await driven.until(lambda: len(driven.app.screen.query("Toast")) > 0, "complaint")
        driven.app.resume_session("latest")
        await driven.at("session")
        assert driven.app.current.session.id == FIRST

    drive(script, lang=lang)


@pytest.mark.usefixtures("sample")
@BOTH
def test_a_recorded_session_drives_the_screen(lang: Language, tmp_path: Path) -> None:
    """Every prefix of a recorded session can be resumed, and shows what was known then."""
    record_sessions()
    whole = store.load(FIRST)
    for count in range(len(whole.events) + 1):
        store.save(type(whole)(id=FIRST, started=whole.started, title=whole.title, events=whole.events[:count]))

        async def script(driven: Drive, count: int = count) -> None:
            await driven.at("session")
            assert len(events_of(driven)) == count
            assert ("never arrived" in driven.shown) is (count > 0)

        drive(script, lang=lang, resume=FIRST)
    assert (RUN / "rank0.log").exists()
    assert tmp_path.exists()
