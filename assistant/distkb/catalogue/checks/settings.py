"""Settings and timers refer to what exists, and their versions and statuses can be true together."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from distkb.catalogue import shapes
from distkb.catalogue.conditions import parse
from distkb.catalogue.settings import Caution, Default, TimerDefault
from distkb.catalogue.validate import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distkb.catalogue.load import Loaded, Located
    from distkb.catalogue.problem import Problem
    from distkb.catalogue.records import Version
    from distkb.catalogue.settings import KnownNames, Refusal, Setting, Timer
    from distkb.catalogue.source import Key

_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+){0,3}")
_CONDITION = re.compile(r"(backend|launcher|framework|rendezvous)=[a-z0-9-]+")
_NAME = re.compile(r"[A-Z][A-Z0-9_]*\*?")
_PLACEHOLDER = re.compile(r"\{([a-z]+)\}")
_GIVEN: Final = frozenset({"name", "value", "instead", "component", "version", "since", "until"})
"""What the lint puts into a caution's finding."""


def check_settings(loaded: Loaded) -> Iterator[Problem]:
    """Report dangling references, malformed versions, and statuses that their own fields contradict."""
    ids = {record.value.id for record in loaded.of("setting")} | loaded.broken
    entries = {record.value.id for record in loaded.of("entry")} | loaded.broken
    entries |= {cause.id for record in loaded.of("entry") for cause in record.value.causes}
    findings = {record.value.id: record.value for record in loaded.of("finding")}
    lines = {record.value.id for record in loaded.of("signature")} | set(findings) | loaded.broken
    for record in loaded.of("setting"):
        yield from _setting(record, record.value, ids, findings, loaded)
        yield from _entry(record, record.value.entry, entries)
    for record in loaded.of("timer"):
        yield from _timer(record, record.value, ids, lines)
        yield from _entry(record, record.value.entry, entries)
    for record in loaded.of("names"):
        yield from _names(record, record.value)
    for record in loaded.of("refusal"):
        yield from _rules(record, record.value)
        yield from _blocks(record, record.value)
    yield from _twice(loaded)


def _setting(
    record: Located, setting: Setting, ids: set[str], findings: dict[str, Any], loaded: Loaded
) -> Iterator[Problem]:
    for index, name in enumerate(setting.replaced_by):
        yield from _known(record, name, ids, ("replaced_by", index))
        if name == setting.id:
            yield record.problem("a setting cannot replace itself", "replaced_by", index)
    for field in ("read_by", "defaults", "cautions"):
        for index, item in enumerate(getattr(setting, field)):
            yield from _versions(record, item, (field, index))
    if setting.changed is not None:
        yield from _versions(record, setting.changed, ("changed",))
    yield from _status(record, setting)
    for index, caution in enumerate(setting.cautions):
        finding = findings.get(caution.finding)
        at = ("cautions", index, "finding")
        if finding is None and caution.finding not in loaded.broken:
            hint = did_you_mean(caution.finding, findings)
            yield record.problem(f"no finding is called '{caution.finding}'{hint}", *at)
        elif finding is not None:
            missing = _placeholders(finding) - _GIVEN
            if missing:
                yield record.problem(f"'{caution.finding}' uses {{{min(missing)}}}, which nobody gives it", *at)


def _status(record: Located, setting: Setting) -> Iterator[Problem]:
    if setting.status == "unread" and setting.read_by:
        yield record.problem("'unread' is read by nothing: 'read_by' must be empty", "read_by", of_name=True)
    if setting.status != "unread" and not setting.read_by:
        yield record.problem("'read_by' is empty: say who reads it, or give it the status unread", "status")
    if setting.status == "renamed" and not setting.replaced_by:
        yield record.problem("'renamed' needs 'replaced_by': the new name", "status")
    if setting.status in ("renamed", "deprecated", "removed") and setting.changed is None:
        yield record.problem(f"'{setting.status}' needs 'changed': since which version", "status")
    if setting.status == "removed" and any(reader.until is None for reader in setting.read_by):
        yield record.problem("'removed' needs an 'until' for every reader", "status")
    if setting.kind == "variable" and setting.id != setting.name:
        yield record.problem("the id of a variable is its name", "id")


def _timer(record: Located, timer: Timer, ids: set[str], lines: set[str]) -> Iterator[Problem]:
    for index, knob in enumerate(timer.knobs):
        yield from _known(record, knob.setting, ids, ("knobs", index, "setting"))
        if knob.factor <= 0:
            yield record.problem("'factor' must be above 0", "knobs", index)
    moves = {knob.setting for knob in timer.knobs}
    for index, name in enumerate(timer.not_moved_by):
        yield from _known(record, name, ids, ("not_moved_by", index))
        if name in moves:
            yield record.problem(f"'{name}' is also among the knobs", "not_moved_by", index)
    for index, name in enumerate(timer.fired_by):
        if name not in lines:
            hint = did_you_mean(name, lines)
            yield record.problem(f"no signature or finding is called '{name}'{hint}", "fired_by", index)
    for index, condition in enumerate(timer.when):
        yield from _condition(record, condition, ("when", index))
    if not timer.defaults:
        yield record.problem("'defaults' is empty", "defaults")
    for index, default in enumerate(timer.defaults):
        yield from _versions(record, default, ("defaults", index))
        if default.seconds < 0:
            yield record.problem("'seconds' cannot be negative", "defaults", index)
        if default.when is not None:
            yield from _condition(record, default.when, ("defaults", index, "when"))


def _names(record: Located, group: KnownNames) -> Iterator[Problem]:
    yield from _versions(record, group, ())
    if not group.names:
        yield record.problem("'names' is empty", "names")
    for index, name in enumerate(group.names):
        if not _NAME.fullmatch(name):
            yield record.problem(f"'{name}' is no name of a variable", "names", index)


def _rules(record: Located, refusal: Refusal) -> Iterator[Problem]:
    for index, rule in enumerate(refusal.rules):
        if not rule.when:
            yield record.problem("'when' is empty", "rules", index, "when")
        for field, given in (("when", rule.when), ("unless", rule.unless)):
            for place, text in enumerate(given):
                if parse(text) is None:
                    yield record.problem(f"'{text}' is no condition", "rules", index, field, place)


def _blocks(record: Located, refusal: Refusal) -> Iterator[Problem]:
    for index, block in enumerate(refusal.blocks):
        for place, text in enumerate(block.unless):
            if parse(text) is None:
                yield record.problem(f"'{text}' is no condition", "blocks", index, "unless", place)
        for name, shape in block.keys.items():
            if not shapes.parse(shape):
                yield record.problem(f"'{shape}' is no shape of a value", "blocks", index, "keys", name)


def _twice(loaded: Loaded) -> Iterator[Problem]:
    """Report a name that is in a list although it has a record, or in two lists."""
    seen = {record.value.name for record in loaded.of("setting") if record.value.kind == "variable"}
    for record in loaded.of("names"):
        for index, name in enumerate(record.value.names):
            if name in seen:
                yield record.problem(f"'{name}' is already known", "names", index)
            seen.add(name)


def _known(record: Located, name: str, ids: set[str], at: Key) -> Iterator[Problem]:
    if name not in ids:
        yield record.problem(f"no setting has the id '{name}'{did_you_mean(name, ids)}", *at)


def _entry(record: Located, entry: str | None, entries: set[str]) -> Iterator[Problem]:
    if entry is not None and entry not in entries:
        yield record.problem(f"no entry or cause has the id '{entry}'{did_you_mean(entry, entries)}", "entry")


def _condition(record: Located, condition: str, at: Key) -> Iterator[Problem]:
    if not _CONDITION.fullmatch(condition):
        message = f"'{condition}' must be backend=, launcher=, framework= or rendezvous= and a value"
        yield record.problem(message, *at)


def _versions(
    record: Located, item: Version | Default | TimerDefault | Caution | KnownNames, at: Key
) -> Iterator[Problem]:
    for field in ("since", "until"):
        version = getattr(item, field)
        if version is not None and not _VERSION.fullmatch(version):
            yield record.problem(f"'{version}' is no version", *at, field)
            return
    if item.since and item.until and _numbers(item.since)[: len(_numbers(item.until))] > _numbers(item.until):
        yield record.problem(f"'until' {item.until} comes before 'since' {item.since}", *at, "until")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _placeholders(finding: Any) -> set[str]:
    texts = [text for both in (finding.says, finding.fix) if both for text in (both.en, both.ko)]
    return {name for text in [*texts, *finding.commands] for name in _PLACEHOLDER.findall(text)}
