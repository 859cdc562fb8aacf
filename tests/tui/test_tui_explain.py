"""Why a cause ranks where it does, and evidence in the order in which it tells."""

from __future__ import annotations

import msgspec
import pytest
from textual.widgets import OptionList
from tui_driver import BOTH, FIRST, Drive, drive

from distkb import knowledge
from distkb.evidence.observation import Evidence, Observation, Quote
from distkb.locale import Language, Say
from distkb.report.citations import Citations
from distkb.report.meaning import Meanings
from distkb.tui.widgets.trail import quoted


@BOTH
@pytest.mark.usefixtures("recorded")
def test_enter_on_a_cause_says_why_and_a_second_key_reads_the_entry(lang: Language) -> None:
    """For, against, quotes that open where they stand, and `o` for the entry, also from the list of causes."""

    async def script(driven: Drive) -> None:
        say = Say(lang)
        await driven.at("session")
        await driven.press("c", "enter")
        await driven.at("explain")
        assert say("tui.explain.for")[:16] in driven.shown
        assert say("tui.explain.against") in driven.shown
        listing = driven.app.screen.query_one(OptionList)
        place = next(n for n, option in enumerate(listing.options) if "rank0.log" in str(option.prompt))
        listing.highlighted = place
        await driven.press("enter")
        await driven.at("context")
        assert "▶" in driven.shown
        await driven.press("escape", "o")
        await driven.at("entry")
        await driven.press("escape", "escape")
        await driven.at("session")
        await driven.press("o")
        await driven.at("entry")

    drive(script, lang=lang, resume=FIRST)


def test_the_failure_comes_first_and_echoes_are_folded() -> None:
    """What failed stands first; echoes and what was not seen are apart, unless they are all there is."""
    meanings = Meanings(knowledge.open_knowledge([]).catalogue())
    seen = [
        Observation(id="gloo.timeout", source="log"),
        Observation(id="cuda.oom", source="log", present=False),
        Observation(id="logs.one-rank-failed-first", source="log"),
        Observation(id="gloo.pair-connect-timeout", source="log"),
    ]
    telling, rest = meanings.parted(tuple(seen))
    assert {o.id for o in telling} == {"gloo.pair-connect-timeout", "logs.one-rank-failed-first"}
    assert [o.id for o in rest] == ["gloo.timeout", "cuda.oom"]
    telling, rest = meanings.parted(tuple(seen[:2]))
    assert [o.id for o in telling] == ["gloo.timeout"]
    assert [o.id for o in rest] == ["cuda.oom"]


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_files_of_one_name_are_told_apart(lang: Language) -> None:
    """A quote names its folder where another file is called the same, and begins with what was said."""
    text = "E1121 03:55:52.517000 30745 torch/elastic/api.py:1002] failed (exitcode: -9)"
    quotes = [Quote(text=text, path=f"/long/way/to/the/logs/{n}/stderr.log", line=7) for n in range(2)]
    evidence = Evidence(observations=(Observation(id="x", source="log", quotes=tuple(quotes)),))
    shown = [quoted(quote, Citations(evidence), Say(lang)) for quote in quotes]
    assert [line.split(" ")[0] for line in shown] == ["0/stderr.log:7", "1/stderr.log:7"]
    ranked = quoted(msgspec.structs.replace(quotes[0], rank=3), Citations(evidence), Say(lang))
    assert "3" in ranked.split("|")[0]
