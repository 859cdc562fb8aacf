"""What every rank does to one thing that only one of them should: directories that are cleared, trackers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import arguments, keyword
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, shown, words

_CLEARED, _TRACKED = "script.cleared-by-every-rank", "script.tracker-on-every-rank"
_OWN = re.compile(r"(?i)rank|main|master|primary|chief|leader|\bgpu\b|gpu_id|process|worker|temp|tmp|host|node|device")
_TRACKERS = frozenset({"wandb.init", "mlflow.start_run", "neptune.init_run", "comet_ml.Experiment", "aim.Run",
                       "swanlab.init", "clearml.Task.init", "torch.utils.tensorboard.SummaryWriter",
                       "torch.utils.tensorboard.writer.SummaryWriter", "tensorboardX.SummaryWriter"})  # fmt: skip
_APART = frozenset({"rank", "part", "clock", "chance", "machine"})
_DEPTH = 4


def cleared(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield directories that every rank deletes, whatever the others have put there meanwhile."""
    for function, site in job.sites() if job.is_parallel and job.mentions("rmtree") else ():
        call = site.node
        if canonical(call.func, function.script) != "shutil.rmtree" or not call.args:
            continue
        if constant(keyword(call, "ignore_errors")) is True or not _is_every_ranks(site, function, job, 0):
            continue
        if not _speaks_of_ranks(call.args[0], function, job):
            yield hit(_CLEARED, function, call, call=shown(call), path=shown(call.args[0]))


def _is_every_ranks(site: Site, function: Function, job: ScriptContext, depth: int) -> bool:
    """Whether all ranks come to a call, through whichever functions call it."""
    tests = {word for test in site.where.tests for word in words(test)} - {"__name__", "__main__"}
    if site.where.side != "both" or any(_OWN.search(word) for word in tests):
        return False
    if job.origins.depends(site.where.tests, function, "rank"):
        return False
    if isinstance(function.node, ast.Module):
        return True
    callers = job.project.callers(function)
    if not callers:
        return function.name == "main" or _sets_up(function, job)
    return depth < _DEPTH and all(_is_every_ranks(one, caller, job, depth + 1) for caller, one in callers)


def _sets_up(function: Function, job: ScriptContext) -> bool:
    return any(
        canonical(site.node.func, function.script).rpartition(".")[2]
        in {"init_process_group", "Accelerator", "get_rank"}
        for site in job.project.walk(function).sites
    )


def _speaks_of_ranks(path: ast.expr, function: Function, job: ScriptContext) -> bool:
    value = job.project.single(path, function)
    mentioned = words(path) | (set() if value is None else words(value))
    if any(_OWN.search(word) for word in mentioned):
        return True
    return job.origins.depends([path], function, *_APART)


def tracked(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield runs of a tracker that every rank begins, each for itself."""
    if not job.mentions("init_process_group", "DistributedDataParallel", "Accelerator"):
        return
    for function, site in job.sites():
        call = site.node
        if canonical(call.func, function.script) not in _TRACKERS or _is_told_apart(call):
            continue
        if _is_every_ranks(site, function, job, 0) and not job.origins.depends(arguments(call), function, "rank"):
            yield hit(_TRACKED, function, call, call=shown(call.func))


def _is_told_apart(call: ast.Call) -> bool:
    """Whether the run is one of a group, or is switched off by what is given."""
    return any(word.arg in {None, "group", "mode", "settings", "disabled"} for word in call.keywords)


RULES = (
    ScriptRule(ids=(_CLEARED,), check=cleared),
    ScriptRule(ids=(_TRACKED,), check=tracked),
)
