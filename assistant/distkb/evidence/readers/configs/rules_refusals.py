"""Applies what the catalogue knows of the tools' own validators: the rules are data, in `kb/settings/refusals.yaml`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import get_args

import msgspec

from distkb.catalogue.conditions import Condition, is_number, parse
from distkb.catalogue.settings import Refusal, RefusalRule
from distkb.evidence.readers.configs.conditions import holds, items
from distkb.evidence.readers.configs.item import ConfigPart, ConfigValue, Kind
from distkb.evidence.readers.configs.job import ConfigContext, ConfigFinding, ConfigRule, hit, short, world_size
from distkb.evidence.readers.configs.launch_command import is_open
from distkb.evidence.readers.configs.python_file import SPREAD
from distkb.evidence.readers.configs.rules_shapes import is_about

_parsed = lru_cache(maxsize=None)(parse)


def refused(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """What the tool that reads this file refuses: a value, two settings together, or one without another."""
    seen: set[tuple[str, ...]] = set()
    for refusal in job.refusals:
        for rule in refusal.rules if is_about(refusal, part) and not refusal.together else ():
            if rule.when not in seen and (when := _met(rule, part)) and not _is_given(refusal, rule, part, job):
                seen.add(rule.when)
                yield _told(part, refusal, when, rule.unless)


def refused_together(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """What a tool refuses of several files: looked at once, from the first of them."""
    for refusal in (one for one in job.refusals if one.together and part.kind in one.kinds):
        alone = {
            kind: [one for one in job.parts if one.kind == kind and is_about(refusal, one) and not one.owner]
            for kind in refusal.kinds
        }
        parts = {kind: files[0] for kind, files in alone.items() if len(files) == 1}
        if next(iter(parts.values()), None) is not part or len(parts) < 2:
            continue
        roots = {kind: ConfigValue(value=one.root, line=one.line) for kind, one in parts.items()}
        if (ranks := world_size(job)) is not None:
            roots["job"] = ConfigValue(value={"ranks": ConfigValue(value=ranks, line=part.line)}, line=part.line)
        extra = {"open": any(map(is_open, parts.values()))}
        whole = msgspec.structs.replace(part, root=roots, extra=extra)
        for rule in refusal.rules:
            if when := _met(rule, whole):
                found = _told(whole, refusal, when, rule.unless)
                looked_at = [path for c in when for path in _paths(c)]
                named = {path.partition(".")[0] for path in looked_at}
                lacking = {text.partition(".")[0] for text in rule.unless} - named
                places = {
                    (kind, item.line): (parts[kind], item.line)
                    for path in (*looked_at, *sorted(lacking))
                    if (kind := path.partition(".")[0]) in parts
                    for item in items(whole, path)[:1]
                }
                yield msgspec.structs.replace(found, places=tuple(places.values()) or found.places)


def _met(rule: RefusalRule, part: ConfigPart) -> list[Condition]:
    """Return the conditions of a rule that a file breaks; empty where it does not."""
    when, unless = ([c for c in map(_parsed, given) if c is not None] for given in (rule.when, rule.unless))
    if (is_open(part) or SPREAD in part.root) and (unless or any(c.negated for c in when)):
        return []  # what is lacking may stand in a variable
    refused = all(holds(c, part) for c in when) and not any(holds(c, part, in_doubt=True) for c in unless)
    return when if refused else []


def _is_given(refusal: Refusal, rule: RefusalRule, part: ConfigPart, job: ConfigContext) -> bool:
    """Whether a launch command of the job gives one of the settings itself, and so wins over the file."""
    wins = [one for one in job.of("command") if one.name in refusal.overridden_by] if part.kind != "command" else []
    names = {name for one in wins for name in one.root}
    looked_at = (c for text in (*rule.when, *rule.unless) if (c := _parsed(text)) is not None)
    return bool(names) and any(path.rpartition(".")[2] in names for c in looked_at for path in _paths(c))


def _told(part: ConfigPart, refusal: Refusal, when: list[Condition], unless: tuple[str, ...]) -> ConfigFinding:
    shown = [(path, item) for c in when if not c.negated for path in _paths(c) for item in items(part, path)[:1]]
    places: list[ConfigValue | int] = [item for _, item in shown] or [part.line]
    begins, tool = refusal.findings, refusal.tool
    named = list(dict.fromkeys(_setting(path, item, part.kind) for path, item in shown))
    last = when[-1]
    if last.operator == "!=":
        allowed = ", ".join(last.values)
        return hit(f"{begins}-unknown-value", part, *places, tool=tool, key=named[-1], allowed=allowed)
    if last.operator == "%":
        first, second = (
            " × ".join(_setting(path, item, part.kind) for path in paths for item in items(part, path)[:1])
            for paths in (last.paths, last.values[0].split("*"))
        )
        second = second or last.values[0]
        return hit(f"{begins}-indivisible", part, *places, tool=tool, first=first, second=second)
    if unless:
        needs = " | ".join(dict.fromkeys(_alternatives(unless)))
        return hit(f"{begins}-needs", part, *places, tool=tool, key=" + ".join(named), needs=needs)
    if len(named) == 1:
        return hit(f"{begins}-refuses", part, *places, tool=tool, key=named[0])
    return hit(f"{begins}-excludes", part, *places, tool=tool, first=" + ".join(named[:-1]), second=named[-1])


def _paths(condition: Condition) -> tuple[str, ...]:
    """Return every setting that a condition looks at."""
    two = condition.operator in {"%", "<>", ">", "<"} and not is_number(condition.values[0])
    return (*condition.paths, *(condition.values[0].split("*") if two else ()))


def _setting(path: str, item: ConfigValue, kind: Kind) -> str:
    name = (
        path.rstrip("#").partition(":")[0].removesuffix("{}").removesuffix("[]").replace("[].", ".").replace("{}", "")
    )
    if kind == "command" or name.startswith("command."):
        option = f"--{name.removeprefix('command.')}"
        return option if item.value is True else f"{option} {short(item.shown)}"
    name = next((name.removeprefix(f"{kind}.") for kind in get_args(Kind) if name.startswith(f"{kind}.")), name)
    return f"{name}: {'…' if isinstance(item.value, (dict, tuple)) else short(item.shown)}"


def _alternatives(unless: tuple[str, ...]) -> Iterator[str]:
    """Yield what makes it all right, each name once: a version may be written inside a block as well as above it."""
    names: set[str] = set()
    for text in unless:
        name = re.split(r"[=~<>!?]", text)[0].rpartition(".")[2]
        if name not in names or "=" not in text:
            names.add(name)
            yield _condition(text)


def _condition(text: str) -> str:
    """Return a condition as it would be written in the file."""
    condition = _parsed(text)
    if condition is None or condition.operator not in {"=", "~"}:
        return text.rstrip("?")
    return f"{condition.paths[0].removesuffix('[]')}: {' or '.join(condition.values)}"


_TRAINER = (
    "config.trainer-excludes",
    "config.trainer-indivisible",
    "config.trainer-needs",
    "config.trainer-refuses",
    "config.trainer-unknown-value",
)
RULES = (
    ConfigRule(ids=_TRAINER, kinds=("axolotl", "llama-factory", "training-arguments", "trl"), check=refused),
    ConfigRule(
        ids=(
            "config.deepspeed-excludes",
            "config.deepspeed-needs",
            "config.deepspeed-refuses",
            "config.deepspeed-unknown-value",
            "config.trainer-indivisible",
        ),
        kinds=("deepspeed",),
        check=refused,
    ),
    ConfigRule(ids=_TRAINER, kinds=("command",), check=refused),
    ConfigRule(
        ids=(*_TRAINER, "config.deepspeed-unknown-value", "config.fsdp-unknown-value"),
        kinds=("accelerate",),
        check=refused,
    ),
    ConfigRule(
        ids=(*_TRAINER, "config.deepspeed-needs"),
        kinds=("accelerate", "training-arguments", "deepspeed", "trl", "axolotl", "llama-factory"),
        check=refused_together,
    ),
)
