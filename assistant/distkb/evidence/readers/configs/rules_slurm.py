"""Rules for sbatch scripts: tasks, nodes and GPUs against the command, and what the batch shell expands too early."""

from __future__ import annotations

from collections.abc import Iterator

from distkb.evidence.readers.configs.corrections import FIRST_NODE, Draft
from distkb.evidence.readers.configs.item import ConfigPart, ConfigValue, number
from distkb.evidence.readers.configs.job import (
    ConfigContext,
    ConfigFinding,
    ConfigRule,
    command_size,
    hit,
    instead,
    short,
)
from distkb.evidence.readers.configs.launch_command import expansions, is_open
from distkb.evidence.readers.configs.placement import (
    AGENTS,
    TORCHRUN,
    asks_for_nodes,
    commands_of,
    nodes_of,
    srun_of,
    step_nodes,
    tasks_of_step,
    tasks_per_node,
)
from distkb.evidence.readers.configs.rules_launch import gpu_count, is_many_nodes
from distkb.evidence.readers.configs.rules_rendezvous import OWN_NAME
from distkb.evidence.readers.configs.rules_shell import needs_no_rank


def tasks(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """Torchrun and accelerate launch are started once per node: they start the ranks themselves."""
    for command in commands_of(part, job):
        if command.name not in AGENTS or srun_of(command) is None:
            continue
        own, item = tasks_of_step(command, part)
        if own is not None and own > 1 and command_size(command).per_node != 1:
            found = hit("config.sbatch-tasks-with-launcher", part, item, command.line, tasks=own,
                        launcher=command.name)  # fmt: skip
            yield instead(found, Draft(command).start_everywhere().text())


def started(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """Without srun, only the first node runs the command."""
    nodes, (per_node, item) = nodes_of(part), tasks_per_node(part)
    for command in commands_of(part, job):
        if command.wrappers or command.extra.get("inner"):
            continue
        asked = asks_for_nodes(command)
        many = command.name in TORCHRUN and is_many_nodes(command) and "standalone" not in command.root
        many |= command.name == "accelerate" and (asked or 1) > 1
        if nodes is not None and nodes > 1 and many:
            found = hit("config.sbatch-without-srun", part, part.get("nodes"), command.line, nodes=nodes,
                        launcher=command.name)  # fmt: skip
            yield instead(found, Draft(command).start_everywhere().text())
        elif command.name == "python" and (per_node or 1) > 1:
            lightning = job.of("lightning-trainer", "lightning-strategy")
            name = "config.lightning-without-srun" if lightning else "config.sbatch-python-without-srun"
            found = hit(name, part, item, command.line, tasks=per_node)
            yield instead(found, f"srun {Draft(command).text()}")


def counts(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """Nodes and GPUs that the job asks for, against what the command starts."""
    nodes, gpus, gpu_item = nodes_of(part), *gpus_of(part)
    for command in commands_of(part, job):
        yield from _nodes_differ(part, command, nodes)
        per_node = command_size(command).per_node
        if command.name in TORCHRUN and command.get("nproc_per_node") is None:
            per_node = None
        if gpus is None or per_node is None:
            continue
        shown = command.first("nproc_per_node", "num_processes", "num_gpus") or command.line
        if per_node > gpus:
            yield hit("config.sbatch-too-few-gpus", part, gpu_item, shown, n=per_node, gpus=gpus)
        elif per_node < gpus:
            yield hit("config.sbatch-idle-gpus", part, gpu_item, shown, n=per_node, gpus=gpus)


def _nodes_differ(part: ConfigPart, command: ConfigPart, nodes: int | None) -> Iterator[ConfigFinding]:
    """Compare the nodes that a launcher waits for with those on which it is started."""
    started_on, fewer = step_nodes(command, part)
    key = {"accelerate": "num_machines"}.get(command.name, "nnodes")
    asked, item = asks_for_nodes(command), command.get(key)
    srun = srun_of(command)
    if command.name not in TORCHRUN | {"accelerate"} or None in {nodes, started_on, asked} or asked == started_on:
        return
    if (item is None and (srun is None or command.name == "accelerate" or is_open(command))) or (
        "standalone" in command.root and item
    ):
        return
    if fewer is not None and asked == nodes:
        found = hit("config.step-smaller-than-job", part, fewer, item or command.line, command.line,
                    step=started_on, nodes=nodes, launcher=command.name)  # fmt: skip
        yield instead(found, Draft(command).start_everywhere().text())
        return
    draft = Draft(command) if fewer is None else Draft(command).start_everywhere()
    draft = draft.put(key, '"$SLURM_NNODES"')
    places = (part.get("nodes"), fewer, item, command.line)
    meets = any(command.get(name) for name in ("rdzv_endpoint", "master_addr")) and "standalone" not in command.root
    if asked == 1 and command.name in TORCHRUN and not is_open(command) and not meets:
        found = hit("config.sbatch-nodes-alone", part, *places, nodes=started_on, launcher=command.name)
        draft = draft.meet(FIRST_NODE)
    else:
        found = hit("config.sbatch-nodes-differ", part, *places, nodes=started_on, nnodes=asked)
    yield instead(found, draft.text())


def mpi(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """`mpirun` starts torchrun once for each of its processes, and each starts the ranks of a whole node."""
    del job
    wrapper = next((w for w in part.wrappers if w.name in ("mpirun", "mpiexec")), None)
    count, item = (None, None) if wrapper is None else (number(wrapper.value("np")), wrapper.get("np"))
    nodes = asks_for_nodes(part)
    if part.name not in AGENTS or count is None or item is None or command_size(part).per_node == 1:
        return
    if nodes is not None and count > nodes:
        found = hit("config.mpirun-tasks-with-launcher", part, item, part.line, tasks=count, launcher=part.name,
                    nodes=nodes)  # fmt: skip
        yield instead(found, Draft(part).once_per_node(nodes).text())


def gpus_of(part: ConfigPart) -> tuple[int | None, ConfigValue | None]:
    """Return the GPUs per node, and the option that says so."""
    for name in ("gpus-per-node", "gres"):
        item = part.get(name)
        if item is not None and (name != "gres" or "gpu" in str(item.value)):
            return gpu_count(item), item
    total, nodes = part.get("gpus"), nodes_of(part) or 1
    count = gpu_count(total)
    return (None if count is None else count // nodes), total


def fixed(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """All nodes run one command, so a node rank that is written in it is the same on all."""
    for command in commands_of(part, job):
        rank = command.get("node_rank") or command.get("machine_rank")
        nodes, _ = step_nodes(command, part)
        if srun_of(command) is None or nodes is None or nodes < 2:
            continue
        if rank is not None and number(rank.value) is not None and not needs_no_rank(command):
            by_accelerate = command.name == "accelerate"
            key = "machine_rank" if by_accelerate else "node_rank"
            identity = "config.accelerate-fixed-rank" if by_accelerate else "config.srun-fixed-node-rank"
            found = hit(identity, part, rank, command.line, rank=rank.shown, nodes=nodes)
            yield instead(found, Draft(command).per_task(**{key: "$SLURM_NODEID"}).text())
        inside: dict[str, ConfigValue] = command.extra.get("per_task", {})
        address = inside.get("MASTER_ADDR")
        own = any(OWN_NAME.search(p.text) for p in expansions(address) if p.scope == "task")
        if address is not None and own:
            yield hit("config.master-addr-own-name", part, address, value=short(address.text))


def plain_python(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """`srun python` starts one process per task, so the tasks must be as many as the GPUs."""
    gpus, gpu_item = gpus_of(part)
    lightning = job.of("lightning-trainer")
    for command in commands_of(part, job):
        srun = srun_of(command)
        if command.name != "python" or srun is None or gpus is None or gpus < 2 or lightning:
            continue
        own, item = tasks_of_step(command, part)
        if srun.get("ntasks") is None and (item is None or own == 1) and part.get("gpus-per-task") is None:
            yield hit("config.srun-one-task", part, gpu_item, command.line, gpus=gpus)


RULES = (
    *(
        ConfigRule(ids=ids, kinds=("sbatch",), check=check)
        for ids, check in (
            (("config.sbatch-tasks-with-launcher",), tasks),
            (
                (
                    "config.sbatch-without-srun",
                    "config.sbatch-python-without-srun",
                    "config.lightning-without-srun",
                ),
                started,
            ),
            (
                (
                    "config.sbatch-nodes-differ",
                    "config.sbatch-nodes-alone",
                    "config.step-smaller-than-job",
                    "config.sbatch-too-few-gpus",
                    "config.sbatch-idle-gpus",
                ),
                counts,
            ),
            (("config.srun-fixed-node-rank", "config.accelerate-fixed-rank", "config.master-addr-own-name"), fixed),
            (("config.srun-one-task",), plain_python),
        )
    ),
    ConfigRule(ids=("config.mpirun-tasks-with-launcher",), kinds=("command",), check=mpi),
)
