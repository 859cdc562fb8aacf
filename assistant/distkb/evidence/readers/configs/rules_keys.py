"""Rules that need only the name of a key: unknown, renamed, removed, or not read under these conditions.

What is known about a name is in `kb/settings/`; nothing here knows any single key.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches

from distkb.catalogue.settings import Setting
from distkb.evidence.readers.configs import known
from distkb.evidence.readers.configs.flags import ABBREVIATE, UNDERSCORES, normal
from distkb.evidence.readers.configs.item import ConfigPart, ConfigValue, Kind, number, truth, walk
from distkb.evidence.readers.configs.job import ConfigContext, ConfigFinding, ConfigRule, fsdp_of, hit, release, short
from distkb.evidence.readers.configs.rules_deepspeed import stage_of
from distkb.evidence.readers.configs.rules_shapes import is_about, is_open_to_more, written

_PLACES: dict[Kind, str] = {
    "accelerate": "accelerate-config",
    "deepspeed": "deepspeed-config",
    "training-arguments": "training-arguments",
    "fsdp-config": "fsdp-config",
    "lightning-trainer": "lightning.Trainer",
    "lightning-strategy": "lightning",
}
_CLOSE = 0.8
"""How alike a misspelt key and a known one are: `gradient_clipp1ng` is 0.94 of `gradient_clipping`."""
_ALL_BUT = 0.92
"""The same for a file whose other names may be another program's: `save_stepss`, `gradient_acumulation_steps`."""
_OPTION = re.compile(r"--[a-z][\w-]*", re.IGNORECASE)


def _paths(part: ConfigPart) -> Iterator[tuple[str, tuple[str, ...], ConfigValue]]:
    """Yield the id that a key has in the settings, its path as typed, and its item."""
    place = _PLACES[part.kind]
    if part.kind == "lightning-strategy":
        place = f"lightning.{part.name}"
    for path, item in walk(part.root):
        names = list(path)
        if part.kind == "accelerate" and path[0] == "fsdp_config" and len(path) == 2:
            names[1] = "fsdp_" + path[1].removeprefix("fsdp_")
        if part.kind == "fsdp-config":
            names[0] = path[0].removeprefix("fsdp_")
        yield ".".join((place, *names)), path, item


def recorded(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """Keys with a record that says that they are renamed, removed, deprecated, or read elsewhere only."""
    index = {setting.id: setting for setting in job.settings}
    holds = _conditions(part, job)
    for identity, path, item in _paths(part):
        setting = index.get(identity)
        if setting is None or item.value is None:
            continue
        yield from _changed(part, job, setting, path, item, index)
        yield from _unread(part, setting, path, item, holds)


def _changed(
    part: ConfigPart,
    job: ConfigContext,
    setting: Setting,
    path: tuple[str, ...],
    item: ConfigValue,
    index: Mapping[str, Setting],
) -> Iterator[ConfigFinding]:
    if setting.status == "current":
        return
    since = setting.changed.since if setting.changed else None
    component = setting.changed.component if setting.changed else ""
    have, want = job.version(component), release(since)
    if have is not None and want is not None and have < want:
        return
    new = ", ".join(index[name].name if name in index else name.rpartition(".")[2] for name in setting.replaced_by)
    values = {"key": ".".join(path), "component": component, "since": since or "?", "new": new}
    if setting.status in {"renamed", "deprecated"}:
        if have is None and setting.kind == "argument":
            return  # a script is written for the version it runs with, which may not know the new name
        yield hit("config.key-renamed" if new else "config.key-deprecated", part, item, **values)
    elif setting.status == "removed":
        certain = have is not None or want is None
        if new and not certain and not part.name and _is_old(component, want, job):
            yield hit("config.key-replaced-long-since", part, item, **values)
        else:
            yield hit(_removed(certain=certain, new=bool(new)), part, item, **values)
    else:
        yield hit("config.key-unread", part, item, **values)


def _is_old(component: str, since: tuple[int, ...] | None, job: ConfigContext) -> bool:
    """Whether a change came before the newest major version of which the settings know."""
    seen = (release(c.since) for s in job.settings for c in (s.changed,) if c is not None and c.component == component)
    return since is not None and max((v[0] for v in seen if v), default=0) > since[0]


def _removed(*, certain: bool, new: bool) -> str:
    if new:
        return "config.key-replaced" if certain else "config.key-replaced-since"
    return "config.key-removed" if certain else "config.key-removed-since"


def _unread(
    part: ConfigPart, setting: Setting, path: tuple[str, ...], item: ConfigValue, holds: Mapping[str, str | None]
) -> Iterator[ConfigFinding]:
    if not setting.only_when:
        return
    asked = [condition.partition("=") for condition in setting.only_when]
    if any(name not in holds or holds[name] in {None, value} for name, _, value in asked):
        return
    name, _, value = asked[0]
    harmless = str(item.value).lower() in {word.lower() for word in setting.harmless}
    if harmless and (not item.value or truth(item.value) is False or item.value == "none"):
        return  # what is switched off needs no word, and `accelerate config` writes such keys itself
    yield hit(
        "config.key-leftover" if harmless else "config.key-ignored", part, item,
        key=".".join(path), value=short(item.shown), needs=f"{name}={value}", have=f"{name}={holds[name]}",
    )  # fmt: skip


def _conditions(part: ConfigPart, job: ConfigContext) -> dict[str, str | None]:
    """Return what the part says about the names that records put conditions on; None where it says nothing."""
    holds: dict[str, str | None] = {}
    fsdp = fsdp_of(part, job) if part.kind in {"accelerate", "fsdp-config"} else None
    if fsdp is not None:
        holds["fsdp_version"] = None if fsdp.version is None else str(fsdp.version)
        policy = fsdp.get("auto_wrap_policy")
        if policy is not None and isinstance(policy.value, str):
            holds["auto_wrap_policy"] = policy.value.upper()
    if part.kind == "accelerate" and isinstance(part.value("distributed_type"), str):
        holds["distributed_type"] = part.value("distributed_type")
        stage = number(part.value("deepspeed_config", "zero_stage"))
        if stage is not None:
            holds["zero_stage"] = str(stage)
    if part.kind == "deepspeed" and part.value("zero_optimization", "stage") not in (None, "auto"):
        holds["zero_stage"] = str(stage_of(part))
    return holds


def duplicates(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """A name given twice: the last one wins, or the file is refused."""
    del job
    for name, first, second in part.duplicates:
        yield hit("config.duplicate-key", part, first, second, key=short(name), first=first, second=second)


def unknown_accelerate(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """Accelerate stops at a key that it does not know, and passes over one inside a block."""
    names = known.ACCELERATE if part.value("compute_environment") in (None, "LOCAL_MACHINE") else known.SAGEMAKER
    recorded_names = _names(job, "accelerate-config")
    for name, item in part.root.items():
        if name not in names and name not in recorded_names:
            yield _near(
                part, item, name, names, near="config.accelerate-unknown-key", far="config.accelerate-no-such-key"
            )
    for block, inside in (("fsdp_config", known.ACCELERATE_FSDP), ("deepspeed_config", known.ACCELERATE_DEEPSPEED)):
        value = part.value(block)
        for name, item in value.items() if isinstance(value, Mapping) else ():
            bare = name.removeprefix("fsdp_") if block == "fsdp_config" else name
            if bare not in inside and f"{block}.{name}" not in recorded_names:
                prefix = "fsdp_" if block == "fsdp_config" else ""
                names_here = [prefix + key for key in inside]
                yield _near(
                    part, item, name, names_here, near="config.nested-unknown-key", far="config.nested-unread-key",
                    block=block,
                )  # fmt: skip


def unknown_deepspeed(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """DeepSpeed passes over a top-level key that it does not know, and refuses one inside most blocks."""
    top = {*known.DEEPSPEED, *known.DEEPSPEED_REMOVED}
    blocks = [block for refusal in job.refusals if part.kind in refusal.kinds for block in refusal.blocks]
    zero = {name for block in blocks if block.path == "zero_optimization" for name in block.keys}
    for name, item in part.root.items():
        if name in top or name.startswith(("_", "#")):
            continue
        if name in zero:
            yield hit("config.deepspeed-misplaced-key", part, item, key=name, block="zero_optimization")
        else:
            yield _near(
                part,
                item,
                name,
                known.DEEPSPEED,
                near="config.deepspeed-unknown-key",
                far="config.deepspeed-unread-key",
            )
    for block in blocks:
        for name, item in written(part, block).items() if block.closed else ():
            if name not in block.keys and name != "**":
                yield _near(
                    part, item, name, block.keys, near="config.deepspeed-unknown-block-key",
                    far="config.deepspeed-no-such-block-key", block=block.path or "",
                )  # fmt: skip


def unknown_arguments(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """A call of TrainingArguments with a name that it does not take is a TypeError; a file may have others' names."""
    recorded_names = _names(job, "training-arguments")
    if part.name not in {"TrainingArguments", "Seq2SeqTrainingArguments"}:
        others = any(other.source is part.source for other in job.of("llama-factory"))
        yield from () if part.name or others else _misspelt(part, recorded_names)
        return
    for name, item in part.root.items():
        if name in known.TRAINING_ARGUMENTS or name in recorded_names or name[0] in "*#":
            continue
        if name in known.ARGUMENTS_OLD:
            yield hit("config.arguments-not-known", part, item, key=name)
        else:
            yield _near(
                part, item, name, known.TRAINING_ARGUMENTS, near="config.arguments-unknown",
                far="config.arguments-not-known",
            )  # fmt: skip


def _misspelt(part: ConfigPart, recorded_names: frozenset[str]) -> Iterator[ConfigFinding]:
    """Yield the names of a file that are all but an argument's, where that argument itself is not written."""
    for name, item in part.root.items():
        if name in known.TRAINING_ARGUMENTS or name in known.ARGUMENTS_OLD or name in recorded_names:
            continue
        near = get_close_matches(name, sorted(known.TRAINING_ARGUMENTS - set(part.root)), 1, _ALL_BUT)
        if near:
            yield hit("config.arguments-unknown", part, item, key=short(name), near=near[0])


def unknown_fsdp(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """The Trainer reads the keys that it knows and passes over the rest."""
    recorded_names = _names(job, "fsdp-config")
    for name, item in part.root.items():
        bare = name.removeprefix("fsdp_")
        if bare in known.FSDP_CONFIG or bare in recorded_names or name == "**":
            continue
        yield _near(
            part, item, name, known.FSDP_CONFIG, near="config.nested-unknown-key", far="config.nested-unread-key",
            block="fsdp_config",
        )  # fmt: skip


def unknown_lightning(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """Lightning's Trainer refuses an argument that it does not take."""
    recorded_names = _names(job, "lightning.Trainer")
    for name, item in part.root.items():
        if name not in known.LIGHTNING_TRAINER and name not in recorded_names and name[0] not in "*#":
            yield _near(
                part, item, name, known.LIGHTNING_TRAINER, near="config.lightning-unknown-argument",
                far="config.lightning-no-such-argument",
            )  # fmt: skip


def unknown_keys(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """A trainer stops at a key of its file that none of its arguments has."""
    recorded_names = _names(job, "training-arguments")
    for refusal in (one for one in job.refusals if is_about(one, part) and not one.together):
        closed = [one for one in refusal.blocks if one.closed and one.path is None and not is_open_to_more(one, part)]
        for block in closed:
            for name, item in part.root.items():
                if name in block.keys or name in recorded_names or name == "<<":
                    continue
                close = get_close_matches(name, sorted(set(block.keys) - set(part.root)), 1, _CLOSE)
                values = {"tool": refusal.tool, "key": short(name)}
                if close:
                    yield hit("config.trainer-unknown-value", part, item, allowed=close[0], **values)
                else:
                    yield hit("config.trainer-refuses", part, item, **values)


def unknown_options(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """A launcher stops at an option that it does not have; some take the beginning of one for it."""
    for refusal in (one for one in job.refusals if is_about(one, part) and not one.together):
        names = {name for block in refusal.blocks if block.closed and block.path is None for name in block.keys}
        for flag, word in part.extra.get("typed", {}).items() if names else ():
            name = normal(part.name, flag)
            begins = part.name in ABBREVIATE and any(known_name.startswith(name) for known_name in names)
            misspelt = "-" in flag[2:] and ("_" in flag or part.name in UNDERSCORES)
            if not _OPTION.fullmatch(flag) or not (misspelt or not (name in names or begins)):
                continue
            values = {"tool": refusal.tool, "key": short(flag)}
            close = [name] if name in names else get_close_matches(name, sorted(names - set(part.root)), 1, _CLOSE)
            if close:
                yield hit("config.trainer-unknown-value", part, word.line, allowed=f"--{close[0]}", **values)
            else:
                yield hit("config.trainer-refuses", part, word.line, **values)


def _names(job: ConfigContext, place: str) -> frozenset[str]:
    prefix = place + "."
    return frozenset(s.id.removeprefix(prefix) for s in job.settings if s.id.startswith(prefix))


def _near(
    part: ConfigPart, item: ConfigValue, name: str, names: Iterable[str], *, near: str, far: str, **values: str
) -> ConfigFinding:
    close = get_close_matches(name, sorted(names), 1, _CLOSE)
    if close:
        return hit(near, part, item, key=short(name), near=close[0], **values)
    return hit(far, part, item, key=short(name), **values)


RULES = (
    ConfigRule(
        ids=(
            "config.key-renamed",
            "config.key-deprecated",
            "config.key-removed",
            "config.key-removed-since",
            "config.key-replaced",
            "config.key-replaced-since",
            "config.key-replaced-long-since",
            "config.key-unread",
            "config.key-ignored",
            "config.key-leftover",
        ),
        kinds=tuple(_PLACES),
        check=recorded,
    ),
    ConfigRule(ids=("config.duplicate-key",), kinds=tuple(_PLACES), check=duplicates),
    ConfigRule(
        ids=(
            "config.accelerate-unknown-key",
            "config.accelerate-no-such-key",
            "config.nested-unknown-key",
            "config.nested-unread-key",
        ),
        kinds=("accelerate",),
        check=unknown_accelerate,
    ),
    ConfigRule(
        ids=(
            "config.deepspeed-unknown-key",
            "config.deepspeed-unread-key",
            "config.deepspeed-misplaced-key",
            "config.deepspeed-unknown-block-key",
            "config.deepspeed-no-such-block-key",
        ),
        kinds=("deepspeed",),
        check=unknown_deepspeed,
    ),
    ConfigRule(
        ids=("config.arguments-unknown", "config.arguments-not-known"),
        kinds=("training-arguments",),
        check=unknown_arguments,
    ),
    ConfigRule(
        ids=("config.nested-unknown-key", "config.nested-unread-key"), kinds=("fsdp-config",), check=unknown_fsdp
    ),
    ConfigRule(
        ids=("config.trainer-unknown-value", "config.trainer-refuses"), kinds=("llama-factory",), check=unknown_keys
    ),
    ConfigRule(
        ids=("config.trainer-refuses", "config.trainer-unknown-value"), kinds=("command",), check=unknown_options
    ),
    ConfigRule(
        ids=("config.lightning-unknown-argument", "config.lightning-no-such-argument"),
        kinds=("lightning-trainer",),
        check=unknown_lightning,
    ),
)
