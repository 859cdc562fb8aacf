"""Rules for sbatch scripts: tasks, nodes and GPUs against the command, and what the batch shell expands too early."""

from __future__ import annotations

import re
from collections.abc import Iterator

from distkb.evidence.readers.configs.item import UNKNOWN, Item, Part, number
from distkb.evidence.readers.configs.job import Hit, Job, Rule, command_size, hit, short
from distkb.evidence.readers.configs.rules_launch import TORCHRUN, gpu_count, is_many_nodes
from distkb.evidence.readers.configs.shell_file import DEFERRED

_PER_TASK = re.compile(rf"(?<!{DEFERRED})\$\{{?(SLURM_(?:PROCID|NODEID|LOCALID|TASK_PID))\b")
_OWN_NAME = re.compile(r"\$\((?:hostname|uname)\b|`hostname|\$\{?HOSTNAME\b|\$\{?SLURMD_NODENAME\b")
_AGENTS = TORCHRUN | {"accelerate", "deepspeed"}


def _of(part: Part, job: Job) -> list[Part]:
    return [command for command in job.of("command") if command.source is part.source]


def _srun(command: Part) -> Part | None:
    return next((wrapper for wrapper in command.wrappers if wrapper.name == "srun"), None)


def _nodes(part: Part) -> int | None:
    item = part.get("nodes")
    return None if item is None else number(str(item.value).partition("-")[2] or item.value)


def _per_node(part: Part) -> tuple[int | None, Item | None]:
    """Return the tasks per node that a set of options asks for, and the option that says so."""
    item = part.first("ntasks-per-node", "ntasks_per_node", "tasks-per-node", "tasks_per_node")
    if item is not None:
        return number(item.value), item
    total, nodes = part.get("ntasks"), _nodes(part)
    count = None if total is None else number(total.value)
    if total is None or count is None:
        return None, total
    return (count // nodes if nodes else count), total


def tasks(part: Part, job: Job) -> Iterator[Hit]:
    """Torchrun and accelerate launch are started once per node: they start the ranks themselves."""
    nodes = _nodes(part) or 1
    for command in _of(part, job):
        srun = _srun(command)
        if command.name not in _AGENTS or srun is None:
            continue
        own, item = _per_node(srun)
        if item is not None and own is None:
            continue
        if item is not None and srun.get("ntasks") is item and _nodes(srun) is None:
            own = -(-(own or 0) // nodes)
        if item is None:
            own, item = _per_node(part)
        size = command_size(command)
        if own is not None and own > 1 and size.per_node != 1:
            yield hit("config.sbatch-tasks-with-launcher", part, item, command.line, tasks=own, launcher=command.name)


def started(part: Part, job: Job) -> Iterator[Hit]:
    """Without srun, only the first node runs the command."""
    nodes, (per_node, item) = _nodes(part), _per_node(part)
    for command in _of(part, job):
        if command.wrappers or command.extra.get("inner"):
            continue
        many = command.name in TORCHRUN and is_many_nodes(command)
        many |= command.name == "accelerate" and (number(command.value("num_machines")) or 1) > 1
        if nodes is not None and nodes > 1 and many:
            yield hit("config.sbatch-without-srun", part, part.get("nodes"), command.line, nodes=nodes,
                      launcher=command.name)  # fmt: skip
        elif command.name == "python" and (per_node or 1) > 1:
            yield hit("config.sbatch-python-without-srun", part, item, command.line, tasks=per_node)


def counts(part: Part, job: Job) -> Iterator[Hit]:
    """Nodes and GPUs that the job asks for, against what the command starts."""
    nodes, gpus, gpu_item = _nodes(part), *_gpus(part)
    for command in _of(part, job):
        size = command_size(command)
        alone = command.get("nnodes") is None and _srun(command) is None
        if command.name in TORCHRUN and None not in {nodes, size.nodes} and size.nodes != nodes and not alone:
            yield hit("config.sbatch-nodes-differ", part, part.get("nodes"), command.get("nnodes") or command.line,
                          nodes=nodes, nnodes=size.nodes)  # fmt: skip
        per_node = size.per_node
        if command.name in TORCHRUN and command.get("nproc_per_node") is None:
            per_node = None
        if gpus is None or per_node is None:
            continue
        shown = command.first("nproc_per_node", "num_processes", "num_gpus") or command.line
        if per_node > gpus:
            yield hit("config.sbatch-too-few-gpus", part, gpu_item, shown, n=per_node, gpus=gpus)
        elif per_node < gpus:
            yield hit("config.sbatch-idle-gpus", part, gpu_item, shown, n=per_node, gpus=gpus)


def _gpus(part: Part) -> tuple[int | None, Item | None]:
    """Return the GPUs per node, and the option that says so."""
    for name in ("gpus-per-node", "gres"):
        item = part.get(name)
        if item is not None and (name != "gres" or "gpu" in str(item.value)):
            return gpu_count(item), item
    total, nodes = part.get("gpus"), _nodes(part) or 1
    count = gpu_count(total)
    return (None if count is None else count // nodes), total


def early(part: Part, job: Job) -> Iterator[Hit]:
    """What differs from task to task must be expanded by each task, not by the batch script."""
    for command in _of(part, job):
        srun = _srun(command)
        if srun is None:
            continue
        if not command.extra.get("inner"):
            for name, item in command.root.items():
                found = _PER_TASK.search(item.text)
                if found and item.value is UNKNOWN and not (name == "node_rank" and _needs_no_rank(command)):
                    yield hit("config.srun-expanded-early", part, item, variable=found[1],
                              flag="--" + name.replace("_", "-"))  # fmt: skip
        rank = command.get("node_rank") or command.get("machine_rank")
        nodes = _nodes(part)
        fixed = rank is not None and number(rank.value) is not None and not _needs_no_rank(command)
        if fixed and rank is not None and nodes is not None and nodes > 1:
            yield hit("config.srun-fixed-node-rank", part, rank, rank=rank.shown, nodes=nodes)
        inside: dict[str, Item] = command.extra.get("per_task", {})
        address = inside.get("MASTER_ADDR")
        if address is not None and _OWN_NAME.search(address.text) and (nodes or 1) > 1:
            yield hit("config.master-addr-own-name", part, address, value=short(address.text))


def _needs_no_rank(command: Part) -> bool:
    """Whether torchrun numbers the nodes by itself, as every rendezvous but the static one does."""
    backend = command.value("rdzv_backend")
    return command.name in TORCHRUN and backend not in (None, "static")


def plain_python(part: Part, job: Job) -> Iterator[Hit]:
    """`srun python` starts one process per task, so the tasks must be as many as the GPUs."""
    gpus, gpu_item = _gpus(part)
    lightning = job.of("lightning-trainer")
    for command in _of(part, job):
        srun = _srun(command)
        if command.name != "python" or srun is None or gpus is None or gpus < 2 or lightning:
            continue
        own, item = _per_node(srun)
        if item is None:
            own, item = _per_node(part)
        if (item is None or own == 1) and part.get("gpus-per-task") is None:
            yield hit("config.srun-one-task", part, gpu_item, command.line, gpus=gpus)


RULES = tuple(
    Rule(ids=ids, kinds=("sbatch",), check=check)
    for ids, check in (
        (("config.sbatch-tasks-with-launcher",), tasks),
        (("config.sbatch-without-srun", "config.sbatch-python-without-srun"), started),
        (("config.sbatch-nodes-differ", "config.sbatch-too-few-gpus", "config.sbatch-idle-gpus"), counts),
        (
            ("config.srun-expanded-early", "config.srun-fixed-node-rank", "config.master-addr-own-name"),
            early,
        ),
        (("config.srun-one-task",), plain_python),
    )
)
