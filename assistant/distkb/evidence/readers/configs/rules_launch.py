"""Rules for command lines: torchrun, accelerate launch and deepspeed, on one machine or several."""

from __future__ import annotations

import re
from collections.abc import Iterator

from distkb.evidence.readers.configs.corrections import Draft
from distkb.evidence.readers.configs.flags import LAUNCHER_ONLY, normal
from distkb.evidence.readers.configs.item import UNKNOWN, ConfigPart, ConfigValue, number
from distkb.evidence.readers.configs.job import (
    ConfigContext,
    ConfigFinding,
    ConfigRule,
    command_size,
    hit,
    instead,
    short,
)
from distkb.evidence.readers.configs.launch_command import LaunchLine, is_open
from distkb.evidence.readers.configs.placement import TORCHRUN, allocation_of
from distkb.evidence.readers.configs.rules_rendezvous import meeting

_MODES = ("cpu", "multi_gpu", "tpu", "use_deepspeed", "use_fsdp")


def is_many_nodes(part: ConfigPart) -> bool:
    """Whether a torchrun command asks for more than one node, as far as it says so."""
    item = part.get("nnodes")
    if item is None:
        return False
    if isinstance(item.value, str) and ":" in item.value:
        return item.value.rpartition(":")[2] != "1"
    count = number(item.value)
    return count > 1 if count is not None else item.value is UNKNOWN


def _env(part: ConfigPart, name: str) -> ConfigValue | None:
    assigned: dict[str, ConfigValue] = part.extra.get("assigned", {})
    return assigned.get(name)


def standalone(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """`--standalone` is one node, and throws away every rendezvous option."""
    if part.name not in TORCHRUN or "standalone" not in part.root:
        return
    count = number(part.value("nnodes"))
    if is_many_nodes(part) and count != 1 and part.value("nnodes") is not UNKNOWN:
        found = hit("config.torchrun-standalone-nodes", part, part.get("standalone"), part.get("nnodes"), part.line,
                    nodes=part.root["nnodes"].shown)  # fmt: skip
        yield instead(found, meeting(part, job).text())
        return
    unused = [n for n in ("rdzv_backend", "rdzv_endpoint", "rdzv_id", "master_addr", "master_port", "node_rank")
              if n in part.root]  # fmt: skip
    if unused:
        yield hit("config.torchrun-standalone-rdzv", part, *(part.get(name) for name in unused),
                  flags=", ".join("--" + name.replace("_", "-") for name in unused))  # fmt: skip


def rendezvous(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """On several nodes, every node needs the same address and, with static rendezvous, its own rank."""
    if part.name not in TORCHRUN or not is_many_nodes(part) or "standalone" in part.root or is_open(part):
        return
    backend = part.get("rdzv_backend")
    static = backend is None or backend.value == "static"
    endpoint = part.get("rdzv_endpoint") or _env(part, "PET_RDZV_ENDPOINT")
    if backend is not None and backend.value is UNKNOWN:
        return
    if static and endpoint is None and part.get("master_addr") is None and _env(part, "PET_MASTER_ADDR") is None:
        yield instead(hit("config.torchrun-static-no-master", part, part.get("nnodes"), part.line),
                      meeting(part, job).text())  # fmt: skip
    if not static and endpoint is None:
        yield instead(hit("config.torchrun-no-endpoint", part, backend, part.get("nnodes"), part.line),
                      meeting(part, job).text())  # fmt: skip
    rank = part.get("node_rank") or _env(part, "PET_NODE_RANK")
    if static and rank is None:
        found = hit("config.torchrun-no-node-rank", part, part.get("nnodes"), part.line)
        in_slurm = allocation_of(part, job) is not None or any(w.name == "srun" for w in part.wrappers)
        yield instead(found, Draft(part).per_task(node_rank="$SLURM_NODEID").text()) if in_slurm else found
    if not static:
        unused = [name for name in ("master_addr", "master_port", "node_rank") if name in part.root]
        if unused:
            yield hit(
                "config.torchrun-static-only", part, *(part.get(name) for name in unused), backend=short(backend.shown)
                if backend else "c10d", flags=", ".join("--" + name.replace("_", "-") for name in unused),
            )  # fmt: skip


def processes(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """One process where several are meant, or more processes than visible GPUs."""
    size = command_size(part)
    if (
        part.name in TORCHRUN
        and not is_open(part)
        and part.get("nproc_per_node") is None
        and _env(part, "PET_NPROC_PER_NODE") is None
    ):
        evidence = _means_many(part, job)
        if evidence:
            yield hit("config.torchrun-one-process", part, launcher=part.name, why=evidence)
    flag, shows = _in_container(part)
    if flag and size.per_node is not None and size.per_node > shows:
        yield hit("config.container-too-few-gpus", part, part.first("nproc_per_node", "num_processes"), part.line,
                  n=size.per_node, gpus=shows, value=short(flag))  # fmt: skip
    visible = _env(part, "CUDA_VISIBLE_DEVICES")
    if visible is None or visible.value is UNKNOWN:
        return
    ids = [word for word in str(visible.value).split(",") if word.strip()]
    if part.name == "deepspeed":
        chosen = [name for name in ("include", "exclude", "num_gpus") if name in part.root]
        if (number(part.value("num_nodes")) or 0) > 1:
            chosen.append("num_nodes")
        first = [str(gpu) for gpu in range(number(part.value("num_gpus")) or 0)]
        same = chosen == ["num_gpus"] and [word.strip() for word in ids] == first
        if chosen and not same and "hostfile" not in part.root:
            yield hit("config.deepspeed-visible-ignored", part, visible, *(part.get(name) for name in chosen),
                      value=short(visible.shown), flags=", ".join("--" + name for name in chosen))  # fmt: skip
    elif size.per_node is not None and ids and size.per_node > len(ids) and ids != ["-1"]:
        item = part.first("nproc_per_node", "num_processes")
        yield hit("config.launch-too-few-gpus", part, item, visible, n=size.per_node, gpus=len(ids),
                  value=short(visible.shown))  # fmt: skip


def _in_container(part: ConfigPart) -> tuple[str, int]:
    """Return the option with which a container is given some GPUs, and how many these are; ("", 0) where none is."""
    written: LaunchLine | None = part.extra.get("line")
    words = [word.text for word in (*written.head, *written.launcher)] if written is not None else []
    if not {"docker", "podman"} & {word.rpartition("/")[2] for word in words}:
        return "", 0
    for flag, after in zip(words, [*words[1:], ""], strict=True):
        name, equals, value = flag.partition("=")
        found = _GIVEN_GPUS.fullmatch((value if equals else after).strip("\"'")) if name == "--gpus" else None
        if found is None and name in {"-e", "--env"}:
            found = _SHOWN_GPUS.fullmatch(value if equals else after)
        if found is not None:
            shows = int(found["n"]) if found["n"] else found["ids"].strip(",").count(",") + 1
            return flag if equals else f"{flag} {after}", shows
    return "", 0


_GIVEN_GPUS = re.compile(r"(?:(?:count=)?(?P<n>\d{1,2})|\"?device=(?P<ids>[\w,:-]+)\"?)")
_SHOWN_GPUS = re.compile(r"(?:NVIDIA|CUDA)_VISIBLE_DEVICES=(?P<ids>\d[\d,]*)(?P<n>)")


def _means_many(part: ConfigPart, job: ConfigContext) -> str:
    """What shows that more than one process per node is meant; empty where nothing does."""
    for sbatch in job.of("sbatch"):
        for name in ("gpus-per-node", "gres", "gpus", "gpus-per-task"):
            count = gpu_count(sbatch.get(name))
            if count is not None and count > 1:
                return f"#SBATCH --{name}={sbatch.root[name].shown}"
    visible = _env(part, "CUDA_VISIBLE_DEVICES")
    if visible is not None and str(visible.value).count(",") > 0:
        return f"CUDA_VISIBLE_DEVICES={short(visible.shown)}"
    for other in job.of("accelerate"):
        if other.value("distributed_type") in ("FSDP", "MULTI_GPU", "DEEPSPEED"):
            return f"distributed_type: {other.value('distributed_type')}"
    if job.of("fsdp-config", "lightning-strategy"):
        return job.of("fsdp-config", "lightning-strategy")[0].source.base
    return ""


def gpu_count(item: ConfigValue | None) -> int | None:
    """Return the number in `4`, `gpu:4`, `gpu:a100:4`, `a100:4`; None where there is none."""
    if item is None or item.value is UNKNOWN:
        return None
    found = [number(piece.partition("(")[0]) for piece in str(item.value).split(",")[0].split(":")]
    numbers = [count for count in found if count is not None]
    return numbers[-1] if numbers else 1 if str(item.value).startswith("gpu") else None


def misplaced(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """Options of the launcher behind the script go to the script."""
    del job
    names = LAUNCHER_ONLY.get(part.name, frozenset())
    for index, word in enumerate(part.words):
        flag = word.text.partition("=")[0]
        if index and flag.startswith("--") and normal(part.name, flag) in names:
            yield hit("config.launcher-option-after-script", part, word, flag=flag, launcher=part.name,
                      script=short(part.words[0].text))  # fmt: skip


def nested(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """One launcher starts another: every process starts all of them again."""
    del job
    if not part.words or part.name == "python":
        return
    inner = part.words[0].text.rpartition("/")[2]
    after = [word.text for word in part.words[1:3]]
    if inner in {"torchrun", "deepspeed"} or (inner == "accelerate" and after[:1] == ["launch"]):
        yield hit("config.two-launchers", part, part.words[0], outer=part.name, inner=inner)


def modes(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """Accelerate launch takes one mode, and several machines need an address."""
    if part.name == "torch.distributed.launch":
        yield hit("config.launch-deprecated", part, part.line)
    if part.name != "accelerate":
        return
    chosen = [name for name in _MODES if name in part.root]
    if len(chosen) > 1:
        yield hit("config.accelerate-two-modes", part, *(part.get(name) for name in chosen),
                  flags=", ".join("--" + name for name in chosen))  # fmt: skip
    count, item = number(part.value("num_processes")), part.get("num_processes")
    if "multi_gpu" in chosen and count == 1:
        yield hit("config.accelerate-multi-gpu-one", part, item)
    nodes = number(part.value("num_machines"))
    if nodes is not None and nodes > 1:
        files = job.of("accelerate")
        if part.get("main_process_ip") is None and "config_file" not in part.root and not files:
            yield hit("config.accelerate-main-ip-missing", part, part.get("num_machines"), machines=nodes)
        if count is not None and count % nodes:
            yield hit("config.accelerate-processes-per-machine", part, item, part.get("num_machines"), n=count,
                      machines=nodes, per_machine=count // nodes, total=count * nodes)  # fmt: skip
    for other in job.of("accelerate"):
        theirs = other.get("num_processes")
        if count is not None and theirs is not None and number(theirs.value) not in {None, count}:
            yield hit("config.num-processes-overridden", part, item, n=count, other=theirs.shown,
                      file=other.source.base)  # fmt: skip


RULES = tuple(
    ConfigRule(ids=ids, kinds=("command",), check=check)
    for ids, check in (
        (("config.torchrun-standalone-nodes", "config.torchrun-standalone-rdzv"), standalone),
        (
            (
                "config.torchrun-static-no-master",
                "config.torchrun-no-endpoint",
                "config.torchrun-no-node-rank",
                "config.torchrun-static-only",
            ),
            rendezvous,
        ),
        (
            (
                "config.torchrun-one-process",
                "config.deepspeed-visible-ignored",
                "config.launch-too-few-gpus",
                "config.container-too-few-gpus",
            ),
            processes,
        ),
        (("config.launcher-option-after-script",), misplaced),
        (("config.two-launchers",), nested),
        (
            (
                "config.launch-deprecated",
                "config.accelerate-two-modes",
                "config.accelerate-multi-gpu-one",
                "config.num-processes-overridden",
            ),
            modes,
        ),
    )
)
