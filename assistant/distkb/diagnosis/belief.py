"""The belief over causes: prior times likelihood, one fault at a time, with an `other` hypothesis.

Naive Bayes in log space (Heckerman, Breese, Rommelse, CACM 38(3), 1995) with four corrections for what naive
Bayes gets wrong on logs:

- lines that repeat one another (`group`) count once, and every further line that speaks for the same cause counts less
  than the one before;
- an echo (`collateral`) never outweighs the primary error it echoes;
- of several primary errors, the one that came first counts in full, later ones on other ranks at `LATER`;
- a message that a cause would have printed, and that complete logs do not hold, speaks against the cause.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping

import msgspec

from distkb.diagnosis.information import MISTAKE
from distkb.diagnosis.likelihood import OTHER, Hypothesis, LikelihoodTable
from distkb.diagnosis.model import Contribution
from distkb.evidence.observation import Evidence, Observation

LATER = 0.5
"""Weight of a primary error that came after another rank's primary error: it is more often a consequence."""

REPEAT = 0.7
"""Each further signature that speaks for a cause counts this share of the one before: they share one origin."""

ECHO_SHARE = 0.5
"""The echoes together move a cause by at most this share of the strongest primary error."""

FINDING_RECALL = 0.4
"""How often a finding of the logs that holds is really found: ranks and times cannot always be recovered."""

TEMPERATURE = 1.25
"""Divides the log likelihood of what was read: such observations are never as independent as the sum pretends."""

AFFINITY = 1.0
"""Weight of the report's wording, whose log likelihood ratio is learnt by no one and only measured."""

LIKENESS = 0.9
"""Weight of the likeness of what a run printed of itself to an entry's texts: it is weighed against no other cue."""

BESIDE = 0.3
"""Share of that weight beside an error that the catalogue knows, whose message is among the words, or beside anything
else that hardly a run shows by chance."""
RARE = 0.03
"""Background below which hardly a run shows something by chance."""

REPORT_BACKGROUND = 0.5
"""A person's report shows what another cause left by chance this much more rarely than logs do: people quote little.

On some 880 public threads with a known cause, what no accepted cause states turned up at a tenth of its background
rate, and what one states at a quarter of its likelihood.
"""

REPORT_SILENCE = 0.25
"""How far the absence of a message in a person's report means that it was not printed: people quote little."""


CLOSE = 0.7
"""Least weight of an error's words, or of a run's, that is told as a reason."""
RESEMBLES = "logs.error-resembles"
"""What shows that the words of an error, which no message of the catalogue fits, are those of an entry."""
WORDED_ALIKE = "run.worded-alike"
"""What shows that the words of what a run prints of itself, and of its scripts, are those of an entry."""

LACKING = 0.03
"""How likely code that was read fails in a way for which it has nothing: as a word was missed, or some code."""
LACKS = "script.lacks-what-it-takes"
"""What shows that the code has nothing that could fail in this way."""

SYMPTOM = "symptom"
"""The fact that says in which way a run failed: an error that was found explains a failure of its kind only."""
PERSONAL = frozenset({"answer", "report"})
"""Sources of what a person says, which counts also against an error that was found in the code."""


class Belief(msgspec.Struct, frozen=True, kw_only=True):
    """Posterior probabilities, and what moved each of them."""

    posterior: dict[str, float]
    """Hypothesis id → probability; sums to 1."""
    contributions: dict[str, tuple[Contribution, ...]]
    """Hypothesis id → the observations that moved it, strongest first."""
    unworded: dict[str, float]
    """The same probabilities without what the words of a run say: they state no cause."""


def believe(table: LikelihoodTable, evidence: Evidence) -> Belief:
    """Posterior over all hypotheses of the table given the evidence."""
    known = unabsorbed(table, [o for o in evidence.observations if table.knows(o.id)])
    certainty = _certainties(table, known)
    strongest = _strongest_primary(table, known, certainty)
    decided = any(o.present and o.id in table.kinds and table.kinds[o.id].background < RARE for o in known)
    weight_of_words = LIKENESS * (BESIDE if strongest is not None or decided else 1.0)
    lacking = frozenset(evidence.lacking or ())
    scores: dict[str, float] = {}
    unworded: dict[str, float] = {}
    contributions: dict[str, tuple[Contribution, ...]] = {}
    for hypothesis in table.hypotheses:
        moved = _contributions(table, hypothesis, known, certainty, strongest)
        found = (c.observation.id for c in moved if c.weight > 0.0 and c.observation.present)
        settled = any(table.settles(name, hypothesis.id) for name in found)
        moved = [c for c in moved if c.weight > 0.0 or not settled or _counts_against(table, c.observation)]
        silence = 0.0 if settled else _silence(table, hypothesis, known, evidence)
        affinity = AFFINITY * evidence.affinity.get(hypothesis.entry.id, 0.0) if hypothesis.entry else 0.0
        likeness = weight_of_words * _likeness(hypothesis, evidence)
        separate = sum(c.weight for c in moved if _stands_alone(table, c.observation))
        read = sum(c.weight for c in moved) - separate + silence + affinity
        if hypothesis.id in lacking:
            nothing = Observation(id=LACKS, source="probe", reader="script")
            moved.append(Contribution(observation=nothing, weight=math.log(LACKING)))
            separate += math.log(LACKING)
        unworded[hypothesis.id] = math.log(hypothesis.prior or 1e-12) + read / TEMPERATURE + separate
        scores[hypothesis.id] = unworded[hypothesis.id] + likeness / TEMPERATURE
        if evidence.unexplained is not None and affinity >= CLOSE:
            alike = Observation(id=RESEMBLES, source="log", quotes=(evidence.unexplained,))
            moved.append(Contribution(observation=alike, weight=affinity))
        if likeness >= CLOSE:
            line = evidence.alike.get(hypothesis.id)
            worded = Observation(id=WORDED_ALIKE, source="log", quotes=() if line is None else (line,))
            moved.append(Contribution(observation=worded, weight=likeness))
        contributions[hypothesis.id] = tuple(
            sorted((c for c in moved if abs(c.weight) >= 0.05), key=lambda c: -abs(c.weight))
        )
    return Belief(posterior=_normalised(scores), contributions=contributions, unworded=_normalised(unworded))


def _likeness(hypothesis: Hypothesis, evidence: Evidence) -> float:
    """How well what a run printed of itself fits a cause: its entry's texts, and the runs that are told of it."""
    entry = hypothesis.entry.id if hypothesis.entry else ""
    return evidence.likeness.get(entry, 0.0) + evidence.likeness.get(hypothesis.id, 0.0)


def entry_totals(posterior: Mapping[str, float]) -> dict[str, float]:
    """Return entry id → the sum over its causes; `OTHER` left out."""
    totals: dict[str, float] = defaultdict(float)
    for name, p in posterior.items():
        if name != OTHER:
            totals[name.partition(".")[0]] += p
    return dict(totals)


def unabsorbed(table: LikelihoodTable, known: Iterable[Observation]) -> list[Observation]:
    """Leave out what another observation says more exactly, or shows not to have happened.

    What was not seen in one way and was seen in another, of the same group, is no absence.
    """
    known = tuple(known)
    kinds = table.kinds
    present = {o.id for o in known if o.present}
    groups = {kinds[name].group for name in present if name in kinds}
    return [
        o
        for o in known
        if table.yields_to.get(o.id) not in groups - {None}
        and (o.id not in kinds or present.isdisjoint(kinds[o.id].refuted_by))
        and (o.present or o.id not in kinds or kinds[o.id].group not in groups - {None})
    ]


def _stands_alone(table: LikelihoodTable, observation: Observation) -> bool:
    """Whether an observation repeats nothing else: a fix that was tried, an answer, an error in the code.

    A question is asked because what was read leaves it open; what a log or a report says in one way it says in others.
    """
    kind = table.kinds.get(observation.id)
    return observation.source == "answer" or (kind is not None and (kind.experiment or kind.settles))


def _counts_against(table: LikelihoodTable, observation: Observation) -> bool:
    """Whether something speaks against an error that was found: a person's word, or that the run failed otherwise."""
    told = (observation.id, *table.excludes.get(observation.id, ()))
    return observation.source in PERSONAL or any(one.startswith(f"{SYMPTOM}=") for one in told)


def _normalised(scores: Mapping[str, float]) -> dict[str, float]:
    top = max(scores.values())
    weights = {key: math.exp(score - top) for key, score in scores.items()}
    total = sum(weights.values())
    return {key: weight / total for key, weight in weights.items()}


def _certainties(table: LikelihoodTable, known: Iterable[Observation]) -> dict[str, float]:
    """How much of its weight each observation keeps, by id: later primary errors on other ranks lose some."""
    known = tuple(known)
    primaries = [
        (o.quotes[0].time, o.quotes[0].rank, o)
        for o in known
        if o.present and o.id in table.kinds and table.kinds[o.id].role == "primary" and o.quotes
    ]
    timed = [(time, rank, o) for time, rank, o in primaries if time is not None and rank is not None]
    first = min(timed, key=lambda item: item[0], default=None)
    late = set[str]()
    if first is not None:
        # What the first rank printed too is no consequence of what it printed, whichever rank printed it first.
        late = {o.id for time, _, o in timed if time > first[0] and all(q.rank != first[1] for q in o.quotes)}
    return {o.id: o.certainty * (LATER if o.id in late else 1.0) for o in known}


def _weight(table: LikelihoodTable, hypothesis: Hypothesis, observation: Observation) -> float:
    """Log ratio of the observation's probability under the hypothesis and at its background rate."""
    if observation.id in table.kinds:
        if observation.id not in table.stated(hypothesis.id):
            return 0.0  # most causes say nothing of it
        if not observation.present and table.points(observation.id, hypothesis.id):
            return 0.0
        p = table.probability(observation.id, hypothesis.id)
        background = table.background(observation.id)
        if not observation.present:
            p, background = 1.0 - p, 1.0 - background
        elif p > background and observation.source == "report" and table.kinds[observation.id].is_signature:
            background *= REPORT_BACKGROUND
        return math.log(p / background)
    fact, _, value = observation.id.partition("=")
    distribution = table.fact_distribution(fact, hypothesis.id)
    p, background = distribution[value], table.background(observation.id)
    if observation.source == "answer":
        slip = MISTAKE / len(distribution)
        p, background = (1.0 - MISTAKE) * p + slip, (1.0 - MISTAKE) * background + slip
    return math.log(p / background)


def _strongest_primary(
    table: LikelihoodTable, known: Iterable[Observation], certainty: Mapping[str, float]
) -> float | None:
    """Largest weight that a primary signature gives to any cause; None without one."""
    weights = [
        certainty[o.id] * _weight(table, h, o)
        for o in known
        if o.present and (kind := table.kinds.get(o.id)) is not None and kind.is_signature and kind.role == "primary"
        for h in table.hypotheses
    ]
    return max(weights, default=None)


def _contributions(
    table: LikelihoodTable,
    hypothesis: Hypothesis,
    known: Iterable[Observation],
    certainty: Mapping[str, float],
    strongest: float | None,
) -> list[Contribution]:
    raw = [(o, certainty[o.id] * _weight(table, hypothesis, o)) for o in known]
    # What moves nothing was still to be the best of its group; from here on it would only be carried along.
    moving = [(o, weight) for o, weight in _once_per_group(table, raw) if weight != 0.0]
    faded = _fade_repeats(table, hypothesis, moving)
    return _cap_echoes(table, faded, strongest)


def _once_per_group(
    table: LikelihoodTable, weighed: Iterable[tuple[Observation, float]]
) -> list[tuple[Observation, float]]:
    """Of the observations of one group keep the one that moves the cause most, towards it if any does."""
    alone: list[tuple[Observation, float]] = []
    groups: dict[str, list[tuple[Observation, float]]] = defaultdict(list)
    for observation, weight in weighed:
        kind = table.kinds.get(observation.id)
        if kind is None or kind.group is None or not observation.present:
            alone.append((observation, weight))
        else:
            groups[kind.group].append((observation, weight))
    alone.extend(max(members, key=lambda item: item[1]) for members in groups.values())
    return alone


def _fade_repeats(
    table: LikelihoodTable, hypothesis: Hypothesis, weighed: Iterable[tuple[Observation, float]]
) -> list[tuple[Observation, float]]:
    """Let each further signature for the cause count `REPEAT` times the one before it; findings that point, too."""
    shares: dict[str, float] = defaultdict(lambda: 1.0)
    faded: list[tuple[Observation, float]] = []
    for observation, weight in sorted(weighed, key=lambda item: (-item[1], item[0].id)):
        origin = _origin(table, hypothesis, observation)
        if origin is None or weight <= 0.0:
            faded.append((observation, weight))
            continue
        faded.append((observation, weight * shares[origin]))
        shares[origin] *= REPEAT
    return faded


def _origin(table: LikelihoodTable, hypothesis: Hypothesis, observation: Observation) -> str | None:
    """Return what observations that speak for the cause have in common, where they share one origin."""
    kind = table.kinds.get(observation.id)
    if kind is not None and kind.is_signature:
        return "signature"
    return "pointing" if table.points(observation.id, hypothesis.id) else None


def _cap_echoes(
    table: LikelihoodTable, weighed: Iterable[tuple[Observation, float]], strongest: float | None
) -> list[Contribution]:
    """Scale the echoes down so that together they stay below their share of the strongest primary error."""
    weighed = list(weighed)
    echoes = [(o, w) for o, w in weighed if (kind := table.kinds.get(o.id)) is not None and kind.role == "collateral"]
    total = abs(sum(w for _, w in echoes))
    limit = math.inf if strongest is None else ECHO_SHARE * max(strongest, 0.0)
    scale = 1.0 if total <= limit else limit / total
    ids = {o.id for o, _ in echoes}
    return [Contribution(observation=o, weight=w * (scale if o.id in ids else 1.0)) for o, w in weighed]


def _silence(table: LikelihoodTable, hypothesis: Hypothesis, known: Iterable[Observation], evidence: Evidence) -> float:
    """Log weight of the messages that the cause usually prints and that were not seen. Never positive."""
    if hypothesis.id == OTHER:
        return 0.0
    from_report = any(o.source == "report" for o in known)
    coverage = max(evidence.log_coverage, REPORT_SILENCE if from_report else 0.0)
    if coverage == 0.0:
        return 0.0
    seen = {o.id for o in known if o.present}
    stated = table.stated(hypothesis.id)
    launcher_read = any(table.kinds[key].from_launcher for key in seen if key in table.kinds)
    primaries = {
        key: p
        for key, p in stated.items()
        if (kind := table.kinds.get(key)) is not None
        and kind.in_logs
        and kind.is_signature
        and kind.role == "primary"
        # Only the launcher's own output could hold its lines.
        and (launcher_read or not kind.from_launcher)
    }
    findings = {
        key: p
        for key, p in stated.items()
        if (kind := table.kinds.get(key)) is not None and kind.in_logs and not kind.is_signature
    }
    weight = 0.0
    if primaries and not seen & primaries.keys():
        weight += math.log(1.0 - coverage * max(primaries.values()))
    for key, p in findings.items():
        missed = p - table.background(key)
        if key not in seen and missed > 0.0:
            weight += math.log(1.0 - evidence.log_coverage * FINDING_RECALL * missed)
    return weight
