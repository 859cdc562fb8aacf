"""One setting for people: what it does, who reads it in which versions, its defaults, and what to mind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from distkb.report.page import Ink, Page, plain
from distkb.report.timers import amount

if TYPE_CHECKING:
    from distkb.catalogue.compiled import Compiled
    from distkb.catalogue.records import Text, Version
    from distkb.catalogue.settings import Default, KnownNames, Setting, SettingKind, SettingStatus, Timer, Unit
    from distkb.locale import Say

SCHEMA = "distkb.setting/1"
_KIND: dict[SettingKind, str] = {
    "variable": "setting.kind.variable",
    "flag": "setting.kind.flag",
    "key": "setting.kind.key",
    "argument": "setting.kind.argument",
}
_STATUS: dict[SettingStatus, str] = {
    "current": "setting.status.current",
    "deprecated": "setting.status.deprecated",
    "renamed": "setting.status.renamed",
    "removed": "setting.status.removed",
    "unread": "setting.status.unread",
}
_UNIT: dict[Unit, str] = {"ms": "setting.unit.ms", "s": "setting.unit.s", "min": "setting.unit.min"}
_NOT_OURS = ("container", "launcher", "nccl-plugin")


class Surroundings(NamedTuple):
    """What a setting's page refers to."""

    timers: Sequence[Timer]
    entries: Mapping[str, Text]
    """Entry id → title."""
    names: Mapping[str, str]
    """Setting id → name."""

    @classmethod
    def of(cls, compiled: Compiled) -> Surroundings:
        """Take them from the catalogue."""
        return cls(
            timers=compiled.timers(),
            entries={row.id: row.title for row in compiled.titles()},
            names={setting.id: setting.name for setting in compiled.settings()},
        )


def write(
    settings: Sequence[Setting],
    around: Surroundings,
    say: Say,
    *,
    columns: int = 80,
    ink: Ink = plain,
) -> str:
    """Return the settings one below the other."""
    page = Page(columns, ink)
    for index, setting in enumerate(settings):
        if index:
            page.blank()
        _setting(page, setting, around, say)
    return page.text()


def document(settings: Sequence[Setting], listed: KnownNames | None = None, name: str = "") -> dict[str, Any]:
    """Return settings as plain data; a name that is only listed has no record."""
    return {
        "schema": SCHEMA,
        "settings": [msgspec.to_builtins(setting) for setting in settings],
        "listed": None
        if listed is None
        else {"name": name, "component": listed.component, "since": listed.since, "until": listed.until},
    }


def write_listed(name: str, group: KnownNames, say: Say, *, columns: int = 80, ink: Ink = plain) -> str:
    """Return the little that is known of a name that is only listed."""
    page = Page(columns, ink)
    page.title(name)
    if group.component in _NOT_OURS:
        page.paragraph(say("setting.listed-elsewhere", name=name, component=group.component))
    else:
        page.paragraph(say("setting.listed", name=name, range=_range(group, say)))
    return page.text()


def _setting(page: Page, setting: Setting, around: Surroundings, say: Say) -> None:
    page.title(setting.name)
    status = say(_STATUS[setting.status])
    if setting.changed is not None and setting.changed.since and setting.status != "current":
        changed = say("setting.changed", component=setting.changed.component, version=setting.changed.since)
        status = f"{status} ({changed})"
    kind = say(_KIND[setting.kind], place=setting.place)
    page.paragraph(say("setting.line", kind=kind, status=status), role="faint")
    page.blank()
    page.paragraph(say.text(setting.means))
    _instead(page, setting, around.names, say)
    _readers(page, setting, say)
    _values(page, setting, say)
    _timers(page, setting, around.timers, say)
    if setting.traps:
        page.heading(say("setting.traps"))
        for trap in setting.traps:
            page.item("-", say.text(trap))
    if setting.entry is not None:
        title = around.entries.get(setting.entry.partition(".")[0])
        page.heading(say("setting.entry"))
        page.item(setting.entry, say.text(title) if title else "")
    if setting.references:
        page.heading(say("setting.references"))
        for reference in setting.references:
            page.item("-", say("entry.reference", title=reference.title, accessed=reference.accessed))
            page.paragraph(reference.url, "    ", "faint")


def _instead(page: Page, setting: Setting, names: Mapping[str, str], say: Say) -> None:
    if not setting.replaced_by and setting.instead is None:
        return
    page.heading(say("setting.instead"))
    if setting.instead is not None:
        page.paragraph(say.text(setting.instead))
    for identity in setting.replaced_by:
        name = names.get(identity, identity)
        page.item("-", name if name == identity else say("setting.named", name=name, id=identity))


def _readers(page: Page, setting: Setting, say: Say) -> None:
    page.heading(say("setting.read-by"))
    if not setting.read_by:
        page.paragraph(say("setting.read-by-nothing"))
    for reader in setting.read_by:
        page.item("-", _range(reader, say))


def _values(page: Page, setting: Setting, say: Say) -> None:
    told = [", ".join(setting.allowed)] if setting.allowed else []
    told += [say(_UNIT[setting.unit])] if setting.unit else []
    if told:
        page.heading(say("setting.values"))
        page.paragraph(" · ".join(told))
    if setting.defaults:
        page.heading(say("setting.defaults"))
    for default in setting.defaults:
        key = "setting.default-when" if default.when else "setting.default"
        page.item("-", say(key, value=default.value, condition=default.when, range=_range(default, say)))


def _timers(page: Page, setting: Setting, timers: Sequence[Timer], say: Say) -> None:
    if setting.status == "unread":
        return
    moves = [timer for timer in timers if any(knob.setting == setting.id for knob in timer.knobs)]
    idle = [timer for timer in timers if setting.id in timer.not_moved_by]
    for key, chosen in (("setting.moves", moves), ("setting.does-not-move", idle)):
        if chosen:
            page.heading(say(key))
        for timer in chosen:
            newest = {default.seconds for default in timer.defaults if default.until is None}
            shown = " / ".join(amount(seconds, say) for seconds in sorted(newest))
            page.item("-", say("setting.timer", title=say.text(timer.title), amount=shown))


def _range(item: Version | Default | KnownNames, say: Say) -> str:
    values = {"component": item.component, "since": item.since, "until": item.until}
    if item.since and item.until:
        return say("version.between", **values)
    if item.since or item.until:
        return say("version.since" if item.since else "version.until", **values)
    return item.component
