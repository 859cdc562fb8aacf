"""Finds environment variables that do nothing, do harm, or do not say what they seem to say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from distkb.catalogue.records import Version
from distkb.catalogue.settings import Caution, KnownNames, Setting
from distkb.catalogue.versions import holds, installed, is_after, is_before, read_here
from distkb.evidence.observation import Observation, Quote
from distkb.evidence.text.clean import mask, plain
from distkb.settings.spelling import Names
from distkb.settings.values import fault, unlikely_amount

_VALUE_SHOWN = 80


def lint(
    settings: Sequence[Setting],
    names: Sequence[KnownNames],
    environment: Mapping[str, str],
    versions: Mapping[str, str | None],
) -> list[Observation]:
    """Return what is wrong with the variables of an environment, in order of name.

    `versions` is component → installed version, None where it is not installed or not known: what depends on such a
    version is not said. Variables set to nothing count as not set.
    """
    return list(_Lint(settings, names, environment, versions).run())


class _Lint:
    """One environment beside what is known about names."""

    def __init__(
        self,
        settings: Sequence[Setting],
        names: Sequence[KnownNames],
        environment: Mapping[str, str],
        versions: Mapping[str, str | None],
    ) -> None:
        variables = [setting for setting in settings if setting.kind == "variable"]
        self.by_id = {setting.id: setting for setting in settings}
        self.by_name = {setting.name: setting for setting in variables}
        self.older = {new: setting for setting in variables for new in setting.replaced_by}
        self.groups = {name: group for group in names for name in group.names}
        self.names = Names(variables, names)
        self.environment = {name: value.strip() for name, value in environment.items() if value.strip()}
        self.versions = {name: None if version is None else _shown(version) for name, version in versions.items()}

    def run(self) -> Iterator[Observation]:
        for name, value in sorted(self.environment.items()):
            setting = self.by_name.get(name)
            if setting is not None:
                yield from self._known(setting, value)
            elif name in self.groups:
                yield from self._listed(self.groups[name], name, value)
            else:
                yield from self._unknown(name, value)

    def _known(self, setting: Setting, value: str) -> Iterator[Observation]:
        reading = read_here(setting.read_by, self.versions)
        told = list(self._status(setting, value, reading))
        yield from told
        if setting.status == "unread" or reading is False:
            return
        wrong = fault(setting, value)
        if wrong is not None:
            yield self._found("settings.bad-value", setting, value, allowed=wrong)
        elif (amount := unlikely_amount(setting, value)) is not None:
            yield self._found("settings.unit", setting, value, unit=setting.unit or "", amount=amount)
        for caution in setting.cautions:
            if self._applies(caution, value):
                yield self._found(caution.finding, setting, value)

    def _status(self, setting: Setting, value: str, reading: bool | None) -> Iterator[Observation]:
        if setting.status == "unread":
            yield self._found("settings.unread" if setting.replaced_by else "settings.unread-plain", setting, value)
        elif setting.status == "renamed" and not self._still_current(setting):
            yield from self._renamed(setting, value, reading)
        elif setting.status == "deprecated" and reading is not False and not self._still_current(setting):
            yield self._found("settings.deprecated", setting, value)
        elif setting.status == "removed" and reading is True:
            yield self._found("settings.removed-later", setting, value)
        elif reading is False:
            yield from self._not_read_here(setting, value)

    def _renamed(self, setting: Setting, value: str, reading: bool | None) -> Iterator[Observation]:
        """Both names with one value are a script for several versions: nothing is wrong with it."""
        newer = [self._name(identity) for identity in setting.replaced_by]
        given = [self.environment[name] for name in newer if name in self.environment]
        if not given:
            identity = "settings.renamed-unread" if reading is False else "settings.renamed"
            yield self._found(identity, setting, value)
        elif given[0] != value:
            yield self._found("settings.renamed-overridden", setting, value, winner=_shown(given[0]))

    def _not_read_here(self, setting: Setting, value: str) -> Iterator[Observation]:
        reader = next(r for r in setting.read_by if installed(self.versions, r.component))
        version = self.versions[reader.component] or ""
        if reader.since is None or not is_before(version, reader.since):
            gone = max((r for r in setting.read_by if r.until), key=lambda r: r.until or "", default=reader)
            yield self._found("settings.removed", setting, value, component=gone.component, until=gone.until or "")
            return
        reads = {"component": reader.component, "version": version, "since": reader.since}
        older = self.older.get(setting.id)
        if older is None or not read_here(older.read_by, self.versions):
            yield self._found("settings.not-yet", setting, value, **reads)
        elif older.name not in self.environment:
            yield self._found("settings.not-yet-older-name", setting, value, instead=older.name, **reads)

    def _still_current(self, setting: Setting) -> bool:
        """Whether the installed version is older than the one in which the status began."""
        changed: Version | None = setting.changed
        version = installed(self.versions, changed.component) if changed else None
        return bool(changed and changed.since and version and is_before(version, changed.since))

    def _applies(self, caution: Caution, value: str) -> bool:
        if caution.values and value.lower() not in caution.values:
            return False
        if caution.unless is not None:
            name, _, other = caution.unless.partition("=")
            if self.environment.get(name) == other:
                return False
        if caution.component is None:
            return True
        holding = holds(Version(component=caution.component, since=caution.since, until=caution.until), self.versions)
        return holding is True

    def _listed(self, group: KnownNames, name: str, value: str) -> Iterator[Observation]:
        version = installed(self.versions, group.component)
        if version is None or holds(group, self.versions):
            return
        gone = group.until is not None and is_after(version, group.until)
        yield _observation(
            "settings.removed" if gone else "settings.not-yet",
            name,
            value,
            component=group.component,
            version=version,
            since=group.since or "",
            until=group.until or "",
        )

    def _unknown(self, name: str, value: str) -> Iterator[Observation]:
        meant = self.names.meant(name)
        if meant is not None:
            already = meant in self.environment
            yield _observation(
                "settings.misspelled-twice" if already else "settings.misspelled", name, value, instead=meant
            )
        elif self.names.belongs(name):
            yield _observation("settings.unknown", name, value)

    def _name(self, identity: str) -> str:
        setting = self.by_id.get(identity)
        return setting.name if setting else identity

    def _found(self, identity: str, setting: Setting, value: str, **values: str) -> Observation:
        component = setting.changed or next(iter(setting.read_by), None)
        filled = {
            "instead": ", ".join(self._name(identity) for identity in setting.replaced_by),
            "component": component.component if component else "",
            "version": (installed(self.versions, component.component) or "") if component else "",
            "since": (component.since or "") if component else "",
        }
        return _observation(identity, setting.name, value, **{**filled, **values})


def _observation(identity: str, name: str, value: str, **values: str) -> Observation:
    line = mask(plain(f"{name}={value}"))
    shown_name, _, shown = line.partition("=")
    shown = _cut(shown)
    empty = dict.fromkeys(("instead", "component", "version", "since", "until"), "")
    return Observation(
        id=identity,
        source="probe",
        quotes=(Quote(text=f"{shown_name}={shown}"),),
        values={**empty, "name": shown_name, "value": shown, **values},
    )


def _shown(value: str) -> str:
    return _cut(mask(plain(value)))


def _cut(text: str) -> str:
    return text if len(text) <= _VALUE_SHOWN else text[: _VALUE_SHOWN - 1] + "…"
