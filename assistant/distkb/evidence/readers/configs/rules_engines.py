"""What the calls of a script and DeepSpeed's file do not allow together: optimizers, offload, pipelines, evaluation.

Read in deepspeed 0.19.8 and transformers 5.24.0, and run with them on the CPU. Only what is written out counts: a file
that the script reads, and may change, before it hands it over is left alone where it matters what is changed, and so is
a name that a branch sets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from distkb.evidence.readers.configs.item import UNKNOWN, ConfigPart, ConfigValue, number
from distkb.evidence.readers.configs.job import PIPELINE, ConfigContext, ConfigFinding, ConfigRule, also, hit
from distkb.evidence.readers.configs.python_file import SPREAD
from distkb.evidence.readers.configs.rules_deepspeed import stage_of

_NONE, _HOST = "config.deepspeed-no-optimizer", "config.deepspeed-optimizer-not-for-host"
_PIPE, _EVALUATES = "config.deepspeed-stage-under-pipeline", "config.deepspeed-evaluates-first"
_READS = re.compile(r"\bjson\.loads?\(")
_OFFLOADS = re.compile(r"offload|zero_optimization|zero_force|CPUAdam")
_MERGES = re.compile(r"(?:ds|conf|config|cfg)\w{0,24}\.update\(|\bmerge\w{0,24}\(")
"""What may change more of a file that is read than is to be seen."""
_STEPS = frozenset({"trainer.evaluate", "trainer.predict", "trainer.train"})


def _begun(part: ConfigPart, job: ConfigContext) -> ConfigPart | None:
    """Return the one call that makes an engine, where the file is the job's only one for DeepSpeed and reaches it."""
    calls = [call for call in job.of("call") if call.name == "deepspeed.initialize"]
    files = [one for one in job.of("deepspeed") if one.root]
    if len(calls) != 1 or files != [part] or SPREAD in calls[0].root:
        return None
    given = calls[0].first("config", "config_params", "#10", "#12")
    if part.owner:
        return calls[0] if part.owner == "deepspeed.initialize" else None
    if given is None or given.value is None or (given.value is UNKNOWN and _is_option(given.text)):
        return calls[0]
    return calls[0] if _is_path(given, part) else None


def _is_option(text: str) -> bool:
    """Whether an expression is an option of the command line, such as `args.deepspeed_config`."""
    owner, _, name = text.partition(".")
    return owner.endswith(("args", "opt", "opts", "options")) and name.isidentifier()


def _is_path(given: ConfigValue | None, part: ConfigPart) -> bool:
    named = given.value if given is not None else None
    return isinstance(named, str) and named.replace("\\", "/").rpartition("/")[2] == part.source.base


def _completed(part: ConfigPart, job: ConfigContext) -> ConfigPart | None:
    """Return the one call that makes an engine where the script completes the file, but nothing about the offload."""
    calls = [call for call in job.of("call") if call.name == "deepspeed.initialize"]
    files = [one for one in job.of("deepspeed") if one.root]
    if len(calls) != 1 or files != [part] or part.owner or SPREAD in calls[0].root:
        return None
    given = calls[0].first("config", "config_params", "#10", "#12")
    texts = {one.source.name: "\n".join(one.source.lines) for one in job.of("call")}
    reader = _reader(given, calls[0], list(texts.values()))
    whole = "\n".join(texts.values())
    is_read = reader and part.source.base in whole and _READS.search(reader) is not None
    return calls[0] if is_read and _OFFLOADS.search(whole) is None and _MERGES.search(reader) is None else None


def _reader(given: ConfigValue | None, call: ConfigPart, texts: list[str]) -> str:
    """Return the script in which the value that an engine gets as its configuration is read from a file."""
    if given is None or given.value is not UNKNOWN or _is_option(given.text):
        return ""
    name = given.text.partition("(")[0] if given.text.endswith(")") else call.extra["made"].get(given.text, "")
    own = "\n".join(call.source.lines)
    if name in {"json.load", "json.loads"} or not name.isidentifier():
        return own if name.startswith("json.") else ""
    found = [text for text in texts if re.search(rf"^[ \t]*def {name}\(", text, re.MULTILINE)]
    return found[0] if len(found) == 1 else ""


def _given_back(given: ConfigValue | None, call: ConfigPart, ones: list[ConfigPart]) -> ConfigPart | None:
    """Return the call that makes what a function of the project gives back, from which another call gets its value."""
    if given is None:
        return None
    called = given.text.partition("(")[0] if given.value is UNKNOWN and "(" in given.text else ""
    called = called or call.extra["made"].get(given.text, "")
    owner, _, name = called.rpartition(".")
    for one in ones if name and owner in {"", "self"} else ():
        module = call.extra["origins"].get(name, "").rpartition(".")[2] if not owner else ""
        beside = module == one.source.base.removesuffix(".py") if module else one.source == call.source
        if one.extra["gives"] == name and beside:
            return one
    return None


def _made(given: ConfigValue | None, call: ConfigPart, ones: list[ConfigPart]) -> ConfigPart | None:
    """Return the call that made what another one is given, where no other value is possible."""
    if given is None:
        return None
    for one in ones:
        written = given.text.startswith(f"{one.extra['typed']}(") and given.line == one.line
        if _place(one) == _place(call) and (written or (given.text in one.extra["targets"] and _holds(one, call))):
            return one
    return None


def _holds(one: ConfigPart, later: ConfigPart) -> bool:
    """Whether what a call made has its name still where another one stands."""
    return bool(one.line < later.line <= one.extra["until"])


def _place(call: ConfigPart) -> tuple[int, int]:
    """Return the file and the function in which a call stands."""
    return id(call.source), call.extra["inside"]


def optimizers(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """Stages 1 and 2 need an optimizer; one that stays on the host must be DeepSpeed's for the CPU."""
    begun, item = _begun(part, job), part.get("zero_optimization", "stage")
    call = begun or _completed(part, job)
    if call is None or item is None or stage_of(part) not in {1, 2, 3}:
        return
    given = call.first("optimizer", "#2")
    is_given = given is not None and given.value is not None
    if begun is not None and not is_given and part.get("optimizer") is None and stage_of(part) != 3:
        yield also(hit(_NONE, part, item, stage=stage_of(part), line=call.line), call, call.line)
    device = part.get("zero_optimization", "offload_optimizer", "device")
    forced = part.value("zero_force_ds_cpu_optimizer")
    if device is None or device.value not in ("cpu", "nvme") or forced not in (None, True):
        return
    ones = [one for one in job.of("call") if one.name.startswith("torch.optim.")]
    made = _made(given, call, ones) or _given_back(given, call, ones)
    if made is not None and job.since("deepspeed", "0.8.3") is not False:
        found = hit(_HOST, part, device, device=device.value, optimizer=made.name, line=made.line)
        yield also(found, made, made.line)


def pipeline(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """The engine of a pipeline refuses the stages that divide the gradients."""
    item = part.get("zero_optimization", "stage")
    call = _begun(part, job)
    if item is None or call is None or stage_of(part) not in {2, 3}:
        return
    made = _made(call.first("model", "#1"), call, [one for one in job.of("call") if one.name == PIPELINE])
    if made is not None:
        found = hit(_PIPE, part, item, stage=stage_of(part), model=made.extra["typed"], line=made.line)
        yield also(found, made, made.line)


def evaluation(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """The Trainer evaluates before it has trained only under stage 3."""
    own = part.get("zero_optimization", "stage") or part.get("deepspeed_config", "zero_stage")
    stage = None if own is None else number(own.value)
    if own is None or stage not in {0, 1, 2} or not _is_trainers(part, job):
        return
    calls = job.of("call")
    steps = [one for one in calls if one.name in _STEPS]
    trainers = [one for one in calls if one.name == "transformers.Trainer" and "trainer" in one.extra["targets"]]
    for one in steps:
        trains = [other for other in steps if other.name == "trainer.train" and _place(other) == _place(one)]
        own_trainer = any(_place(made) == _place(one) and _holds(made, one) for made in trainers)
        if own_trainer and trains and all(one.line < other.line for other in trains):
            yield also(hit(_EVALUATES, part, own, stage=stage, call=one.name, line=one.line), one, one.line)
            return


def _is_trainers(part: ConfigPart, job: ConfigContext) -> bool:
    """Whether the job's Trainer gets this stage: no other file sets one, and the Trainer or Accelerate is given it."""
    if len(job.of("deepspeed", "accelerate")) != 1:
        return False
    if part.kind == "accelerate":
        return bool(part.value("distributed_type") == "DEEPSPEED")
    arguments = job.of("training-arguments", "trl")
    words = [word for command in job.of("command") for word in command.words]
    flags = [word for flag, word in pairwise(words) if flag.value == "--deepspeed"]
    named = any(_is_path(one, part) for one in (*(made.get("deepspeed") for made in arguments), *flags))
    return named or (part.owner != "" and part.owner in {one.name or one.kind for one in arguments})


RULES = (
    ConfigRule(ids=(_NONE, _HOST), kinds=("deepspeed",), check=optimizers),
    ConfigRule(ids=(_PIPE,), kinds=("deepspeed",), check=pipeline),
    ConfigRule(ids=(_EVALUATES,), kinds=("deepspeed", "accelerate"), check=evaluation),
)
