"""Downloads that every rank makes for itself, and locks of files that outlive the process which made them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import argument, keyword
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import setting
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last, shown, walk, words
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.ranks import environment

_CACHE, _AGAIN, _LOCK = "script.cache-of-each-rank", "script.downloaded-by-each-rank", "script.lock-outlives-process"
_HUB = frozenset({"snapshot_download", "hf_hub_download", "load_dataset", "from_pretrained"})
_FOLDERS = ("cache_dir", "local_dir")
_VARIABLES = frozenset({"HF_HOME", "HF_HUB_CACHE", "HF_DATASETS_CACHE", "HUGGINGFACE_HUB_CACHE", "TRANSFORMERS_CACHE"})
_NODE = re.compile(r"(?i)node|group_rank|host|machine")
_LIMITS = re.compile(r"(?i)mtime|monotonic|timeout|deadline|perf_counter|getpid|pid|age|stale|attempts|retries")


def of_each_rank(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield downloads from the hub into a folder of the rank's own, so that every rank makes the whole download."""
    for function, site in job.sites() if job.mentions(*_HUB) else ():
        call = site.node
        if last(call.func) not in _HUB or site.where.side != "both" or job.project.target(call, function) is not None:
            continue
        for folder in (setting(call, name, function, job.project) for name in _FOLDERS):
            if folder is not None and _is_of_rank(folder, function, job):
                yield hit(_CACHE, function, call, call=shown(call.func), folder=shown(folder))
                break
        forced = constant(keyword(call, "force_download")) is True
        forced = forced or constant(keyword(call, "download_mode")) == "force_redownload"
        if forced and job.is_parallel:
            yield hit(_AGAIN, function, call, call=shown(call.func))
    for function in job.project.functions if job.mentions(*_VARIABLES) and job.mentions(*_HUB) else ():
        for node in walk(function.node):
            name = environment(node.targets[0]) if isinstance(node, ast.Assign) else ""
            if isinstance(node, ast.Assign) and name in _VARIABLES and _is_of_rank(node.value, function, job):
                yield hit(_CACHE, function, node, call=name, folder=shown(node.value))


def _is_of_rank(folder: ast.expr, function: Function, job: ScriptContext) -> bool:
    """Whether a folder's name depends on the rank, and not only on the node."""
    reasons = [reason for reason in job.origins.of(folder, function) if reason.origin == "rank"]
    return any(not isinstance(r.node, ast.expr) or not any(map(_NODE.search, words(r.node))) for r in reasons)


def outlives(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield locks that are nothing but a file's being there, for which others wait without an end."""
    for function, site in job.sites():
        call = site.node
        full = canonical(call.func, function.script)
        if (full == "filelock.SoftFileLock" and keyword(call, "timeout") is None and len(call.args) < 2) or (
            _creates_alone(call, full) and _waits(site, function) and not _gives_up(function)
        ):
            yield hit(_LOCK, function, call, lock=shown(call))


def _creates_alone(call: ast.Call, full: str) -> bool:
    """Whether a call makes a file only where there is none."""
    if full == "os.open":
        return any("O_EXCL" in words(one) for one in call.args[1:])
    mode = argument(call, "mode", 1)
    if full == "open":
        return str(constant(mode)).startswith("x")
    return (
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "touch"
        and constant(keyword(call, "exist_ok")) is False
    )


def _waits(site: Site, function: Function) -> bool:
    """Whether a call is tried again and again in a loop that sleeps."""
    loop = next((one for one in reversed(site.where.loops) if isinstance(one, ast.While)), None)
    calls = [part for part in nodes(loop) if isinstance(part, ast.Call)] if loop is not None else []
    return any(canonical(call.func, function.script) == "time.sleep" for call in calls)


def _gives_up(function: Function) -> bool:
    """Whether a function asks how long it has waited, or who holds the lock."""
    named = {word for word in words(function.node) if _LIMITS.search(word)}
    return bool(named) or any(dotted(part) == "time.time" for part in nodes(function.node))


RULES = (
    ScriptRule(ids=(_CACHE, _AGAIN), check=of_each_rank),
    ScriptRule(ids=(_LOCK,), check=outlives),
)
