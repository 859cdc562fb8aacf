"""Checks all_to_all, whose shapes may differ between ranks: what is sent must be what is received."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping

from distkb.evidence.readers.flight_recorder.align import first_open
from distkb.evidence.readers.flight_recorder.calls import Call, Shape
from distkb.evidence.readers.flight_recorder.dump import RankDump, Tables
from distkb.evidence.readers.flight_recorder.groups import ProcessGroup
from distkb.evidence.readers.flight_recorder.problem import At, Problem
from distkb.evidence.readers.flight_recorder.track import COMPLETED

_OPERATIONS = frozenset(("all_to_all", "all_to_allv", "all_to_all_single", "all_to_all_v_single"))
_BUDGET = 2_000_000
"""Calls that are looked at; of many ranks only the last ones."""


def uneven(group: ProcessGroup, dumps: Mapping[int, RankDump], tables: Tables) -> Problem | None:
    """Return the first all_to_all over all members of which the sizes do not agree.

    They do not if all together send another number of elements than they receive; or if all wait in it, and one pair
    or one rank against all that was seen before gives other sizes.
    """
    numbers = {number for number, call in enumerate(tables.calls) if call.op in _OPERATIONS and call.inputs}
    if not numbers or not group.members_known or not all(rank in dumps for rank in group.members):
        return None
    elements = {
        number: (_elements(tables.calls[number].inputs), _elements(tables.calls[number].outputs)) for number in numbers
    }
    made: dict[int, dict[int, int]] = defaultdict(dict)
    opened = [track.sequence[at] for track in group.tracks.values() if (at := first_open(track)) is not None]
    oldest = min(opened, default=0)
    depth = max(16, _BUDGET // len(group.members))
    for rank, track in group.tracks.items() if opened else ():
        # What has completed on all ranks had sizes that agree.
        for at in range(max(bisect_left(track.sequence, oldest), len(track) - depth), len(track)):
            if track.calls[at] in numbers:
                made[track.sequence[at]][rank] = at
    is_first = True
    for sequence in sorted(made):
        positions = made[sequence]
        if len(positions) < len(group.members):
            continue
        sums = [elements[group.tracks[rank].calls[at]] for rank, at in positions.items()]
        sent, received = (sum(side) for side in zip(*sums, strict=True))
        waiting = tuple(rank for rank, at in positions.items() if group.tracks[rank].states[at] != COMPLETED)
        all_wait, is_first = is_first and len(waiting) == len(positions), is_first and not waiting
        if sent == received and not all_wait:
            continue
        calls = {rank: tables.calls[group.tracks[rank].calls[at]] for rank, at in positions.items()}
        odd = _of_pairs(group, calls) or _odd_ones(group, tables, positions, calls, sent - received)
        if odd and len(odd) < len(group.members):
            return _named(group, sequence, positions, odd)
        if sent != received:
            shown = At(rank=min(positions), position=positions[min(positions)])
            return Problem(
                kind="exchange",
                group=group,
                sequence=sequence,
                culprits=tuple(sorted(waiting)) or group.members,
                expected=shown,
                order=group.tracks[shown.rank].records[shown.position],
                detail={"sent": str(sent), "received": str(received)},
            )
    return None


def _of_pairs(group: ProcessGroup, calls: Mapping[int, Call]) -> tuple[int, ...]:
    """Return the ranks of the pairs of which one sends what the other does not expect; the one that all share."""
    members, size = group.members, len(group.members)
    if any(len(call.inputs) != size or len(call.outputs) != size for call in calls.values()):
        return ()
    pairs = [
        {one, other}
        for here, one in enumerate(members)
        for there, other in enumerate(members)
        if calls[one].inputs[there] != calls[other].outputs[here]
    ]
    shared = set.intersection(*pairs) if pairs else set()
    return tuple(sorted(shared if len(shared) == 1 else set().union(*pairs)))


def _odd_ones(
    group: ProcessGroup, tables: Tables, positions: Mapping[int, int], calls: Mapping[int, Call], surplus: int
) -> tuple[int, ...]:
    """Return the few ranks that alone have another size than the others on one side of an exchange.

    Put back to the size of the others, they must make up for the surplus of what is sent; where there is none, all
    must have had the size of the others whenever they made this call before.
    """
    for side, sign in ((0, 1), (1, -1)):
        shapes = {rank: (call.inputs, call.outputs)[side] for rank, call in calls.items()}
        ((usual, _),) = Counter(shapes.values()).most_common(1)
        odd = tuple(sorted(rank for rank, shape in shapes.items() if shape != usual))
        if not odd or 2 * len(odd) >= len(shapes):
            continue
        more = sum(_elements(shapes[rank]) - _elements(usual) for rank in odd)
        if surplus and more * sign == surplus:
            return odd
        if not surplus and _was_always(usual, side, group, tables, positions):
            return odd
    return ()


def _was_always(usual: Shape, side: int, group: ProcessGroup, tables: Tables, positions: Mapping[int, int]) -> bool:
    """Whether all earlier calls from the place of this one had the same shape, and there are some."""
    earlier = set()
    for rank, position in positions.items():
        track = group.tracks[rank]
        own = tables.calls[track.calls[position]].op
        for at in range(position):
            if track.places[at] == track.places[position]:
                call = tables.calls[track.calls[at]]
                earlier.add((call.inputs, call.outputs)[side] if call.op == own else ())
    return earlier == {usual}


def _named(group: ProcessGroup, sequence: int, positions: Mapping[int, int], odd: tuple[int, ...]) -> Problem:
    others = tuple(rank for rank in group.members if rank not in odd)
    right = others[0]
    return Problem(
        kind="shape",
        group=group,
        sequence=sequence,
        culprits=odd,
        others=others,
        shown=At(rank=odd[0], position=positions[odd[0]]),
        expected=At(rank=right, position=positions[right]),
        order=group.tracks[odd[0]].records[positions[odd[0]]],
    )


def _elements(shapes: Shape) -> int:
    return sum(math.prod(shape) for shape in shapes)
