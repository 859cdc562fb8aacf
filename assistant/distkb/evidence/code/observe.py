"""What script and run show together: the construct that sent the ranks different ways, and what it depends on."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from distkb.evidence.code.fork import Candidate, alone, fork
from distkb.evidence.code.spots import Spot, chain
from distkb.evidence.observation import Observation, Quote
from distkb.evidence.readers.scripts.effects import Effects
from distkb.evidence.readers.scripts.names import last, shown
from distkb.evidence.readers.scripts.origins import Origins, Reason
from distkb.evidence.readers.scripts.outside import Origin
from distkb.evidence.run.positions import CALLS
from distkb.evidence.text.clean import quote_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from distkb.evidence.readers.scripts.project import Function, Project
    from distkb.evidence.run.parting import Parting

_ORDER: tuple[Origin, ...] = ("rank", "clock", "file", "exception", "chance", "machine", "measure", "batch", "part")
"""Of several things that one condition depends on, the one that tells most comes first."""


def observe(parting: Parting | None, project: Project | None) -> list[Observation]:
    """Return what lies between the two groups of ranks in the code; nothing where the code does not tell."""
    if parting is None or project is None:
        return []
    main, odd = parting.main[0], parting.odd[0] if parting.odd else None
    here = chain(project, main.frames)
    there = chain(project, odd.frames) if odd is not None else ()
    if not here and not there:
        return []
    origins = Origins(project, Effects(project))
    if parting.way in {"same-place", "rest-in-call"} and here:
        uneven = _uneven(here[-1], parting, origins)
        if uneven or parting.way == "same-place":
            return uneven
    candidates = fork(here, there) if here and there else alone(here or there)
    chosen = _chosen(candidates, origins, everyone=bool(here and there))
    if chosen is None:
        return []
    candidate, reason = chosen
    calls = odd is not None and {main.stage, odd.stage} <= CALLS
    name = "code.other-order" if candidate.turn == "arms" and calls else f"code.parted-by-{reason.origin}"
    quotes = [_at(candidate.function, (candidate.test or candidate.node).lineno)]
    quotes.append(_at(reason.function, getattr(reason.node, "lineno", candidate.node.lineno)))
    quotes += [p.quote for p in (odd, main) if p is not None]
    return [
        Observation(
            id=name,
            source="probe",
            reader="script",
            quotes=tuple(_once(quotes)),
            values={
                "test": quote_text(shown(candidate.test)) if candidate.test is not None else "except",
                "line": str((candidate.test or candidate.node).lineno),
                "function": candidate.function.name,
                "on": quote_text(shown(reason.node)) if isinstance(reason.node, ast.expr) else reason.function.name,
            },
        )
    ]


def _uneven(spot: Spot, parting: Parting, origins: Origins) -> list[Observation]:
    """The collective in which all ranks stand, where the size of its tensor is not the same on every rank."""
    for node in ast.walk(spot.statement):
        if not isinstance(node, ast.Call) or last(node.func) not in _ONE_SIZE:
            continue
        for argument in node.args[:2]:
            reason = next(iter(origins.of_length(argument, spot.function)), None)
            if reason is not None:
                quotes = [_at(spot.function, node.lineno), _at(reason.function, getattr(reason.node, "lineno", 0))]
                quotes += [p.quote for p in parting.main]
                values = {
                    "call": shown(node),
                    "line": str(node.lineno),
                    "function": spot.function.name,
                    "argument": shown(argument),
                    "on": shown(reason.node),
                }
                return [
                    Observation(
                        id="code.uneven-tensor",
                        source="probe",
                        reader="script",
                        quotes=tuple(_once(quotes)[:6]),
                        values={name: quote_text(value) for name, value in values.items()},
                    )
                ]
    return []


_ONE_SIZE = frozenset(
    {"all_gather", "all_gather_into_tensor", "all_reduce", "broadcast", "reduce", "gather", "reduce_scatter",
     "reduce_scatter_tensor", "all_to_all_single", "scatter"}
)  # fmt: skip
"""Collectives whose tensors have to be of one size on all ranks."""


def _chosen(candidates: Iterable[Candidate], origins: Origins, *, everyone: bool) -> tuple[Candidate, Reason] | None:
    for candidate in candidates:
        reasons = _reasons(candidate, origins)
        if not everyone:
            # Of the others nobody knows where they are: only a test on the rank itself says that they do not come.
            reasons = [r for r in reasons if r.origin == "rank"]
        if reasons:
            return candidate, min(reasons, key=lambda r: _ORDER.index(r.origin))
    return None


def _reasons(candidate: Candidate, origins: Origins) -> Sequence[Reason]:
    if candidate.test is None:
        return [Reason("exception", candidate.function, candidate.node)]
    if candidate.turn == "head" and not isinstance(candidate.node, ast.While):
        return origins.of_length(candidate.test, candidate.function)
    return origins.of(candidate.test, candidate.function)


def _at(function: Function, line: int) -> Quote:
    lines = function.script.lines
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    return Quote(text=quote_text(text), path=quote_text(function.script.name), line=line)


def _once(quotes: Sequence[Quote]) -> list[Quote]:
    return list({(q.path, q.line, q.text): q for q in quotes}.values())
