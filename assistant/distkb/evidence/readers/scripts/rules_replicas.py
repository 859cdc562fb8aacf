"""Samplers that are told a fixed rank or number of ranks, or the rank of a node where that of the job is meant."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import argument, keyword
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import meanings
from distkb.evidence.readers.scripts.names import canonical, constant, last, shown, words
from distkb.evidence.readers.scripts.ranks import environment

_FIXED, _LOCAL = "script.sampler-with-fixed-rank", "script.sampler-of-local-rank"
_WRAPS = ("DistributedDataParallel", "FullyShardedDataParallel", "fully_shard")
_EVALUATION = re.compile(r"(?i)val|test|eval|dev|infer|predict")
_WHOLE = re.compile(r"^(?:get_world_size|WORLD_SIZE|num_processes)$")
_OF_NODE = re.compile(r"^(?:LOCAL_RANK|local_process_index)$")


def fixed(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield samplers of training data whose `rank` is one number everywhere, or that of another place in the node."""
    for function, site in job.sites() if job.mentions(*_WRAPS) else ():
        call = site.node
        full = canonical(call.func, function.script)
        if last(call.func) != "DistributedSampler" or not full.startswith("torch.") or site.where.decided:
            continue
        if site.where.side != "both" or constant(keyword(call, "shuffle")) is False:
            continue
        if any(_EVALUATION.search(word) for word in (*words(call), function.name.rpartition(".")[2])):
            continue
        number = argument(call, "num_replicas", 1)
        rank = argument(call, "rank", 2)
        told = [("num_replicas", number), ("rank", rank)]
        same = [(name, one) for name, one in told if isinstance(constant(one), int)]
        if same and (constant(number) == 1 or constant(number) is None):
            name, value = same[0]
            yield hit(_FIXED, function, call, name=name, value=shown(value or call))
        elif _is(number, _WHOLE, function, job) and _is(rank, _OF_NODE, function, job):
            yield hit(_LOCAL, function, call, rank=shown(rank or call), number=shown(number or call))


def _is(node: ast.expr | None, named: re.Pattern[str], function: Function, job: ScriptContext) -> bool:
    """Whether all that a value may come from is a call, an attribute or a variable of the environment of a name."""
    found = list(meanings(node, function, job.project))
    return bool(found) and all(
        named.match(environment(value) or last(value.func if isinstance(value, ast.Call) else value))
        for value, _ in found
    )


RULES = (ScriptRule(ids=(_FIXED, _LOCAL), check=fixed),)
