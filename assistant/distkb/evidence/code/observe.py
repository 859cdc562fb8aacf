"""What script and run show together: the construct that sent the ranks different ways, and what it depends on."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

import msgspec

from distkb.evidence.code.fork import ForkCandidate, alone, behind, fork
from distkb.evidence.code.prints import Prints
from distkb.evidence.code.skipped import skipped
from distkb.evidence.code.spots import Spot, chain
from distkb.evidence.code.within import with_calls_inside
from distkb.evidence.observation import Observation, Quote
from distkb.evidence.readers.scripts.arguments import keyword
from distkb.evidence.readers.scripts.effects import Effects
from distkb.evidence.readers.scripts.names import last, shown, words
from distkb.evidence.readers.scripts.origins import Origins
from distkb.evidence.readers.scripts.outside import Origin, Reason
from distkb.evidence.readers.stacks.known import side_of_pair
from distkb.evidence.run.positions import CALLS
from distkb.evidence.text.clean import quote_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from distkb.evidence.readers.scripts.definitions import Function
    from distkb.evidence.readers.scripts.project import Project
    from distkb.evidence.run.lines import Line
    from distkb.evidence.run.parting import Parting
    from distkb.evidence.run.positions import Position

PRINTED = 0.8
"""Certainty of what follows from the last lines of ranks: they may have gone on from there."""
_ORDER: tuple[Origin, ...] = (
    "salt",
    "rank",
    "clock",
    "file",
    "exception",
    "chance",
    "machine",
    "measure",
    "batch",
    "part",
)
"""Of several things that one condition depends on, the one that tells most comes first."""


class _Stand(msgspec.Struct, frozen=True, eq=False):
    """Where some ranks stood, or what they printed last."""

    spots: tuple[Spot, ...]
    quote: Quote
    calls: bool = False
    """Whether they stood in a collective that the user's code calls."""
    printed: bool = False
    """Whether only their last line says it."""


def observe(
    parting: Parting | None, project: Project, last_lines: Sequence[tuple[int, Line]] = ()
) -> list[Observation]:
    """Return what lies between two groups of ranks in the code; nothing where the code does not tell.

    `last_lines` are what each rank printed last: where a rank left no position, it stood behind that statement.
    """
    effects = Effects(project)
    origins = Origins(project, effects)
    stands = [_of_position(group[0], project) for group in (parting.main, parting.odd) if group] if parting else []
    stands = [stand for stand in stands if stand.spots]
    if parting is not None and stands and parting.way in {"same-place", "rest-in-call"}:
        spot = stands[0].spots[-1]
        shared = _uneven(spot, parting, origins) or _own_order(spot, parting, origins)
        if shared or parting.way == "same-place":
            return shared
    if len(stands) < 2:
        known = {p.rank for p in (*parting.main, *parting.odd)} if parting is not None else set()
        stands += _of_lines([one for one in last_lines if one[0] not in known], project)
    if not stands:
        return []
    together = len(stands) > 1
    candidates = fork(stands[0].spots, stands[1].spots) if together else alone(stands[0].spots)
    printed = any(stand.printed for stand in stands)
    if printed and not together:
        return []
    if printed:
        candidates = tuple(with_calls_inside(candidates, effects))
    chosen = _chosen(candidates, origins, everyone=together, printed=printed)
    if chosen is None and together:
        # Who printed a line has gone on from there, perhaps into a collective that the others did not come to.
        ahead = (one for stand in stands if stand.printed for one in behind(stand.spots[-1]))
        chosen = _chosen(
            (c for c in ahead if skipped(c, effects) == "collective"), origins, everyone=True, printed=True
        )
    if chosen is None and not printed:
        # They stand where the code does not tell them apart: a few may have said what sent them there.
        few = min(_by_statement(last_lines, project), key=len, default=[])
        if few and 2 * len(few) <= len(last_lines):
            chosen = _chosen(alone(few[0].spots), origins, everyone=True, printed=True)
            stands, printed = [*stands, few[0]], True
    if chosen is None:
        return []
    candidate, reason = chosen
    quotes = [_at(candidate.function, (candidate.test or candidate.node).lineno)]
    quotes.append(_at(reason.function, getattr(reason.node, "lineno", candidate.node.lineno)))
    quotes += [stand.quote for stand in reversed(stands)]
    return [
        Observation(
            id=_finding(candidate, reason, effects, stands if together else ()),
            source="probe",
            reader="script",
            certainty=PRINTED if printed else 1.0,
            quotes=tuple(_once(quotes)),
            values={
                "test": quote_text(shown(candidate.test)) if candidate.test is not None else "except",
                "line": str((candidate.test or candidate.node).lineno),
                "function": candidate.function.name,
                "on": quote_text(shown(reason.node)) if isinstance(reason.node, ast.expr) else reason.function.name,
            },
        )
    ]


def _is_paired(spot: Spot) -> bool:
    """Whether a statement sends to or receives from one other rank, which a test on the rank tells apart on purpose."""
    calls = (node for node in ast.walk(spot.statement) if isinstance(node, ast.Call))
    return any(side_of_pair(last(call.func)) for call in calls)


def _finding(candidate: ForkCandidate, reason: Reason, effects: Effects, stands: Sequence[_Stand]) -> str:
    """The name of the finding: where the batch decides, what the ranks leave out belongs to it."""
    if reason.origin == "rank" and any(_is_paired(stand.spots[-1]) for stand in stands if not stand.printed):
        return "code.parted-by-part-in-pair"
    if reason.origin == "file" and candidate.turn == "head":
        polls = isinstance(candidate.node, ast.While) and any(_is_inside(candidate, stand) for stand in stands)
        return "code.waits-for-file" if polls else "code.length-by-file"
    if candidate.turn == "arms" and stands and all(stand.calls for stand in stands):
        return "code.other-order"
    left_out = skipped(candidate, effects) if reason.origin in {"batch", "measure"} else None
    if left_out is None and any(_in_call(candidate, stand) for stand in stands):
        left_out = "collective"
    if reason.origin == "batch" and candidate.turn == "head" and left_out == "collective":
        return "code.batch-counts-collectives"
    if reason.origin == "measure" and candidate.turn == "branch" and left_out == "collective":
        return "code.measure-gates-collective"
    batch_decides = reason.origin == "batch" and left_out is not None
    return f"code.batch-skips-{left_out}" if batch_decides else f"code.parted-by-{reason.origin}"


def _in_call(candidate: ForkCandidate, stand: _Stand) -> bool:
    """Whether these ranks stand in a collective of the user's that lies in the construct."""
    return stand.calls and _is_inside(candidate, stand)


def _is_inside(candidate: ForkCandidate, stand: _Stand) -> bool:
    return any(arm.node is candidate.node for spot in stand.spots for arm in spot.arms)


def _of_position(position: Position, project: Project) -> _Stand:
    return _Stand(chain(project, position.frames), position.quote, calls=position.stage in CALLS)


def _of_lines(last_lines: Sequence[tuple[int, Line]], project: Project) -> list[_Stand]:
    """Two groups of ranks by the statement that printed their last lines; one where all printed it."""
    return [group[0] for group in _by_statement(last_lines, project)[:2]]


def _by_statement(last_lines: Sequence[tuple[int, Line]], project: Project) -> list[list[_Stand]]:
    """The ranks by the statement that printed their last lines, the largest group first."""
    if not last_lines:
        return []
    prints = Prints(project)
    groups: dict[int, list[_Stand]] = {}
    for rank, line in last_lines:
        spots = prints.spots(line.text)
        if spots:
            quote = Quote(text=quote_text(line.text), path=line.path, line=line.number, rank=rank)
            groups.setdefault(id(spots[-1].statement), []).append(_Stand(spots, quote, printed=True))
    return sorted(groups.values(), key=len, reverse=True)


def _uneven(spot: Spot, parting: Parting, origins: Origins) -> list[Observation]:
    """The collective in which all ranks stand, where the size of its tensor is not the same on every rank."""
    for node in ast.walk(spot.statement):
        if not isinstance(node, ast.Call) or last(node.func) not in _ONE_SIZE:
            continue
        for argument in node.args[:2]:
            reason = next(iter(origins.of_length(argument, spot.function)), None)
            if reason is not None:
                return [_of_all("code.uneven-tensor", node, argument, reason, spot, parting)]
    return []


def _own_order(spot: Spot, parting: Parting, origins: Origins) -> list[Observation]:
    """The collective in which all ranks stand, where a loop over what is the rank's own chooses its group."""
    calls = [node for node in ast.walk(spot.statement) if isinstance(node, ast.Call)]
    groups = (keyword(call, "group") for call in calls)
    chosen = {word for group in groups if group is not None for word in words(group)}
    for arm in reversed(spot.arms):
        if not isinstance(arm.node, (ast.For, ast.AsyncFor)) or not chosen & words(arm.node.target):
            continue
        reason = next((r for r in origins.of(arm.node.iter, spot.function) if r.origin in _ITS_OWN), None)
        if reason is not None:
            return [_of_all("code.groups-in-own-order", arm.node, arm.node.iter, reason, spot, parting)]
    return []


_ITS_OWN = frozenset({"rank", "part", "salt", "file", "chance"})
"""What gives each rank things of its own to go through."""


def _of_all(
    name: str, node: ast.stmt | ast.expr, argument: ast.expr, reason: Reason, spot: Spot, parting: Parting
) -> Observation:
    """A finding about a statement in which all ranks stand."""
    quotes = [_at(spot.function, node.lineno), _at(reason.function, getattr(reason.node, "lineno", 0))]
    quotes += [p.quote for p in parting.main]
    call = next((part for part in ast.walk(spot.statement) if isinstance(part, ast.Call)), node)
    values = {
        "call": shown(node if isinstance(node, ast.Call) else call),
        "line": str(node.lineno),
        "function": spot.function.name,
        "argument": shown(argument),
        "on": shown(reason.node) if isinstance(reason.node, ast.expr) else reason.function.name,
    }
    return Observation(
        id=name,
        source="probe",
        reader="script",
        quotes=tuple(_once(quotes)[:6]),
        values={field: quote_text(value) for field, value in values.items()},
    )


_ONE_SIZE = frozenset(
    {"all_gather", "all_gather_into_tensor", "all_reduce", "broadcast", "reduce", "gather", "reduce_scatter",
     "reduce_scatter_tensor", "all_to_all_single", "scatter"}
)  # fmt: skip
"""Collectives whose tensors have to be of one size on all ranks."""


def _chosen(
    candidates: Iterable[ForkCandidate], origins: Origins, *, everyone: bool, printed: bool
) -> tuple[ForkCandidate, Reason] | None:
    for candidate in candidates:
        if candidate.turn == "entry":
            return candidate, Reason("rank", candidate.function, candidate.test or candidate.node)
        reasons = _reasons(candidate, origins)
        if candidate.own:
            reasons = [r for r in reasons if r.origin in _MET]
        if printed:
            # What one rank prints for all says nothing of where it went.
            reasons = [r for r in reasons if r.origin != "rank"]
        if not everyone:
            # Of the others nobody knows where they are: only a test on the rank itself says that they do not come.
            reasons = [r for r in reasons if r.origin == "rank"]
        if reasons:
            return candidate, min(reasons, key=lambda r: _ORDER.index(r.origin))
    return None


_MET: Final = frozenset({"batch", "measure", "chance", "clock"})
"""What a rank finds out for itself."""


def _reasons(candidate: ForkCandidate, origins: Origins) -> Sequence[Reason]:
    if candidate.test is None:
        return [Reason("part" if _ends_data(candidate.node) else "exception", candidate.function, candidate.node)]
    if candidate.turn == "head" and not isinstance(candidate.node, ast.While):
        return origins.of_length(candidate.test, candidate.function)
    found = origins.of(candidate.test, candidate.function)
    if any(reason.origin == "measure" for reason in found):
        measured = {reason.origin for reason in origins.of_amounts(candidate.test, candidate.function)}
        return [reason for reason in found if reason.origin != "measure" or "measure" in measured]
    return found


def _ends_data(node: ast.stmt) -> bool:
    """Whether a handler waits for the end of an iterator."""
    types = (handler.type for handler in getattr(node, "handlers", []) if handler.type is not None)
    return any(last(part) == "StopIteration" for kind in types for part in ast.walk(kind))


def _at(function: Function, line: int) -> Quote:
    lines = function.script.lines
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    return Quote(text=quote_text(text), path=quote_text(function.script.name), line=line)


def _once(quotes: Sequence[Quote]) -> list[Quote]:
    return list({(q.path, q.line, q.text): q for q in quotes}.values())
