"""What the calls of a script and DeepSpeed's file do not allow together: optimizers, offload, pipelines, evaluation."""

from __future__ import annotations

from collections.abc import Iterator

from distkb.evidence.readers.configs.item import ConfigPart
from distkb.evidence.readers.configs.job import ConfigContext, ConfigFinding, ConfigRule, also, hit, is_pipelined
from distkb.evidence.readers.configs.python_file import SPREAD
from distkb.evidence.readers.configs.rules_deepspeed import stage_of

_NONE, _HOST = "config.deepspeed-no-optimizer", "config.deepspeed-optimizer-not-for-host"
_PIPE, _EVALUATES = "config.deepspeed-stage-under-pipeline", "config.deepspeed-evaluates-first"


def _begun(part: ConfigPart, job: ConfigContext) -> ConfigPart | None:
    """Return the one call that makes an engine, where the file is the job's only one for DeepSpeed."""
    calls = [call for call in job.of("call") if call.name == "deepspeed.initialize"]
    files = [one for one in job.of("deepspeed") if one.root]
    return calls[0] if len(calls) == 1 and files == [part] and SPREAD not in calls[0].root else None


def optimizers(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """Stages 1 and 2 need an optimizer; one that stays on the host must be DeepSpeed's own."""
    call, item = _begun(part, job), part.get("zero_optimization", "stage")
    if call is None or item is None or stage_of(part) not in {1, 2, 3}:
        return
    given = call.first("optimizer", "#2")
    is_given = given is not None and given.value is not None
    if not is_given and part.get("optimizer") is None and stage_of(part) != 3:
        yield also(hit(_NONE, part, item, stage=stage_of(part), line=call.line), call, call.line)
    device = part.get("zero_optimization", "offload_optimizer", "device")
    forced = part.value("zero_force_ds_cpu_optimizer")
    if not is_given or given is None or device is None or device.value not in ("cpu", "nvme") or forced is not None:
        return
    made = [one for one in job.of("call") if one.name.startswith("torch.optim.") and one.source is call.source]
    ours = [one for one in made if given.text in one.extra["targets"] or one.line == given.line]
    if ours and len(ours) == len(made):
        found = hit(_HOST, part, device, device=device.value, optimizer=ours[0].name, line=ours[0].line)
        yield also(found, ours[0], ours[0].line)


def pipeline(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """The engine of a pipeline refuses the stages that divide the gradients."""
    item = part.get("zero_optimization", "stage")
    call = _begun(part, job)
    if item is not None and call is not None and stage_of(part) in {2, 3} and is_pipelined(job):
        yield also(hit(_PIPE, part, item, stage=stage_of(part)), call, call.line)


def evaluation(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """The Trainer evaluates before it has trained only under stage 3."""
    own = part.get("zero_optimization", "stage") or part.get("deepspeed_config", "zero_stage")
    stage = stage_of(part) or (own.value if own is not None and part.kind == "accelerate" else 0)
    if own is None or stage not in {1, 2} or len(job.of("deepspeed", "accelerate")) != 1:
        return
    if part.kind == "accelerate" and part.value("distributed_type") != "DEEPSPEED":
        return
    steps = [one for one in job.of("call") if one.name in {"trainer.evaluate", "trainer.predict", "trainer.train"}]
    trains = [one for one in steps if one.name == "trainer.train"]
    for one in steps:
        same = [
            other for other in trains if other.source is one.source and other.extra["inside"] == one.extra["inside"]
        ]
        if one not in trains and same and all(one.line < other.line for other in same):
            yield also(hit(_EVALUATES, part, own, stage=stage, call=one.name, line=one.line), one, one.line)
            return


def _place(call: ConfigPart) -> tuple[int, int]:
    """Return the file and the function in which a call stands."""
    return id(call.source), call.extra["inside"]


RULES = (
    ConfigRule(ids=(_NONE, _HOST), kinds=("deepspeed",), check=optimizers),
    ConfigRule(ids=(_PIPE,), kinds=("deepspeed",), check=pipeline),
    ConfigRule(ids=(_EVALUATES,), kinds=("deepspeed", "accelerate"), check=evaluation),
)
