"""Rules for launchers on several machines: each has a rank of its own, knows the others, and uses all its GPUs."""

from __future__ import annotations

from collections.abc import Iterator

from distkb.evidence.readers.configs.corrections import Draft
from distkb.evidence.readers.configs.item import UNKNOWN, ConfigPart, ConfigValue
from distkb.evidence.readers.configs.job import (
    ConfigContext,
    ConfigFinding,
    ConfigRule,
    Size,
    accelerate_size,
    also,
    command_size,
    hit,
    instead,
)
from distkb.evidence.readers.configs.launch_command import assigned, is_open
from distkb.evidence.readers.configs.placement import AGENTS, allocation_of, srun_of, step_nodes, total_tasks
from distkb.evidence.readers.configs.rules_slurm import gpus_of

_FANS = frozenset({"pdsh", "clush"})
"""Commands that run one command on many machines."""
_MODES = ("multi_gpu", "use_fsdp", "use_deepspeed", "cpu", "tpu", "num_processes")
_LASTS_NOT = frozenset({"cd", "source", ".", "export", "conda", "mamba", "module", "ulimit", "set", "unset", "pushd"})
"""Commands that change nothing but the shell that runs them."""


def same_rank(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """One `accelerate launch` for all machines must tell each of them its rank."""
    if part.name != "accelerate" or part.get("machine_rank") is not None or is_open(part):
        return
    files = job.of("accelerate")
    size = _size(part, files)
    by_ssh = any(_starts_others(file) for file in files) or "use_deepspeed" in part.root
    if len(files) > 1 or (size.nodes or 1) < 2 or by_ssh or not _reaches_several(part, job):
        return
    # Only the static rendezvous, which is the default, goes by the rank of a machine.
    if any(one.value("rdzv_backend") not in {None, "static"} for one in (part, *files)):
        return
    found = hit("config.accelerate-one-rank-for-all", part, part.line, machines=size.nodes,
                starts=part.wrappers[0].name)  # fmt: skip
    if files:
        found = also(found, files[0], files[0].get("machine_rank"))
    yield instead(found, Draft(part).per_task(machine_rank="$SLURM_NODEID").text()) if srun_of(part) else found


def _starts_others(file: ConfigPart) -> bool:
    """Whether Accelerate reaches the other machines itself, through DeepSpeed's launcher."""
    launcher = file.value("deepspeed_config", "deepspeed_multinode_launcher")
    return bool(file.value("distributed_type") == "DEEPSPEED" and launcher != "standard")


def _size(command: ConfigPart, files: list[ConfigPart]) -> Size:
    """Return the size that `accelerate launch` asks for: by its options, else by its file."""
    own, file = command_size(command), accelerate_size(files[0]) if len(files) == 1 else Size()
    nodes = own.nodes if command.get("num_machines") is not None else file.nodes
    processes = own.processes if command.get("num_processes") is not None else file.processes
    return Size(processes=processes, nodes=nodes, per_node=processes // nodes if processes and nodes else None)


def _reaches_several(part: ConfigPart, job: ConfigContext) -> bool:
    """Whether one command, as it is written, is run on more than one machine."""
    names = {wrapper.name for wrapper in part.wrappers}
    if names & _FANS:
        return True
    if "ssh" in names:
        twins = [one for one in job.of("command") if one.name == part.name and one.source is part.source]
        return bool(part.extra.get("loop")) or len([one for one in twins if one.get("machine_rank") is None]) > 1
    nodes, _ = step_nodes(part, allocation_of(part, job))
    return srun_of(part) is not None and nodes is not None and nodes > 1


def idle(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """Accelerate starts what it is told in all, on however many GPUs the job has."""
    files = job.of("accelerate")
    allocation = allocation_of(part, job)
    if part.name != "accelerate" or len(files) != 1 or is_open(part):
        return
    file, size = files[0], _size(part, files)
    gpus, gpu_item = gpus_of(allocation) if allocation is not None else _visible(part)
    if gpus is None or gpus < 2:
        return
    kind = file.value("distributed_type")
    if kind in ("NO", False) and not any(name in part.root for name in _MODES):
        found = hit("config.accelerate-alone-on-gpus", file, file.get("distributed_type"), gpus=gpus)
        yield also(found, allocation or part, gpu_item)
    elif kind in {"MULTI_GPU", "FSDP", "DEEPSPEED"} and part.get("num_processes") is None:
        per_node = size.per_node
        if per_node is not None and per_node < gpus and file.value("gpu_ids") in (None, "all"):
            machines = size.nodes or 1
            found = hit("config.accelerate-idle-gpus", file, file.get("num_processes"), n=size.processes,
                        machines=machines, per_machine=per_node, gpus=gpus, total=gpus * machines)  # fmt: skip
            yield also(found, allocation or part, gpu_item)


def _visible(part: ConfigPart) -> tuple[int | None, ConfigValue | None]:
    shows = assigned(part).get("CUDA_VISIBLE_DEVICES")
    if shows is None or shows.value is UNKNOWN:
        return None, None
    return len([word for word in str(shows.value).split(",") if word.strip()]), shows


def everywhere(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """DeepSpeed's launcher goes to the hosts itself; started on each of them it starts every rank several times."""
    if part.name != "deepspeed" or "no_ssh" in part.root or is_open(part) or part.value("num_nodes") in (1, "1"):
        return
    tasks = total_tasks(part, allocation_of(part, job))
    if srun_of(part) is not None and (tasks or 1) > 1:
        yield instead(hit("config.deepspeed-under-srun", part, part.line, tasks=tasks), Draft(part, frees=False).text())


def unread_hosts(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """DeepSpeed's launcher looks at /job/hostfile, not at the file that lies beside the script."""
    hosts = [line for line in part.source.lines if "slots" in line and not line.lstrip().startswith("#")]
    for command in job.of("command"):
        if command.name != "deepspeed" or len(hosts) < 2 or command.wrappers or is_open(command):
            continue
        told = {"hostfile", "include", "exclude", "no_ssh", "num_nodes"} & command.root.keys()
        if not told and not any("/job/" in line for line in command.source.lines):
            found = hit("config.deepspeed-hostfile-unread", command, command.line, file=part.source.base,
                        hosts=len(hosts))  # fmt: skip
            yield instead(also(found, part), Draft(command).put("hostfile", part.source.base).text())


def left_behind(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """Behind an `&&` outside of quotes, the launch is no longer part of what ssh runs on the other machine."""
    del job
    chained: tuple[tuple[str, ...], ...] = part.extra.get("chained", ())
    for words in chained if part.name in {*AGENTS, "python"} and not part.wrappers else ():
        at = next((at for at, word in enumerate(words) if word.rpartition("/")[2] == "ssh"), len(words))
        remote = next((word for word in words[at + 2 :] if word in _LASTS_NOT), None)
        if remote is not None:
            yield hit("config.ssh-ends-before-launch", part, part.line, remote=remote, launcher=part.name)
            return


RULES = (
    *(
        ConfigRule(ids=ids, kinds=("command",), check=check)
        for ids, check in (
            (("config.accelerate-one-rank-for-all",), same_rank),
            (("config.accelerate-alone-on-gpus", "config.accelerate-idle-gpus"), idle),
            (("config.deepspeed-under-srun",), everywhere),
            (("config.ssh-ends-before-launch",), left_behind),
        )
    ),
    ConfigRule(ids=("config.deepspeed-hostfile-unread",), kinds=("hostfile",), check=unread_hosts),
)
