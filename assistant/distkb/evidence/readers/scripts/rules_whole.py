"""Data sets that every rank reads into its memory as a whole."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import keyword
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, last, shown

_WHOLE = "script.data-in-memory"
_READS = re.compile(
    r"^(?:numpy\.(?:load|loadtxt|genfromtxt|fromfile)|pandas\.read_\w+|polars\.read_\w+|pyarrow\.parquet\.read_table"
    r"|pickle\.load|json\.load|torch\.load|scipy\.io\.loadmat)$"
)
_MAPS = ("mmap_mode", "mmap", "chunksize", "iterator", "memory_map")
"""Arguments by which a file is not read at once."""
_LINES = frozenset({"readlines", "read_text", "read_bytes"})


def in_memory(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield what the constructor of a data set reads at once, on every rank."""
    for function in job.project.functions:
        owner = function.owner
        if owner is None or owner.methods.get("__init__") is not function or "__getitem__" not in owner.methods:
            continue
        for site in job.project.walk(function).sites:
            if _reads_all(site.node, canonical(site.node.func, function.script)):
                yield hit(_WHOLE, function, site.node, call=shown(site.node.func))
                break


def _reads_all(call: ast.Call, full: str) -> bool:
    if last(call.func) in _LINES:
        return True
    given = (keyword(call, name) for name in _MAPS)
    mapped = any(value is not None and constant(value) is not None for value in given)
    return _READS.match(full) is not None and not mapped


RULES = (ScriptRule(ids=(_WHOLE,), check=in_memory),)
