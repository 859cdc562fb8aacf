"""Where a command runs: the job that it belongs to, how many nodes and tasks that gives it, and what it asks for."""

from __future__ import annotations

from distkb.evidence.readers.configs.item import ConfigPart, ConfigValue, number
from distkb.evidence.readers.configs.job import ConfigContext, command_size

TORCHRUN = frozenset({"torchrun", "torch.distributed.launch"})
AGENTS = TORCHRUN | {"accelerate", "deepspeed"}
"""Launchers that start the ranks of a node themselves."""


def commands_of(part: ConfigPart, job: ConfigContext) -> list[ConfigPart]:
    """Return the commands of the script that an sbatch part heads."""
    return [
        command
        for command in job.of("command")
        if command.source is part.source and command.extra.get("script") == part.extra.get("script")
    ]


def allocation_of(command: ConfigPart, job: ConfigContext) -> ConfigPart | None:
    """Return the options of the Slurm job that a command runs in."""
    return next((part for part in job.of("sbatch") if command in commands_of(part, job)), None)


def srun_of(command: ConfigPart) -> ConfigPart | None:
    """Return the `srun` that starts a command."""
    return next((wrapper for wrapper in command.wrappers if wrapper.name == "srun"), None)


def nodes_of(part: ConfigPart) -> int | None:
    """Return the nodes that a job asks for, the most where it names a range."""
    item = part.get("nodes")
    return None if item is None else number(str(item.value).partition("-")[2] or item.value)


def step_nodes(command: ConfigPart, allocation: ConfigPart | None) -> tuple[int | None, ConfigValue | None]:
    """Return the nodes on which a command is started, and the option that makes them fewer than the job's."""
    nodes = nodes_of(allocation) if allocation is not None else None
    srun = srun_of(command)
    if srun is None:
        return nodes, None
    own = srun.get("nodes")
    if own is not None:
        return number(str(own.value).partition("-")[2] or own.value), own
    tasks = srun.get("ntasks")
    count = None if tasks is None else number(tasks.value)
    if nodes is not None and count is not None and count < nodes:
        return count, tasks
    return nodes, None


def tasks_per_node(part: ConfigPart) -> tuple[int | None, ConfigValue | None]:
    """Return the tasks per node that a set of options asks for, and the option that says so."""
    item = part.first("ntasks-per-node", "ntasks_per_node", "tasks-per-node", "tasks_per_node")
    if item is not None:
        return number(item.value), item
    total, nodes = part.get("ntasks"), nodes_of(part)
    count = None if total is None else number(total.value)
    if total is None or count is None:
        return None, total
    return (-(-count // nodes) if nodes else count), total


def tasks_of_step(command: ConfigPart, allocation: ConfigPart | None) -> tuple[int | None, ConfigValue | None]:
    """Return how many times on each node `srun` starts a command, and the option that says so.

    Where the job says how many tasks it has, srun takes that number and ignores a `--ntasks-per-node` of its own.
    """
    srun = srun_of(command)
    if srun is None:
        return None, None
    nodes, _ = step_nodes(command, allocation)
    total = srun.get("ntasks")
    if total is not None:
        count = number(total.value)
        return None if count is None else -(-count // (nodes or 1)), total
    of_job = tasks_per_node(allocation) if allocation is not None else (None, None)
    return of_job if of_job[0] is not None else tasks_per_node(srun)


def total_tasks(command: ConfigPart, allocation: ConfigPart | None) -> int | None:
    """Return how many times `srun` starts a command in all."""
    srun = srun_of(command)
    if srun is None or allocation is None:
        return None
    total = srun.first("ntasks") or allocation.first("ntasks")
    if total is not None:
        return number(total.value)
    (each, _), (nodes, _) = tasks_of_step(command, allocation), step_nodes(command, allocation)
    return None if each is None or nodes is None else each * nodes


def asks_for_nodes(command: ConfigPart) -> int | None:
    """Return the nodes that a launcher waits for; None where it does not say."""
    item = command.get("nnodes")
    if item is not None and isinstance(item.value, str) and ":" in item.value:
        return number(item.value.rpartition(":")[2])
    if command.name == "deepspeed" and "hostfile" in command.root and "num_nodes" not in command.root:
        return 2
    return command_size(command).nodes


def is_on_several(command: ConfigPart, job: ConfigContext) -> bool:
    """Whether a command certainly runs on several nodes together."""
    asked = asks_for_nodes(command)
    if command.name in AGENTS and asked is not None and not (asked == 1 and command.get("nnodes") is None):
        return asked > 1
    if command.name == "accelerate" and asked is None and command.get("num_machines") is None:
        return False
    if command.name == "torchrun" and command.get("nnodes") is None:
        return False
    nodes, _ = step_nodes(command, allocation_of(command, job))
    return srun_of(command) is not None and nodes is not None and nodes > 1
