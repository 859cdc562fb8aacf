"""Rules for jobs that one script starts side by side on one machine: they cannot share a port."""

from __future__ import annotations

import re
from collections.abc import Iterator

from distkb.evidence.readers.configs.item import UNKNOWN, ConfigPart, ConfigValue, number
from distkb.evidence.readers.configs.job import ConfigContext, ConfigFinding, ConfigRule, command_size, hit
from distkb.evidence.readers.configs.launch_command import is_open
from distkb.evidence.readers.configs.placement import AGENTS, TORCHRUN, asks_for_nodes

_USUAL = 29500
"""The port that torchrun, Accelerate and DeepSpeed take unless told (torch 2, accelerate 1, deepspeed 0)."""
_OPTIONS = {"accelerate": "main_process_port"}
_WAITS = re.compile(r"(?:^|[;&\s])wait\b")
_DONE = re.compile(r"done\b")


def shared(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """Two jobs that run at once, or a loop that starts one after the other in the background, on one port."""
    if not part.extra.get("background"):
        return
    port, item = _port(part)
    if port is None:
        return
    if part.extra.get("loop") and not _waits_in_loop(part):
        yield hit("config.port-for-two-jobs", part, item or part.line, port=port, launcher=part.name, other=part.line)
        return
    for other in job.of("command"):
        same = other.source is part.source and other.extra.get("script") == part.extra.get("script")
        if same and other.line > part.line and other.extra["waits"] == part.extra["waits"] and _port(other)[0] == port:
            lines = (item or part.line, _port(other)[1] or other.line)
            yield hit("config.port-for-two-jobs", part, *lines, port=port, launcher=part.name, other=other.line)
            return


def _port(part: ConfigPart) -> tuple[int | None, ConfigValue | None]:
    """Return the port on which a job of one machine surely meets, and the option that says so."""
    name = _OPTIONS.get(part.name, "master_port")
    item, endpoint = part.get(name), part.get("rdzv_endpoint")
    several = (asks_for_nodes(part) or 1) > 1 or part.value("nnodes") is UNKNOWN or "hostfile" in part.root
    if part.name not in AGENTS or part.wrappers or "standalone" in part.root or is_open(part) or several:
        return None, None
    if part.name == "accelerate" and (command_size(part).processes in {None, 1} or "config_file" in part.root):
        return None, None
    if part.extra.get("chained") or part.extra["assigned"].get("MASTER_PORT") is not None:
        return None, None
    if part.name in TORCHRUN and part.value("rdzv_backend") not in (None, "static"):
        item = endpoint
    if item is None:
        return _USUAL, None
    port = number(str(item.value).rpartition(":")[2]) if item.value is not UNKNOWN else None
    return port or None, item


def _waits_in_loop(part: ConfigPart) -> bool:
    for line in part.source.lines[part.line - 1 :]:
        if _WAITS.search(line):
            return True
        if _DONE.match(line.lstrip()):
            return False
    return True


RULES = (ConfigRule(ids=("config.port-for-two-jobs",), kinds=("command",), check=shared),)
