"""What the causes cite exists, and the likelihoods they give can all be true at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from distkb.catalogue.model import PROBABILITY
from distkb.catalogue.validate import did_you_mean, value_at

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from distkb.catalogue.load import Loaded, Located
    from distkb.catalogue.model import Cause, Cue, Entry, Fact, Repro, Step, Trait
    from distkb.catalogue.problem import Problem
    from distkb.catalogue.source import Key

MOST_PER_FACT: Final = 1.15
"""Values of one fact exclude one another; the words are coarse, so their sum may pass 1 by a little."""


def check_evidence(loaded: Loaded) -> Iterator[Problem]:
    """Report observations that do not exist, contradictory likelihoods, and records that nothing uses."""
    names = _Names(loaded)
    traits = {record.value.id for record in loaded.of("trait")}
    used: set[str] = set()
    for record in loaded.of("entry"):
        entry: Entry = record.value
        used.update(entry.traits, *(cause.traits for cause in entry.causes))
        yield from _unknown_traits(record, entry, traits)
        yield from _complete(record, entry)
        for index, cause in enumerate(entry.causes):
            yield from _cause(record, cause, index, names)
    for record in loaded.of("trait"):
        yield from _trait(record, record.value, names, used)
    for record in loaded.of("fact"):
        yield from _fact(record, record.value)
    for record in loaded.of("step"):
        yield from _step(record, record.value, names)
    for kind in ("signature", "finding"):
        for record in loaded.of(kind):
            yield from _given(record, names)
            yield from _facts_of(record, names)
    yield from _orphans(loaded)


class _Names:
    """All that evidence may refer to."""

    def __init__(self, loaded: Loaded) -> None:
        self.facts: dict[str, tuple[str, ...]] = {
            record.value.id: tuple(value.value for value in record.value.values) for record in loaded.of("fact")
        }
        self.broken = loaded.broken
        self.causes = {name for r in loaded.of("entry") for name in (r.value.id, *(c.id for c in r.value.causes))}
        self.lines = {record.value.id for kind in ("signature", "finding") for record in loaded.of(kind)}

    def fault(self, observation: str) -> str | None:
        """Return why an observation's name stands for nothing, or None."""
        fact, is_fact, value = observation.partition("=")
        if fact in self.broken or observation in self.lines:
            return None
        if not is_fact:
            hint = did_you_mean(observation, self.lines)
            return f"no signature or finding is called '{observation}'{hint}"
        if fact not in self.facts:
            return f"no fact is called '{fact}'{did_you_mean(fact, self.facts)}"
        if value not in self.facts[fact]:
            return f"'{fact}' has no value '{value}': its values are {', '.join(self.facts[fact])}"
        return None


def _given(record: Located, names: _Names) -> Iterator[Problem]:
    """Report causes in an observation's own table that do not exist or stand there twice."""
    seen: set[str] = set()
    for word, causes in record.value.given.items():
        for index, name in enumerate(causes):
            if "=" in name and (fault := names.fault(name)):
                yield record.problem(fault, "given", word, index)
            elif "=" not in name and name not in names.causes and name.partition(".")[0] not in names.broken:
                hint = did_you_mean(name, names.causes)
                yield record.problem(f"no entry or cause is called '{name}'{hint}", "given", word, index)
            if name in seen:
                yield record.problem(f"'{name}' already has a likelihood here", "given", word, index)
            seen.add(name)


def _facts_of(record: Located, names: _Names) -> Iterator[Problem]:
    """Report what an observation says of facts, values of facts or other observations that do not exist."""
    for index, name in enumerate(getattr(record.value, "refuted_by", ())):
        if fault := names.fault(name):
            yield record.problem(fault, "refuted_by", index)
    for field in ("implies", "concludes", "excludes"):
        for index, name in enumerate(getattr(record.value, field, ())):
            fault = names.fault(name) if "=" in name else f"'{name}' is no fact with its value, as in `phase=init`"
            if fault:
                yield record.problem(fault, field, index)


def _complete(record: Located, entry: Entry) -> Iterator[Problem]:
    for name in ("symptoms", "causes", "references"):
        if not getattr(entry, name):
            yield record.problem(f"'{name}' is empty", name)
    if entry.repro is None and entry.status != "draft":
        yield record.problem("'repro' is missing: an entry that no program proves is a draft", "status")
    if entry.repro is not None:
        if not entry.repro.shows:
            yield record.problem("'shows' is empty: say what the broken run must bring out", "repro", "shows")
        if entry.repro.seconds <= 0 or entry.repro.nproc < 0:
            yield record.problem("'repro' needs a positive time and no negative number of processes", "repro")
        yield from _launch(record, entry.repro)


def _launch(record: Located, repro: Repro) -> Iterator[Problem]:
    if (repro.kind == "hw") != (repro.hardware is not None):
        yield record.problem("'hardware' says what a repro of kind hw needs, and no other", "repro", "kind")
    if (repro.launch == "nodes") != (repro.nodes > 1):
        yield record.problem("'nodes' is more than 1 with launch: nodes, and with nothing else", "repro", "launch")
    if repro.launch != "python" and repro.kind != "hw" and not repro.nproc:
        yield record.problem("'nproc' is missing: how many processes does torchrun start?", "repro", "launch")


def _cause(record: Located, cause: Cause, number: int, names: _Names) -> Iterator[Problem]:
    at = ("causes", number)
    if not cause.fixes:
        yield record.problem(f"cause {cause.id} has no fix", *at, "fixes")
    if len(cause.cues) < 2:
        yield record.problem(f"cause {cause.id} needs at least two pieces of evidence", *at, "evidence")
    sums: dict[str, float] = {}
    seen: set[str] = set()
    for evidence in cause.cues:
        place = _stated(record, number, evidence)
        fault = names.fault(evidence.observation)
        if fault and place != at:
            yield record.problem(fault, *place)
        if evidence.observation in seen:
            yield record.problem(f"'{evidence.observation}' is already evidence of {cause.id}", *place)
            continue
        seen.add(evidence.observation)
        fact, is_fact, _ = evidence.observation.partition("=")
        if is_fact:
            sums[fact] = sums.get(fact, 0.0) + PROBABILITY[evidence.likelihood]
            if sums[fact] > MOST_PER_FACT >= sums[fact] - PROBABILITY[evidence.likelihood]:
                message = f"the likelihoods of '{fact}' add up to more than 1 here: only one of its values can hold"
                yield record.problem(message, *place)
    for index, fix in enumerate(cause.fixes):
        if not fix.steps:
            yield record.problem(f"fix {fix.id} has no steps", *at, "fixes", index)


def _stated(record: Located, number: int, cue: Cue) -> Key:
    """Return the key of what states a cause's cue: the cause or its entry; the cause itself where a trait does."""
    for key in (("causes", number, "evidence"), ("evidence",)):
        names = value_at(record.document, (*key, cue.likelihood))
        if isinstance(names, list) and cue.observation in names:
            return (*key, cue.likelihood, names.index(cue.observation))
    return ("causes", number)


def _trait(record: Located, trait: Trait, names: _Names, used: Collection[str]) -> Iterator[Problem]:
    """Report what a trait says of observations that do not exist, or twice, and a trait that nothing has."""
    seen: set[str] = set()
    for word, shown in trait.evidence.items():
        for index, name in enumerate(shown):
            if fault := names.fault(name):
                yield record.problem(fault, "evidence", word, index)
            if name in seen:
                yield record.problem(f"'{name}' already has a likelihood here", "evidence", word, index)
            seen.add(name)
    if trait.id not in used:
        yield record.problem(f"no cause or entry has the trait '{trait.id}'", "id", warning=True)


def _unknown_traits(record: Located, entry: Entry, known: Collection[str]) -> Iterator[Problem]:
    for at, traits in ((), entry.traits), *((("causes", n), cause.traits) for n, cause in enumerate(entry.causes)):
        for index, name in enumerate(traits):
            if name not in known:
                yield record.problem(f"no trait is called '{name}'{did_you_mean(name, known)}", *at, "traits", index)


def _fact(record: Located, fact: Fact) -> Iterator[Problem]:
    total = sum(value.share for value in fact.values)
    if abs(total - 1) > 0.005:
        yield record.problem(f"the shares of '{fact.id}' add up to {total:.3f}, not to 1", "values")
    seen: set[str] = set()
    for index, value in enumerate(fact.values):
        if value.value in seen or value.value == "unknown":
            why = "stands for itself: every fact may be unknown" if value.value == "unknown" else "is given twice"
            yield record.problem(f"value '{value.value}' {why}", "values", index, "value")
        if value.share <= 0:
            yield record.problem("'share' must be above 0", "values", index, "share")
        seen.add(value.value)


def _step(record: Located, step: Step, names: _Names) -> Iterator[Problem]:
    if step.seconds <= 0:
        yield record.problem("'seconds' must be above 0", "seconds")
    if not step.reveals:
        yield record.problem("'reveals' is empty: a step that shows nothing is never worth taking", "reveals")
    for index, observation in enumerate(step.reveals):
        fault = None if observation in names.facts else names.fault(observation)
        if fault:
            yield record.problem(fault, "reveals", index)


def _orphans(loaded: Loaded) -> Iterator[Problem]:
    """Warn of a failure's line that no cause lists: seeing it would tell nobody anything."""
    used = {
        evidence.observation
        for record in loaded.of("entry")
        for cause in record.value.causes
        for evidence in cause.cues
    }
    for record in loaded.of("signature"):
        orphan = record.value.id not in used and not record.value.given and "unexplained" not in record.value.where
        if record.value.role == "primary" and orphan:
            yield record.problem(f"no cause lists '{record.value.id}' as evidence", "id", warning=True)
