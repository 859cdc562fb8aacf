"""Whether a reproduction did what its entry says: judged from its artifacts alone."""

from __future__ import annotations

from typing import Any

import msgspec

from distkb.catalogue.model import Catalogue, Entry
from distkb.diagnosis.conclude import entry_probabilities
from distkb.diagnosis.model import Diagnosis
from distkb.evidence.observation import Observation

BEST = {"first": 1, "top3": 3}
"""Least good rank with which an entry has found itself."""


class ReproVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What the catalogue says of a run's artifacts, beside what the entry promises."""

    entry: Entry
    diagnosis: Diagnosis
    shown: tuple[str, ...]
    """Those of the entry's `shows` that came out; of a fixed run what was found and should not be there."""
    rank: int | None
    """Place of the entry in the answer, 1 for the first; None where it has none."""
    ranked: tuple[tuple[str, float], ...]
    """The first five entries with their probabilities."""
    next: str | None
    """Id of the step that is proposed next; None where it is the fix."""
    complaints: tuple[str, ...]
    """What is not as the entry says: `failed`, `found-something`, `not-shown`, `not-first`, `not-top3`,
    `wrong-next`, `named-another`; keys of the sentences `repro.complaint.<complaint>`."""

    @property
    def as_stated(self) -> bool:
        """Whether everything is as the entry says."""
        return not self.complaints


def broken(entry: Entry, diagnosis: Diagnosis) -> ReproVerdict:
    """Judge the artifacts of a run that was meant to fail."""
    spec = entry.repro
    assert spec is not None  # noqa: S101 - without it nothing has run
    present = {o.id for o in diagnosis.evidence.observations if o.present}
    shown = tuple(name for name in spec.shows if name in present)
    ranked = tuple(entry_probabilities(diagnosis).items())
    rank = next((place for place, (name, _) in enumerate(ranked, 1) if name == entry.id), None)
    if diagnosis.verdict == "no-evidence":
        rank = None
    step = diagnosis.next.step.id if diagnosis.next and diagnosis.next.step else None
    complaints = [] if shown else ["not-shown"]
    if rank is None or rank > BEST[spec.first]:
        complaints.append(f"not-{spec.first}")
    elif rank > 1 and diagnosis.verdict == "named":
        complaints.append("named-another")
    if spec.next is not None and diagnosis.verdict != "named" and step != spec.next:
        complaints.append("wrong-next")
    return ReproVerdict(
        entry=entry,
        diagnosis=diagnosis,
        shown=shown,
        rank=rank,
        ranked=ranked[:5],
        next=step,
        complaints=tuple(complaints),
    )


def fixed(entry: Entry, diagnosis: Diagnosis, catalogue: Catalogue, *, succeeded: bool) -> ReproVerdict:
    """Judge the artifacts of a run with the fix: it ends well, and nothing wrong is found in what it left.

    What a run is set up with (context lines, notes, facts that follow from a configuration) is nothing wrong.
    """
    harmless = {s.id for s in catalogue.signatures if s.role == "context"}
    harmless |= {f.id for f in catalogue.findings if f.severity == "note" or not f.telling}
    found = tuple(dict.fromkeys(o.id for o in said(diagnosis) if o.id not in harmless))
    complaints = [] if succeeded else ["failed"]
    complaints += ["found-something"] if found else []
    return ReproVerdict(
        entry=entry,
        diagnosis=diagnosis,
        shown=found,
        rank=None,
        ranked=(),
        next=None,
        complaints=tuple(complaints),
    )


def said(diagnosis: Diagnosis) -> tuple[Observation, ...]:
    """Return what was seen, facts that follow from it and what supposes that the run hangs left out."""
    return tuple(o for o in diagnosis.evidence.observations if o.present and "=" not in o.id and not o.supposes)


def document(verdict: ReproVerdict) -> dict[str, Any]:
    """Return the verdict as plain data."""
    spec = verdict.entry.repro
    return {
        "as_stated": verdict.as_stated,
        "complaints": list(verdict.complaints),
        "promised": {
            "shows": [] if spec is None else list(spec.shows),
            "rank": None if spec is None else spec.first,
            "next": None if spec is None else spec.next,
        },
        "shown": list(verdict.shown),
        "rank": verdict.rank,
        "ranked": [{"entry": name, "probability": round(p, 6)} for name, p in verdict.ranked],
        "verdict": verdict.diagnosis.verdict,
        "next": verdict.next,
        "seen": sorted({o.id for o in said(verdict.diagnosis)}),
    }
