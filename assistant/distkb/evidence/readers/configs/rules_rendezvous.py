"""Rules for where the ranks meet: the address and the id that every node has to be given alike."""

from __future__ import annotations

import re
from collections.abc import Iterator

from distkb.evidence.readers.configs.corrections import ASKED_NODE, FIRST_NODE, Draft
from distkb.evidence.readers.configs.item import UNKNOWN, ConfigPart
from distkb.evidence.readers.configs.job import ConfigContext, ConfigFinding, ConfigRule, hit, instead, short
from distkb.evidence.readers.configs.launch_command import assigned, expansions, is_open
from distkb.evidence.readers.configs.placement import TORCHRUN, allocation_of, asks_for_nodes, is_on_several

OWN_NAME = re.compile(
    r"\$\(\s*(?:hostname|uname|hostid|ip |ifconfig)\b|`\s*(?:hostname|uname)|\$\{?(?:HOSTNAME|SLURMD_NODENAME|HOST)\b"
)
_LOOPBACK = re.compile(r"(?i)(?:\w{1,20}://)?(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?|0\.0\.0\.0)(?::\d{0,9})?")
_NODELIST = re.compile(r"\$\{?SLURM_(?:JOB_|STEP_)?NODELIST\}?")
_CHANGES = re.compile(
    r"\$\{?(?:RANDOM|SRANDOM|SECONDS|EPOCHSECONDS|SLURM_(?:PROCID|NODEID|LOCALID|TASK_PID))\b|\$\$|\$\(\s*(?:date|uuidgen|mktemp|hostname|shuf)\b"
)
_SHARED = frozenset({"etcd", "etcd-v2"})
_ENDPOINT = {
    "torchrun": ("rdzv_endpoint", "master_addr"), "torch.distributed.launch": ("rdzv_endpoint", "master_addr"),
    "accelerate": ("main_process_ip",), "deepspeed": ("master_addr",),
}  # fmt: skip


def _node(part: ConfigPart, job: ConfigContext) -> str:
    return ASKED_NODE if allocation_of(part, job) is None and not part.wrappers else FIRST_NODE


def meeting(part: ConfigPart, job: ConfigContext) -> Draft:
    """Return the command with an address at which all nodes can meet."""
    node, draft = _node(part, job), Draft(part)
    static = part.name in TORCHRUN and part.value("rdzv_backend") in (None, "static")
    if part.name in TORCHRUN and not (static and "node_rank" in part.root):
        return draft.meet(node)
    key = {"accelerate": "main_process_ip"}.get(part.name, "master_addr")
    return draft.drop("rdzv_endpoint").put(key, f'"{node}"')


def loopback(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """Localhost is another machine on every node."""
    if not is_on_several(part, job):
        return
    for name in _ENDPOINT.get(part.name, ()):
        item = part.get(name)
        if item is not None and _LOOPBACK.fullmatch(str(item.value)):
            identity = "config.loopback-endpoint" if name == "rdzv_endpoint" else "config.loopback-master"
            found = hit(identity, part, item, part.line, flag="--" + name.replace("_", "-"), value=short(item.shown))
            yield instead(found, meeting(part, job).text())
    master = assigned(part).get("MASTER_ADDR")
    if part.name == "python" and master is not None and _LOOPBACK.fullmatch(str(master.value)):
        found = hit("config.loopback-master", part, master, part.line, flag="MASTER_ADDR", value=short(master.shown))
        yield instead(found, Draft(part).with_variable("MASTER_ADDR", FIRST_NODE))


def is_started_on_each(part: ConfigPart, job: ConfigContext) -> bool:
    """Whether a script starts one node of several, so that it must be run on each of them as it is."""
    rank = part.get("node_rank") or part.get("machine_rank")
    if part.wrappers or part.extra.get("inner") or part.extra.get("block") or allocation_of(part, job) is not None:
        return False
    if rank is not None and rank.value is not UNKNOWN:
        return False
    asked, item = asks_for_nodes(part), part.first("nnodes", "num_machines")
    by_slurm = item is not None and any("SLURM" in p.text for p in expansions(item))
    return (asked or 1) > 1 or (by_slurm and item is not None and item.value is UNKNOWN)


def own_name(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """A name that each task asks its own machine for differs from node to node; a list of nodes is no name."""
    by_hand = is_started_on_each(part, job)
    if not by_hand and not is_on_several(part, job):
        return
    for name in _ENDPOINT.get(part.name, ()):
        item = part.get(name)
        if item is None:
            continue
        flag = "--" + name.replace("_", "-")
        own = next((p for p in expansions(item) if (by_hand or p.scope == "task") and OWN_NAME.search(p.text)), None)
        listed = next((p for p in expansions(item) if _NODELIST.fullmatch(p.text)), None)
        if own is not None and "MASTER_ADDR" not in part.extra.get("per_task", {}):
            found = hit("config.endpoint-own-name", part, item, part.line, flag=flag, value=short(item.shown))
            yield instead(found, meeting(part, job).text())
        elif listed is not None:
            found = hit("config.endpoint-nodelist", part, item, part.line, flag=flag, value=short(listed.text))
            yield instead(found, meeting(part, job).text())
    master = assigned(part).get("MASTER_ADDR")
    if part.name == "python" and any(_NODELIST.fullmatch(p.text) for p in expansions(master)):
        found = hit("config.endpoint-nodelist", part, master, part.line, flag="MASTER_ADDR",
                    value=short(master.shown if master else ""))  # fmt: skip
        yield instead(found, Draft(part).with_variable("MASTER_ADDR", FIRST_NODE))


def identity(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """All nodes join under one id, and no other job does."""
    if part.name not in TORCHRUN or "standalone" in part.root or not is_on_several(part, job):
        return
    backend, item = part.value("rdzv_backend"), part.get("rdzv_id")
    if backend in (None, "static"):
        return
    if item is not None:
        own = next((p for p in expansions(item) if p.scope == "task" and _CHANGES.search(p.text)), None)
        if own is not None:
            job_id = '"$SLURM_JOB_ID"' if _node(part, job) == FIRST_NODE else "run1"
            found = hit("config.rdzv-id-per-task", part, item, part.line, value=short(item.shown))
            yield instead(found, Draft(part).put("rdzv_id", job_id).text())
    elif (
        not is_open(part)
        and "PET_RDZV_ID" not in assigned(part)
        and "PET_RDZV_ID" not in part.extra.get("per_task", {})
    ):
        name = "config.torchrun-no-rdzv-id-shared" if backend in _SHARED else "config.torchrun-no-rdzv-id"
        job_id = '"$SLURM_JOB_ID"' if _node(part, job) == FIRST_NODE else "run1"
        yield instead(hit(name, part, part.get("rdzv_backend"), part.line, backend=short(backend)),
                      Draft(part).put("rdzv_id", job_id).text())  # fmt: skip


RULES = tuple(
    ConfigRule(ids=ids, kinds=("command",), check=check)
    for ids, check in (
        (("config.loopback-endpoint", "config.loopback-master"), loopback),
        (("config.endpoint-own-name", "config.endpoint-nodelist"), own_name),
        (
            ("config.rdzv-id-per-task", "config.torchrun-no-rdzv-id", "config.torchrun-no-rdzv-id-shared"),
            identity,
        ),
    )
)
