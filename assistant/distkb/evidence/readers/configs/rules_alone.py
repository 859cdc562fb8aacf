"""A Hugging Face Trainer that one process runs on a machine whose launch gives it several GPUs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from distkb.evidence.readers.configs.corrections import Draft
from distkb.evidence.readers.configs.item import UNKNOWN, ConfigPart, ConfigValue
from distkb.evidence.readers.configs.job import ConfigContext, ConfigFinding, ConfigRule, also, hit, instead
from distkb.evidence.readers.configs.launch_command import assigned
from distkb.evidence.readers.configs.placement import allocation_of, tasks_per_node
from distkb.evidence.readers.configs.rules_slurm import gpus_of

_OTHERWISE = re.compile(
    r"device_map|deepspeed|fsdp|no_cuda|use_cpu|CUDA_VISIBLE_DEVICES|LOCAL_RANK|_n_gpu|load_in_[48]bit|set_device"
    r"|spawn\(|notebook_launcher|subprocess|use_configured_state|place_model_on_device|quantization_config"
)
"""Words of a script, or of its arguments, with which the Trainer may come to another choice."""
_RANKS = frozenset({"RANK", "LOCAL_RANK", "WORLD_SIZE", "ACCELERATE_USE_CPU", "ACCELERATE_USE_DEEPSPEED"})
_STRATEGIES = ("deepspeed", "fsdp", "use_cpu", "no_cuda")
_TRAINS = re.compile(r"\.train\(")


def one_process(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """Started by plain python, the Trainer wraps the model with DataParallel over all GPUs that it sees."""
    if part.name != "python" or part.wrappers or part.extra.get("inner") or not _RANKS.isdisjoint(assigned(part)):
        return
    trainer = _trainer_of(part, job)
    gpus, where, item = _gpus(part, job)
    if trainer is None or gpus is None or gpus < 2:
        return
    if any(one.get(name) is not None for one in job.of("training-arguments", "trl") for name in _STRATEGIES):
        return
    told = [*trainer.source.lines, *(word.text for word in part.words)]
    if any(_OTHERWISE.search(line) for line in told) or not any(map(_TRAINS.search, trainer.source.lines)):
        return
    found = hit("config.trainer-in-one-process", part, part.line, script=trainer.source.base, gpus=gpus)
    if where is not None and where is not part:
        found = also(found, where, item)
    yield instead(also(found, trainer), Draft(part).by_torchrun(gpus).text())


def _trainer_of(part: ConfigPart, job: ConfigContext) -> ConfigPart | None:
    """Return the arguments, or the making, of the Trainer in the script that a command runs."""
    script = part.words[0].text.rpartition("/")[2] if part.words else ""
    made = [
        one
        for one in job.of("training-arguments", "trl", "call")
        if one.source.base == script and (one.kind != "call" or one.name == "transformers.Trainer")
    ]
    return next((one for one in made if one.extra.get("imports")), None)


def _gpus(part: ConfigPart, job: ConfigContext) -> tuple[int | None, ConfigPart | None, ConfigValue | None]:
    """Return how many GPUs a command sees, and what says so: the variable, or else the job that it runs in."""
    shows = assigned(part).get("CUDA_VISIBLE_DEVICES")
    if shows is not None:
        known = shows.value is not UNKNOWN
        return (len([w for w in str(shows.value).split(",") if w.strip()]) if known else None), part, shows
    allocation = allocation_of(part, job)
    if allocation is None or allocation.get("gpus-per-task") is not None or (tasks_per_node(allocation)[0] or 1) > 1:
        return None, None, None
    gpus, item = gpus_of(allocation)
    return gpus, allocation, item


RULES = (ConfigRule(ids=("config.trainer-in-one-process",), kinds=("command",), check=one_process),)
