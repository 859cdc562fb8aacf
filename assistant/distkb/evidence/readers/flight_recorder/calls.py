"""What one rank called: operation, shapes and dtypes; and whether two calls can be the same collective."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeVar

Shape = tuple[tuple[int, ...], ...]
Difference = Literal["op", "shape", "dtype"]
CALL_FIELDS = ("profiling_name", "input_sizes", "output_sizes", "input_dtypes", "output_dtypes")
"""Of an entry, what its call is made of."""
Lists = dict[tuple[Any, ...], Any]
"""What was made of lists, by their identity, for as long as they live: the entries of a dump may share them."""
_T = TypeVar("_T")

_PER_RANK_INPUTS = frozenset(("all_to_all", "all_to_allv", "all_to_all_v_single", "scatter", "all_gather_v", "send"))
"""Operations whose inputs may have another shape on every rank."""
_PER_RANK_OUTPUTS = frozenset(
    ("all_to_all", "all_to_allv", "all_to_all_v_single", "gather", "reduce_scatter_v", "recv")
)
_ROOT_FILLS_INPUTS = frozenset(("scatter",))
_ROOT_FILLS_OUTPUTS = frozenset(("gather",))
_GATHERS = frozenset(("all_gather", "all_gather_base", "_all_gather_base", "all_gather_into_tensor_coalesced"))
_SCATTERS = frozenset(("reduce_scatter", "_reduce_scatter_base", "reduce_scatter_tensor_coalesced"))
_FROM_ANYBODY = frozenset(("recvanysource", "recv_anysource", "recv_any_source"))
_MAX_TENSORS = 4096
_MAX_DIMENSIONS = 64
_PEERS = re.compile(r"(send|recv) (\d{1,9})(->|<-)(\d{1,9})")
_SYNCHRONIZING = frozenset(
    ("all_reduce", "allreduce_coalesced", "barrier", "all_reduce_barrier", "all_to_all", "reduce_scatter", "all_gather")
)


class Call(NamedTuple):
    """One kind of call: what must agree between the ranks, and nothing else."""

    op: str
    backend: str
    inputs: Shape
    outputs: Shape
    input_dtypes: tuple[str, ...]
    output_dtypes: tuple[str, ...]
    source: int = -1
    """Rank within the group that sends; -1 for collectives."""
    target: int = -1

    @property
    def is_end_of_group(self) -> bool:
        """Whether this entry stands for a whole coalesced group and ends it."""
        return self.op == "coalesced" or self.op.endswith("_coalesced")

    @property
    def is_from_anybody(self) -> bool:
        """Whether it receives from whichever rank sends first."""
        return self.op.lower() in _FROM_ANYBODY

    @property
    def synchronizes(self) -> bool:
        """Whether no rank can complete it before all have called it."""
        return self.op in _SYNCHRONIZING or self.op in _GATHERS or self.op in _SCATTERS

    def tensors(self) -> str:
        """Return shapes and dtypes as they are shown: `[1024, 64] Float`, in → out where they differ."""
        ins, outs = _tensors(self.inputs, self.input_dtypes), _tensors(self.outputs, self.output_dtypes)
        if not ins or not outs or ins == outs:
            return ins or outs or "-"
        return f"{ins} → {outs}"

    def dtypes(self) -> str:
        """Return the dtypes as they are shown."""
        names = list(dict.fromkeys((*self.input_dtypes, *self.output_dtypes)))
        return ", ".join(names[:4]) or "-"


def _tensors(shapes: Shape, dtypes: tuple[str, ...]) -> str:
    if not shapes:
        return ""
    text = str(list(shapes[0]))
    if shapes[0] != () and len(shapes) > 1 and all(shape == shapes[0] for shape in shapes):
        text = f"{len(shapes)} × {text}"
    elif len(shapes) > 1:
        text += f", … ({len(shapes)})"
    return f"{text} {dtypes[0]}" if dtypes else text


def parse_call(entry: dict[str, Any], known: Lists | None = None) -> Call:
    """Return the call of an entry; whatever is missing or of another type counts as not recorded."""
    known = {} if known is None else known
    name = entry.get("profiling_name")
    name = name[:200] if isinstance(name, str) else ""
    backend, _, op = name.rpartition(":")
    source = target = -1
    peers = _PEERS.match(op)
    if peers is not None:
        op = peers[1]
        source, target = int(peers[2]), int(peers[4])
        if peers[3] == "<-":
            source, target = target, source
    call = Call(
        op=op or "?",
        backend=backend or "?",
        inputs=once(_shapes, entry.get("input_sizes"), known),
        outputs=once(_shapes, entry.get("output_sizes"), known),
        input_dtypes=once(_names, entry.get("input_dtypes"), known),
        output_dtypes=once(_names, entry.get("output_dtypes"), known),
        source=source,
        target=target,
    )
    return _turned(call) if op == "scatter" else call


def _turned(call: Call) -> Call:
    """Return a scatter with the list of its root as the input: ProcessGroupNCCL records it the other way round."""
    is_list = len(call.outputs) > 1
    if len(call.inputs) != 1 or _is_void(call.inputs) or not (is_list or _is_void(call.outputs)):
        return call
    return call._replace(
        inputs=call.outputs,
        outputs=call.inputs,
        input_dtypes=call.output_dtypes,
        output_dtypes=call.input_dtypes,
    )


def once(make: Callable[[Any], _T], value: Any, known: Lists) -> _T:
    """Return what is made of a value; of a list that was met before, what was made of it then."""
    if not isinstance(value, list | tuple):
        return make(value)
    key = (make.__name__, id(value))
    if key not in known:
        known[key] = make(value)
    made: _T = known[key]
    return made


def _shapes(value: Any) -> Shape:
    if not isinstance(value, (list, tuple)):
        return ()
    return tuple(
        tuple(size for size in shape[:_MAX_DIMENSIONS] if type(size) is int)
        for shape in value[:_MAX_TENSORS]
        if isinstance(shape, (list, tuple))
    )


def _names(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = (value,) if value else ()
    if not isinstance(value, (list, tuple)):
        return ()
    return tuple(dict.fromkeys(name[:40] for name in value[:_MAX_TENSORS] if isinstance(name, str)))


def difference(one: Call, other: Call, members: int) -> Difference | None:
    """Return in what two calls with one sequence number differ so that they cannot be one collective.

    `members` is the size of the group, 0 where it is unknown. The rules of what must agree are those of the
    operations: all_to_all may have other shapes on every rank, only the root of a gather has outputs.
    """
    if one.op != other.op:
        return "op"
    if one.op not in _PER_RANK_INPUTS and one.inputs != other.inputs:
        return "shape"
    if one.op not in _PER_RANK_OUTPUTS and one.outputs != other.outputs:
        return "shape"
    if members and (_wrong_size(one, members) != _wrong_size(other, members)):
        return "shape"
    return "dtype" if _dtypes_differ(one, other) else None


def _is_void(shapes: Shape) -> bool:
    """Whether no tensor is there that holds anything."""
    return all(0 in shape for shape in shapes)


def _wrong_size(call: Call, members: int) -> bool:
    """Whether what is gathered is not as large as the parts together."""
    if len(call.inputs) != 1 or len(call.outputs) != 1:
        return False
    whole, part = math.prod(call.outputs[0]), math.prod(call.inputs[0])
    if call.op in _GATHERS:
        return whole != part * members
    return call.op in _SCATTERS and part != whole * members


def _dtypes_differ(one: Call, other: Call) -> bool:
    """Whether dtypes differ where both have a tensor: the root alone fills what it sends or collects."""
    inputs = one.op not in _ROOT_FILLS_INPUTS and not (_is_void(one.inputs) or _is_void(other.inputs))
    outputs = one.op not in _ROOT_FILLS_OUTPUTS and not (_is_void(one.outputs) or _is_void(other.outputs))
    return (inputs and set(one.input_dtypes) != set(other.input_dtypes)) or (
        outputs and set(one.output_dtypes) != set(other.output_dtypes)
    )
