"""Rules that need more than one file's values: DeepSpeed's hostfile, a dict without a batch, clipping in Lightning."""

from __future__ import annotations

import re
from collections.abc import Iterator

from distkb.evidence.readers.configs.item import ConfigPart, ConfigValue, number
from distkb.evidence.readers.configs.job import ConfigContext, ConfigFinding, ConfigRule, also, hit, short

_HOST = re.compile(r"(\S{1,255})[ \t]{1,40}slots=(\d{1,9})")


def hostfile(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """Lines that DeepSpeed's launcher refuses: each is `host slots=N`, and no host stands twice."""
    del job
    first: dict[str, int] = {}
    for number_of, text in enumerate(part.source.lines, 1):
        line = text.strip()
        if not line or line.startswith("#"):
            continue
        found = _HOST.match(line)
        item = ConfigValue(value=line, line=number_of, text=line)
        if found is None:
            yield hit("config.hostfile-bad-line", part, item, line=line[:80])
        elif found[1] in first:
            yield hit("config.hostfile-host-twice", part, item, host=found[1], line=first[found[1]])
        else:
            first[found[1]] = number_of


_LAUNCHERS = ("pdsh", "openmpi", "mpich", "impi", "slurm", "mvapich")
_MPI = frozenset({"mpich", "impi", "mvapich"})
"""Launchers of DeepSpeed that need as many slots on every host."""


def chosen_hosts(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """Hosts and slots that a launch asks for and that its hostfile does not have."""
    hosts = _hosts(part, job)
    if hosts is None:
        return
    files, slots = job.of("hostfile"), set(hosts.values())
    for name in ("include", "exclude", "deepspeed_inclusion_filter", "deepspeed_exclusion_filter"):
        item = _option(part, name)
        for wanted in str(item.value).split("@") if item is not None and isinstance(item.value, str) else ():
            host, _, numbers = wanted.partition(":")
            if host not in hosts or any(int(n) >= hosts[host] for n in _SLOT.findall(numbers)):
                found = hit("config.trainer-refuses", part, item, tool=_LAUNCHER, key=f"--{name} {short(wanted)}")
                yield also(found, files[0], 1)
    launcher, rank = part.get("launcher"), part.get("node_rank")
    if launcher is not None and str(launcher.value).lower() in _MPI and len(slots) > 1 and "no_ssh" not in part.root:
        each = ", ".join(f"{host} slots={number_of}" for host, number_of in hosts.items())
        found = hit("config.trainer-excludes", part, launcher, tool=_LAUNCHER, first=f"--launcher {launcher.shown}",
                    second=short(each))  # fmt: skip
        yield also(found, files[0], 1)
    narrows = [name for name in ("include", "exclude", "num_nodes") if name in part.root]
    if launcher is not None and isinstance(launcher.value, str) and len(hosts) > 1 and "no_ssh" not in part.root:
        name, gpus = launcher.value.lower(), part.get("num_gpus")
        if not narrows and name not in _LAUNCHERS:
            found = hit("config.trainer-unknown-value", part, launcher, tool=_LAUNCHER, allowed=", ".join(_LAUNCHERS),
                        key=f"--launcher {short(launcher.shown)}")  # fmt: skip
            yield also(found, files[0], 1)
        elif not narrows and gpus is not None and name in {*_MPI, "openmpi"}:
            yield hit("config.trainer-excludes", part, launcher, gpus, tool=_LAUNCHER,
                      first=f"--launcher {launcher.shown}", second=f"--num_gpus {gpus.shown}")  # fmt: skip
    if "no_ssh" in part.root and rank is not None and (number(rank.value) or 0) >= len(hosts):
        found = hit("config.trainer-refuses", part, rank, tool=_LAUNCHER, key=f"--node_rank {rank.shown}")
        yield also(found, files[0], 1)


_LAUNCHER = "deepspeed"
_SLOT = re.compile(r"\d{1,6}")


def _option(part: ConfigPart, name: str) -> ConfigValue | None:
    return part.get(name) if part.kind == "command" else part.get("deepspeed_config", name)


def _hosts(part: ConfigPart, job: ConfigContext) -> dict[str, int] | None:
    """Return the slots of each host in the hostfile that a launch reads; None where it is not known."""
    files = job.of("hostfile")
    given = _option(part, "hostfile") or _option(part, "deepspeed_hostfile")
    is_other = given is not None and str(given.value).rpartition("/")[2] != (files[0].source.base if files else "")
    if len(files) != 1 or given is None or is_other or (part.kind == "command" and part.name not in _STARTS_DEEPSPEED):
        return None
    lines = [line.strip() for line in files[0].source.lines]
    found = [_HOST.match(line) for line in lines if line and not line.startswith("#")]
    return {one[1]: int(one[2]) for one in found if one is not None} if all(found) else None


_STARTS_DEEPSPEED = frozenset({"deepspeed", "accelerate"})
_BATCHES = ("train_batch_size", "train_micro_batch_size_per_gpu")


def no_batch(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """DeepSpeed is given a dict without a batch size, and nothing fills it in."""
    raw = part.owner == "deepspeed.initialize" or any(call.name == "deepspeed.initialize" for call in job.of("call"))
    if raw and not job.uses_hf and not any(part.get(name) for name in _BATCHES) and part.get("zero_optimization"):
        yield hit("config.deepspeed-no-batch", part, part.get("zero_optimization"))


def clip_by_value(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """Lightning clips by value under no strategy that shards."""
    del job
    how, strategy = part.get("gradient_clip_algorithm"), part.get("strategy")
    if how is None or strategy is None or str(how.value).lower() != "value":
        return
    if re.search(r"(?i)deepspeed|fsdp", strategy.text or str(strategy.value)):
        yield hit("config.lightning-clip-by-value", part, how, strategy=strategy.shown[:60])


RULES = (
    ConfigRule(ids=("config.hostfile-bad-line", "config.hostfile-host-twice"), kinds=("hostfile",), check=hostfile),
    ConfigRule(
        ids=("config.trainer-excludes", "config.trainer-refuses", "config.trainer-unknown-value"),
        kinds=("command", "accelerate"),
        check=chosen_hosts,
    ),
    ConfigRule(ids=("config.deepspeed-no-batch",), kinds=("deepspeed",), check=no_batch),
    ConfigRule(ids=("config.lightning-clip-by-value",), kinds=("lightning-trainer",), check=clip_by_value),
)
