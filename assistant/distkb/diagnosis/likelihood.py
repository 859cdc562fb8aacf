"""P(observation | cause) for every cause of the catalogue, in one table.

A cause names only the observations that are typical or untypical of it. All others come at their background rate:
the rate at which they turn up in failing runs whose cause says nothing about them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from distkb.catalogue.model import (
    BACKGROUND,
    PRIOR_WEIGHT,
    PROBABILITY,
    Cause,
    Entry,
    Fact,
    Finding,
    Likelihood,
    Role,
    Severity,
    Signature,
)
from distkb.evidence.observation import Observation

OTHER = "other"
"""Id of the hypothesis that the cause is none of the catalogue's."""

OTHER_SHARE = 0.06
"""Prior of `OTHER`: the share of distributed-training failures we expect to have no entry."""

POINTED_AT: dict[Severity | None, Likelihood] = {
    "error": "usually",
    "warning": "often",
    "note": "sometimes",
    None: "often",
}
"""P(finding | a cause that the finding itself points to), where the cause does not state it, by severity."""

SETTLED = 20.0
"""Odds that an error which no other failure shows by chance, found by a reader or a probe, is what went wrong.

How often the same error lies idle in a run that fails of something else goes with how often it is made at all, so that
it counts no less where its cause is rare.
"""

WARNED = 3.0
"""Odds that a warning which other failures show rarely is of what went wrong: of 26 that were found in the code of 92
programs which failed in a known way 20 were. Some of the checks were written with these programs in view."""

HELPS_ANYWAY = 0.02
"""P(a fix helps | another cause): somebody changed something else in between, or the failure comes and goes."""

SETTLED_BY_A_LINE = 8.0
"""Odds that an error whose line only one entry's failures print is what went wrong, and not its consequence."""
RULED_OUT = 0.1
"""`never` makes an observation at most this share as likely as it is anywhere."""
_FLOOR = 0.02
"""Least probability of any value of a fact under any cause: people misreport, and entries are incomplete."""


class Kind(msgspec.Struct, frozen=True):
    """What the table knows of one observation, whichever cause it belongs to."""

    role: Role
    group: str | None
    background: float
    in_logs: bool
    """True where complete logs would show it if it had happened."""
    is_signature: bool
    from_launcher: bool
    """True for lines that the launcher prints, so that only its own output could show them."""
    telling: bool = True
    """False for a finding that says nothing about a failure by itself."""
    ending: bool = False
    """True where it tells how the run was ended from outside."""
    definite: bool = False
    """True for a finding that by itself points to an entry: an error or a warning of a reader or a probe."""
    remedies: bool = False
    """True for an error or a warning that says itself what repairs it."""
    settles: bool = False
    """True for an error found by a reader or a probe that no other failure shows by chance: what was inferred beside it
    does not speak against it."""
    refuted_by: tuple[str, ...] = ()
    """Observations beside which it counts for nothing."""
    experiment: bool = False
    """True for the outcome of a fix that was tried: independent of all that was read, so it counts in full."""


def fix_outcome(fix: str) -> str:
    """Id of the observation that a fix helped; absent where it was tried and did not help."""
    return f"fix.{fix}"


class Hypothesis(msgspec.Struct, frozen=True):
    """A cause with the entry it belongs to and its prior probability."""

    id: str
    entry: Entry | None
    cause: Cause | None
    prior: float


class LikelihoodTable:
    """The likelihoods of one catalogue; built once, read by the belief and by the choice of the next step."""

    def __init__(
        self,
        entries: Iterable[Entry],
        signatures: Iterable[Signature],
        findings: Iterable[Finding],
        facts: Iterable[Fact],
    ) -> None:
        signatures, findings = tuple(signatures), tuple(findings)
        tables: tuple[Signature | Finding, ...] = (*signatures, *findings)
        self.hypotheses = _hypotheses(tuple(entries))
        self.kinds: dict[str, Kind] = {
            **{s.id: _signature_kind(s) for s in signatures},
            **{f.id: _finding_kind(f) for f in findings},
        }
        self.facts: dict[str, Fact] = {fact.id: fact for fact in facts}
        self.excludes: dict[str, frozenset[str]] = {f.id: frozenset(f.excludes) for f in findings if f.excludes}
        self._stated: dict[str, dict[str, float]] = {
            h.id: {} if h.cause is None else {e.observation: PROBABILITY[e.likelihood] for e in h.cause.cues}
            for h in self.hypotheses
        }
        self.yields_to: dict[str, str] = {r.id: r.yields_to for r in tables if r.yields_to}
        self._pointing: set[tuple[str, str]] = set()
        self._settling: set[tuple[str, str]] = set()
        self._named: dict[str, list[Hypothesis]] = {}
        for h in self.hypotheses:
            for name in {h.id, h.id.partition(".")[0]}:
                self._named.setdefault(name, []).append(h)
        for record in tables:
            self._add_given(record)
        self._add_pointed_at(findings)
        self._distributions: dict[tuple[str, str], dict[str, float]] = {}
        self._add_excluding(findings)
        self._settle(findings)
        self._settle_lines(signatures)
        self._add_fixes()
        self._stating: dict[str, tuple[int, ...]] | None = None

    def points(self, finding: str, hypothesis: str) -> bool:
        """Whether the finding points to the cause, and the cause itself says nothing of it.

        What points to one cause are many different things that a probe may meet: none of them is due to be there.
        """
        return (finding, hypothesis) in self._pointing

    def settles(self, finding: str, hypothesis: str) -> bool:
        """Whether the finding is an error that no other failure shows by chance, and points to the cause."""
        return (finding, hypothesis) in self._settling

    def _add_given(self, record: Signature | Finding) -> None:
        """Give the causes that an observation's own table names their likelihoods, where they state none themselves."""
        named = {name: PROBABILITY[word] for word, names in record.given.items() for name in names}
        # What is said of the cause, then of its entry, then of all that often show a fact.
        for name in sorted(named, key=lambda name: ("=" in name, "." not in name)):
            for h in self._shown_by(name) if "=" in name else self._named.get(name, ()):
                self._stated[h.id].setdefault(record.id, named[name])

    def _shown_by(self, fact: str) -> Iterable[Hypothesis]:
        """Return the causes that state of a fact, as `fact=value`, that it holds often or more."""
        return (h for h in self.hypotheses if self._stated[h.id].get(fact, 0.0) >= PROBABILITY["often"])

    def _add_pointed_at(self, findings: Iterable[Finding]) -> None:
        """Give the causes that a finding points to a likelihood for it, where they state none themselves."""
        for finding in findings:
            if finding.entry is None:
                continue
            for h in self._named.get(finding.entry, ()):
                if h.cause is not None and finding.id not in self._stated[h.id]:
                    self._stated[h.id][finding.id] = PROBABILITY[POINTED_AT[finding.severity]]
                    self._pointing.add((finding.id, h.id))

    def _add_excluding(self, findings: Iterable[Finding]) -> None:
        """Give findings that exclude values of facts the probability that is left to the others, as a word has it."""
        for finding in findings:
            if not finding.excludes or not all(map(self.knows, finding.excludes)):
                continue
            values = [value.split("=", 1) for value in finding.excludes]
            usual = {fact: self.fact_background(fact) for fact, _ in values}
            kind = self.kinds[finding.id]
            left = 1.0 - sum(usual[fact][value] for fact, value in values)
            self.kinds[finding.id] = msgspec.structs.replace(kind, background=left)
            for h in self.hypotheses:
                own = {fact: self.fact_distribution(fact, h.id) for fact in usual}
                if own != usual:
                    p = 1.0 - sum(own[fact][value] for fact, value in values)
                    self._stated[h.id].setdefault(finding.id, min(PROBABILITY.values(), key=lambda word: abs(word - p)))

    def _settle(self, findings: Iterable[Finding]) -> None:
        """Give what other failures hardly show a background that goes with the prior of the causes it points to.

        Errors that no other failure shows settle the matter; those that another may show count as warnings do.
        """
        for finding in findings:
            causes = self._named.get(finding.entry or "", ())
            kind = self.kinds[finding.id]
            settles = finding.severity == "error" and kind.background <= BACKGROUND["never"]
            hints = finding.severity in {"error", "warning"} and kind.background <= BACKGROUND["rarely"]
            if causes and (settles or hints):
                shown = sum(h.prior * self._stated[h.id].get(finding.id, 0.0) for h in causes)
                background = min(kind.background, shown / (SETTLED if settles else WARNED))
                self.kinds[finding.id] = msgspec.structs.replace(kind, background=background, settles=settles)
                self._settling |= {(finding.id, h.id) for h in causes} if settles else set()

    def _settle_lines(self, signatures: Iterable[Signature]) -> None:
        """Give lines that only one entry's failures print a background that goes with the prior of their causes.

        Lines of one group say the same in other words, so that what one of them belongs to all may.
        """
        stating: dict[str, dict[str, Hypothesis]] = {}
        for h in self.hypotheses:
            for name, p in self._stated[h.id].items():
                if p > PROBABILITY["rarely"] and name in self.kinds:
                    stating.setdefault(self.kinds[name].group or name, {})[h.id] = h
        for signature in signatures:
            kind = self.kinds[signature.id]
            causes = stating.get(kind.group or signature.id, {}).values()
            printed = signature.role == "primary" and "log" in signature.where
            never = kind.background <= BACKGROUND["never"]
            if printed and never and len({h.id.partition(".")[0] for h in causes}) == 1:
                shown = sum(h.prior * self._stated[h.id].get(signature.id, 0.0) for h in causes)
                background = min(kind.background, shown / SETTLED_BY_A_LINE)
                self.kinds[signature.id] = msgspec.structs.replace(kind, background=background)

    def _add_fixes(self) -> None:
        """Make the outcome of every fix an observation: `works` says how likely it helps if the cause is its own."""
        for h in self.hypotheses:
            for fix in h.cause.fixes if h.cause is not None else ():
                name = fix_outcome(fix.id)
                self.kinds[name] = Kind("context", None, HELPS_ANYWAY, False, False, False, experiment=True)
                self._stated[h.id][name] = PROBABILITY[fix.works]

    def stated(self, hypothesis: str) -> Mapping[str, float]:
        """The likelihoods that the cause itself states, by observation id."""
        return self._stated[hypothesis]

    def stating(self, observation: str) -> tuple[int, ...]:
        """Numbers of the hypotheses that state a likelihood for an observation, ascending."""
        if self._stating is None:
            stating: dict[str, list[int]] = {}
            for number, h in enumerate(self.hypotheses):
                for name in self._stated[h.id]:
                    stating.setdefault(name, []).append(number)
            self._stating = {name: tuple(numbers) for name, numbers in stating.items()}
        return self._stating.get(observation, ())

    def probability(self, observation: str, hypothesis: str) -> float:
        """P(observation | hypothesis) of a signature or finding.

        `never` says that the cause is ruled out by it, also where hardly any other failure prints it either.
        """
        stated = self._stated[hypothesis].get(observation)
        background = self.kinds[observation].background
        if stated is None:
            return background
        return min(stated, RULED_OUT * background) if stated <= PROBABILITY["never"] else stated

    def background(self, observation: str) -> float:
        """P(observation) in runs whose cause says nothing about it; for `fact=value` the value's share."""
        if observation in self.kinds:
            return self.kinds[observation].background
        fact, _, value = observation.partition("=")
        return next((v.share for v in self.facts[fact].values if v.value == value), _FLOOR)

    def fact_distribution(self, fact: str, hypothesis: str) -> dict[str, float]:
        """P(value | hypothesis) for every value of a fact; sums to 1.

        The values that the cause states get their word's probability; what is left is shared among the others
        in proportion to their shares among failing runs of unknown cause.
        """
        key = (fact, hypothesis)
        found = self._distributions.get(key)
        if found is None:
            found = self._distributions[key] = _distribution(self.facts[fact], self._stated[hypothesis])
        return found

    def excluded(self, observed: Iterable[str]) -> frozenset[str]:
        """Return the values of facts, as `fact=value`, that something observed leaves no room for."""
        return frozenset(value for name in observed for value in self.excludes.get(name, ()))

    def fact_background(self, fact: str) -> dict[str, float]:
        """P(value) of a fact under a hypothesis that states nothing about it; sums to 1."""
        return _distribution(self.facts[fact], {})

    def tells(self, observation: Observation) -> bool:
        """Whether an observation says that something went wrong, and rests on no supposition.

        How a run is set up does not (`context` lines, facts read from a log or a configuration), nor what is absent.
        """
        kind = self.kinds.get(observation.id)
        if not observation.present or observation.supposes:
            return False
        if kind is None:
            return self.knows(observation.id) and observation.source not in ("log", "probe")
        if kind.ending:
            return True
        if not kind.telling or not kind.is_signature:
            return kind.telling
        return kind.role != "context" or (observation.source == "log" and not kind.in_logs)

    def knows(self, observation: str) -> bool:
        """Whether the observation's id means anything to this catalogue."""
        if observation in self.kinds:
            return True
        fact, found, value = observation.partition("=")
        return bool(found) and fact in self.facts and any(v.value == value for v in self.facts[fact].values)


def _hypotheses(entries: tuple[Entry, ...]) -> tuple[Hypothesis, ...]:
    """Causes with priors that sum to 1 with `OTHER`.

    An entry weighs as much as its most common cause, however finely it tells its causes apart:
    writing down a distinction must not make a failure look more common.
    """
    weighed: list[tuple[Entry, Cause, float]] = []
    for entry in entries:
        weights = [PRIOR_WEIGHT[cause.prior] for cause in entry.causes]
        scale = max(weights, default=0.0) / (sum(weights) or 1.0)
        weighed.extend((entry, cause, w * scale) for cause, w in zip(entry.causes, weights, strict=True))
    total = sum(weight for _, _, weight in weighed) or 1.0
    known = tuple(
        Hypothesis(cause.id, entry, cause, (1.0 - OTHER_SHARE) * weight / total) for entry, cause, weight in weighed
    )
    return (*known, Hypothesis(OTHER, None, None, OTHER_SHARE if known else 1.0))


def _signature_kind(signature: Signature) -> Kind:
    return Kind(
        role=signature.role,
        group=signature.group,
        background=BACKGROUND[signature.background],
        in_logs="log" in signature.where and signature.printed_by != "system",
        is_signature=True,
        from_launcher=signature.printed_by == "launcher",
        telling=signature.telling,
        ending=signature.ending,
        refuted_by=signature.refuted_by,
    )


def _finding_kind(finding: Finding) -> Kind:
    return Kind(
        role=finding.role,
        group=finding.group,
        background=BACKGROUND[finding.background],
        in_logs=finding.id.startswith("logs."),
        is_signature=False,
        from_launcher=False,
        telling=finding.telling,
        definite=finding.entry is not None and finding.severity in {"error", "warning"},
        remedies=finding.fix is not None and finding.severity in {"error", "warning"},
        refuted_by=finding.refuted_by,
    )


def _distribution(fact: Fact, stated: Mapping[str, float]) -> dict[str, float]:
    given = {v.value: stated[key] for v in fact.values if (key := f"{fact.id}={v.value}") in stated}
    open_share = sum(v.share for v in fact.values if v.value not in given)
    # A cause that states a share for every value, or states more than 1 in all, leaves only the floor to the rest.
    left = max(0.0, 1.0 - sum(given.values()))
    raw = {
        v.value: max(_FLOOR, given[v.value] if v.value in given else left * v.share / open_share) for v in fact.values
    }
    total = sum(raw.values())
    return {value: p / total for value, p in raw.items()}
