"""Command line, screen and document give one answer for one set of artifacts, for everything that was ever recorded."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import built_in
import msgspec
import pytest
from cli_calls import invoke

from distkb import intake_process
from distkb.diagnosis.guide import Guide
from distkb.diagnosis.moves import Ask, Move, Take, TryFix
from distkb.diagnosis.session import EvidenceAdded, Session
from distkb.diagnosis.view import SessionView, view
from distkb.evidence.observation import Evidence
from distkb.locale import Say
from distkb.report.meaning import Meanings
from distkb.report.story import tell

TESTS = Path(__file__).resolve().parents[1]
FOLDERS = {
    **{f"slurm/{p.parent.name}": p for p in sorted((TESTS / "slurm" / "jobs").glob("*/artifacts"))},
    **{f"replay/{p.parent.name}": p for p in sorted((TESTS / "replay" / "recorded").glob("*/logs"))},
    **{f"joint/{p.name}": p for p in sorted((TESTS / "diagnosis" / "data" / "joint" / "recorded").glob("*"))},
}


@functools.cache
def guide() -> Guide:
    """The built-in catalogue's."""
    return built_in.guide()


def on_the_screen(folder: Path) -> tuple[SessionView, Evidence]:
    """What the screen shows of a folder: read as its reading process reads, and carried over as it carries it."""
    read = intake_process._read(intake_process.ReadRequest(paths=(str(folder),)), (), lambda *_: None)
    evidence = msgspec.msgpack.decode(msgspec.msgpack.encode(read), type=Evidence)
    event = EvidenceAdded(label=folder.name, evidence=evidence, paths=(str(folder),))
    return view(Session(id="a", events=(event,)), guide()), evidence


def step(move: Move) -> tuple[str, str]:
    """Kind and id of what the screen proposes; a question as the command line writes it."""
    match move:
        case Ask(question=question):
            return "ask", f"ask.{question.id.replace('_', '-')}"
        case Take(step=taken):
            return taken.kind, taken.id
        case TryFix(fix=fix):
            return "fix", fix.id
    return "none", ""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow) if number % 3 else name for number, name in enumerate(FOLDERS)],
)
def test_every_face_gives_the_same_answer(name: str) -> None:
    """Causes with their probabilities, the verdict, the headline, the roll call and the next step do not differ."""
    folder = FOLDERS[name]
    document: dict[str, Any] = json.loads(invoke("diagnose", str(folder), "--json").stdout)
    shown, evidence = on_the_screen(folder)
    told = [(c["cause"], c["probability"]) for c in document["causes"]]
    seen = {one.id: one.probability for one in shown.causes}
    assert [p for _, p in told] == pytest.approx([seen[cause] for cause, _ in told], abs=1e-3)
    assert document["verdict"] == shown.diagnosis.verdict
    headline = tell(evidence, Meanings(guide().catalogue), Say("en"))
    assert document["headline"]["en"] == headline
    assert [one["rank"] for one in document["ranks"]] == [one.rank for one in evidence.ranks]
    if document["next"] is not None:
        kind, identity = step(shown.next)
        # A question about lines of the output is answered by giving the output.
        assert (document["next"]["kind"], document["next"]["id"]) == (kind, identity) or (
            kind == "ask" and document["next"]["kind"] == "collect"
        )
