"""What a belief amounts to: ranked causes, the verdict and the fix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from distkb.diagnosis.belief import SYMPTOM, Belief, entry_totals, unabsorbed
from distkb.diagnosis.likelihood import OTHER, Kind, LikelihoodTable
from distkb.diagnosis.model import Diagnosis, RankedCause
from distkb.evidence.observation import Evidence, Observation, Source

NAMED = 0.70
"""Least probability of an entry whose cause is stated as the cause."""
LEADING = 0.75
"""Least probability of an entry that is put forward with the request to check it ("probably"): of those between one in
two and this, half were right."""
UNWORDED = 0.20
"""Least probability of such an entry without what the words of a run say: they alone put nothing forward."""
CLEAR = 0.50
"""Least probability of an entry that is stated as the cause when nothing else comes near it."""
LEAD = 6.0
"""Nothing comes near an entry that is this many times as probable as the next one."""
MAIN = 0.4
"""Least share of a stated entry that its most probable cause has: several that are alike only add up to it."""
FITS = 1.5
"""Least weight (natural log) of a signature or finding behind a named cause: answers alone name nothing."""
COMMON = 0.1
"""Least background of what most runs show, failing or not: by itself it puts no entry forward."""
OTHERWISE = 0.5
"""Weight (natural log) with which the way in which a run failed speaks against a cause, from which none is stated."""
SEVERAL = 2
"""Least number of described symptoms and surroundings that name a cause: many failures look like any one of them."""

EDITED = frozenset({"script", "config"})
"""Readers of files that the user writes and can change."""

Verdict = Literal["named", "leading", "undecided", "unknown", "no-evidence"]


def conclude(table: LikelihoodTable, belief: Belief, evidence: Evidence) -> Diagnosis:
    """The answer that a belief gives, without the next step."""
    causes = _ranked(table, belief)
    other = belief.posterior[OTHER]
    verdict = _verdict(table, causes, belief, evidence)
    lead = causes[0] if causes and verdict in ("named", "leading") else None
    fix = lead.cause.fixes[0] if lead and lead.cause.fixes else None
    remedy = _remedy(table, causes[0]) if causes else None
    return Diagnosis(causes=causes, other=other, verdict=verdict, next=None, fix=fix, evidence=evidence, remedy=remedy)


def _remedy(table: LikelihoodTable, first: RankedCause) -> Observation | None:
    """Return the finding that speaks most for a cause, of those in the user's files that say what to change."""
    edits = (c for c in first.evidence if c.weight >= FITS and c.observation.present and c.observation.reader in EDITED)
    return next((c.observation for c in edits if _remedies(table, c.observation)), None)


def _remedies(table: LikelihoodTable, observation: Observation) -> bool:
    kind = table.kinds.get(observation.id)
    return kind is not None and kind.remedies


def entry_probabilities(diagnosis: Diagnosis) -> dict[str, float]:
    """Entry id → the sum over its causes, most probable first."""
    totals = entry_totals({ranked.cause.id: ranked.probability for ranked in diagnosis.causes})
    return dict(sorted(totals.items(), key=lambda item: -item[1]))


def _ranked(table: LikelihoodTable, belief: Belief) -> tuple[RankedCause, ...]:
    totals = entry_totals(belief.posterior)
    ranked: list[RankedCause] = []
    for h in table.hypotheses:
        if h.entry is None or h.cause is None:
            continue
        p = belief.posterior[h.id]
        ranked.append(RankedCause(entry=h.entry, cause=h.cause, probability=p, evidence=belief.contributions[h.id]))
    ranked.sort(key=lambda r: (-totals[r.entry.id], r.entry.id, -r.probability, r.cause.id))
    return tuple(ranked)


def _verdict(table: LikelihoodTable, causes: tuple[RankedCause, ...], belief: Belief, evidence: Evidence) -> Verdict:
    if not evidence.affinity and not any(table.tells(o) for o in unabsorbed(table, evidence.observations)):
        return "no-evidence"
    if not causes:
        return "unknown"
    best, other = causes[0].entry.id, belief.posterior[OTHER]
    total = entry_totals(belief.posterior)[best]
    own = [
        (kind, c.observation.source)
        for c in causes[0].evidence
        if c.weight >= FITS and c.observation.present and (kind := table.kinds.get(c.observation.id)) is not None
    ]
    if other >= total:
        return "undecided" if any(kind.definite for kind, _ in own) else "unknown"
    described = sum(_is_described(kind, source) for kind, source in own)
    printed = any(kind.role in ("primary", "context") and not _is_described(kind, source) for kind, source in own)
    shown = printed or described >= SEVERAL
    clear = _is_clear(best, belief.posterior) and _is_clear(best, belief.unworded)
    otherwise = any(c.observation.id.startswith(f"{SYMPTOM}=") and c.weight <= -OTHERWISE for c in causes[0].evidence)
    if clear and shown and not otherwise and causes[0].probability >= MAIN * total:
        return "named"
    forward = evidence.affinity or any(_puts_forward(table, c.observation) for c in causes[0].evidence if c.weight > 0)
    forward = forward and entry_totals(belief.unworded)[best] >= UNWORDED
    return "leading" if forward and total >= LEADING else "undecided"


def _is_clear(entry: str, posterior: Mapping[str, float]) -> bool:
    """Whether an entry is so probable that it is stated as the cause: by itself, or since nothing comes near it."""
    totals = entry_totals(posterior)
    total = totals.pop(entry)
    return total >= NAMED or (total >= CLEAR and total >= LEAD * max(posterior[OTHER], *totals.values()))


def _puts_forward(table: LikelihoodTable, observation: Observation) -> bool:
    """Whether an observation tells of a failure, or few runs show it."""
    kind = table.kinds.get(observation.id)
    rare = kind is not None and observation.present and kind.background < COMMON
    return rare or table.tells(observation)


def _is_described(kind: Kind, source: Source) -> bool:
    """Whether a person says it in words of their own, and does not quote what a program printed of its failure."""
    return source == "report" and (kind.role == "context" or not kind.in_logs)
