"""Arguments of the command line that no launcher passes any more."""

from __future__ import annotations

from collections.abc import Iterator

from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import constant, last, shown

_DEMANDED = "script.local-rank-from-arguments"
_OTHERWISE = ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "deepspeed", "get_local_rank", "spawn",
              "local_process_index", "Process", "device_count", "HfArgumentParser")  # fmt: skip
"""Names of what gives the number in another way, or passes the argument."""


def demanded(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield `--local_rank` in the old spelling where the script has its local rank from nowhere else."""
    if not job.is_parallel or not job.mentions("--local_rank") or job.mentions("--local-rank", *_OTHERWISE):
        return
    for function, call in job.calls():
        names = [constant(one) for one in call.args]
        if last(call.func) == "add_argument" and "--local_rank" in names:
            yield hit(_DEMANDED, function, call, call=shown(call))


RULES = (ScriptRule(ids=(_DEMANDED,), check=demanded),)
