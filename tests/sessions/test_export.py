"""A session written down: complete, in both languages, and without secrets or markup from logs."""

from __future__ import annotations

import json
from functools import cache

import built_in
import pytest

from distkb.diagnosis.guide import Guide
from distkb.diagnosis.session import (
    Answered,
    DontKnow,
    Event,
    EvidenceAdded,
    FixTried,
    ProbeResult,
    Session,
    StepDeclined,
)
from distkb.diagnosis.view import view
from distkb.evidence.observation import Evidence, Observation, Quote
from distkb.locale import LANGUAGES, Language, Say
from distkb.sessions import export

SECRET = "hf_" + "abcdefghijklmnopqrstuvwx"
HOSTILE = f"[bold red]x[/] `` <script> \x1b]8;;http://evil\x07link\x1b[2J\x9b31m \u202e token={SECRET} ![a](b)"
READ = EvidenceAdded(
    label="logs/0.log",
    paths=("logs/0.log",),
    evidence=Evidence(
        observations=(
            Observation(
                id="torch.nccl.watchdog-timeout",
                source="log",
                quotes=(Quote(text=HOSTILE, path="logs/0.log", line=12),),
                values={"nccl_version": "2.29.7"},
            ),
        ),
        log_coverage=0.5,
        bytes_read=100,
    ),
)
EVENTS: tuple[Event, ...] = (
    READ,
    Answered(question="symptom", values=("hang",)),
    Answered(question="lines", values=(), offered=("gloo.timeout",)),
    DontKnow(question="phase"),
    ProbeResult(step="collect.stacks", clear=("stacks.one-rank-elsewhere",)),
    StepDeclined(step="collect.flight-recorder"),
    FixTried(fix="D21.a.1", outcome="did-not-help"),
    FixTried(fix="D35.a.1", outcome="could-not-try"),
)
SESSION = Session(id="x", started="2026-01-02T03:04:05+00:00", title=f"it hangs {SECRET}", events=EVENTS)


@cache
def guide() -> Guide:
    """The knowledge base, prepared once."""
    return built_in.guide()


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("write", [export.markdown, export.upstream])
def test_nothing_of_a_log_gets_out_as_markup_or_secret(lang: Language, write: object) -> None:
    """Secrets are masked; escapes are gone; brackets of a log line stand in code."""
    assert callable(write)
    text = write(SESSION, view(SESSION, guide()), guide(), Say(lang))
    assert SECRET not in text
    assert not set("\x1b\x9b\x07\u202e") & set(text)
    line = next(line for line in text.splitlines() if "bold red" in line)
    assert line.strip().startswith("```")
    assert line.strip().endswith("```")


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_markdown_tells_the_whole_session(lang: Language) -> None:
    """Everything that counts is there: what was read with its place, every answer, probe and fix."""
    text = export.markdown(SESSION, view(SESSION, guide()), guide(), Say(lang))
    for word in ("logs/0.log:12", "`collect.stacks`", "`collect.flight-recorder`", "D21.a.1", "D35.a.1"):
        assert word in text
    symptom = guide().facts["symptom"]
    assert Say(lang).text(symptom.question) in text
    assert Say(lang).text(symptom.values[0].label) in text


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_upstream_report_says_what_was_seen_and_ruled_out(lang: Language) -> None:
    """It names versions, absences, what was tried and what was considered."""
    text = export.upstream(SESSION, view(SESSION, guide()), guide(), Say(lang))
    for word in ("nccl version 2.29.7", "D21.a.1", "collect_env", view(SESSION, guide()).causes[0].id):
        assert word in text
    assert Say(lang)("session.upstream.absent") in text


def test_the_json_is_masked_and_names_what_came_of_it() -> None:
    """Every event is there, and no secret."""
    text = export.json(SESSION, view(SESSION, guide()))
    document = json.loads(text)
    assert SECRET not in text
    assert document["schema"] == "distkb.session-export/1"
    assert [event["type"] for event in document["events"]][:2] == ["evidence-added", "answered"]
    assert document["causes"][0]["probability"] > 0
    assert document["next"]["kind"] in {"ask", "take", "try-fix", "done", "nothing-fits"}


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_solved_session_says_what_helped(lang: Language) -> None:
    """The fix that helped stands at the top, with its steps."""
    solved = SESSION.apply(FixTried(fix="D21.b.1", outcome="helped"))
    text = export.markdown(solved, view(solved, guide()), guide(), Say(lang))
    assert Say(lang).text(guide().fixes["D21.b.1"][2].title) in text.split("##")[0]


@pytest.mark.parametrize("lang", LANGUAGES)
def test_an_empty_session_can_be_written_down(lang: Language) -> None:
    """Nothing was said yet, and both documents still read well."""
    empty = Session(id="x")
    shown = view(empty, guide())
    assert export.markdown(empty, shown, guide(), Say(lang)).startswith("# ")
    assert export.upstream(empty, shown, guide(), Say(lang)).startswith("# ")
