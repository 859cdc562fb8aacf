"""The tasks of one step together: what they share is said once, and every rank has to be there once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from distkb.evidence.observation import Observation, absent
from distkb.probing.env.verdict import EnvVerdict, listed
from distkb.probing.env.view import EnvProcess, View

_MOST_QUOTES = 8
_SAME_RANK = "env.tasks-same-rank"
_FOLLOWS = frozenset({"env.slurm-rank-differs"})
"""What is said of single tasks where several have one rank."""


def place(task: int, facts: Mapping[str, Any]) -> str:
    """Return where the environment of a task is, for a quote."""
    host = facts.get("host")
    name = host.get("hostname") if isinstance(host, Mapping) else None
    return f"task {task} ({name})" if name else f"task {task}"


def together(
    concluded: Mapping[int, Sequence[Observation]], facts: Mapping[int, Mapping[str, Any]]
) -> list[Observation]:
    """Return one list for all tasks; `concluded` are the observations of each by itself."""
    ranks = _ranks(facts)
    found: list[Observation] = [*ranks]
    alike = {observation.id for observation in ranks if observation.present}
    for number in sorted(concluded):
        own = [o for o in concluded[number] if not (o.id in _FOLLOWS and _SAME_RANK in alike)]
        counts = Counter(o.id for o in own if o.present)
        for observation in own:
            _join(found, observation, alone=counts[observation.id] == 1)
    return found


def _join(found: list[Observation], observation: Observation, *, alone: bool) -> None:
    """Add what one task says: to the same finding of another task, if there is one."""
    if observation.present:
        known = [at for at, other in enumerate(found) if other.id == observation.id and other.present]
        same = [at for at in known if found[at].values == observation.values]
        at = next(iter(same or (known if alone and len(known) == 1 else [])), None)
        if at is not None:
            quotes = tuple(dict.fromkeys((*found[at].quotes, *observation.quotes)))[:_MOST_QUOTES]
            found[at] = msgspec.structs.replace(found[at], quotes=quotes, count=found[at].count + observation.count)
            return
    found.append(observation)


def _count(processes: Iterable[EnvProcess], least: int) -> int:
    return max(least, *(here.number("SLURM_STEP_NUM_TASKS") or 0 for here in processes))


def _ranks(facts: Mapping[int, Mapping[str, Any]]) -> Iterable[Observation]:
    """Compare the ranks that the tasks were given."""
    verdict = EnvVerdict()
    processes = {number: View.of(own).here for number, own in sorted(facts.items())}
    ranked = {number: here for number, here in processes.items() if here is not None and here.rank is not None}
    if len(ranked) < 2:
        return ()
    verdict.look(_SAME_RANK)
    counts = Counter(here.rank for here in ranked.values())
    twice = sorted(rank for rank, count in counts.items() if count > 1 and rank is not None)
    if twice:
        holders = {number: here for number, here in ranked.items() if here.rank in twice}
        quotes = [quote for here in holders.values() for quote in here.quote("RANK", "SLURM_PROCID")]
        values = {"rank": listed(twice), "count": len(holders), "all": _count(holders.values(), len(facts))}
        verdict.find(_SAME_RANK, quotes, values)
    return (*verdict.found(), *absent(verdict.clear()))
