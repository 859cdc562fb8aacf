"""Explains which timers can end this run, how long each is here, what moves it, and which one ran out."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from distkb.catalogue.settings import Knob, Setting, Timer, TimerDefault
from distkb.catalogue.versions import holds, installed, is_before, read_here
from distkb.evidence.observation import Observation, Quote
from distkb.settings.values import number

Source = Literal["knob", "default", "unknown"]
Origin = Literal["this", "shared", "other", "unsaid"]
NCCL2_SINCE = "2.15"
"""First version of torch in which `nccl` is another backend than `nccl-legacy`."""
_TOLERANCE = 0.02
"""Logs print what was set, but some print what was waited: that may be a little longer."""


class Firing(msgspec.Struct, frozen=True, kw_only=True):
    """A timer that ran out, as the log tells it."""

    observation: str
    """Id of the signature."""
    seconds: float | None
    """Time that the log names; None where it names none."""
    origin: Origin
    """`this`: the log's time is this timer's here and no other's. `shared`: other timers have the same time here.
    `other`: no timer that is known has the log's time here. `unsaid`: the log names no time."""
    same: tuple[str, ...] = ()
    """Ids of the other timers that have the log's time here."""
    missed: tuple[str, ...] = ()
    """Names of settings that give another time here: they did not reach the group that timed out."""
    quote: Quote | None = None


class TimerReading(msgspec.Struct, frozen=True, kw_only=True):
    """One timer in this environment."""

    timer: Timer
    seconds: float | None
    """Effective here; None where it cannot be known from the outside. 0 where it never runs out."""
    source: Source
    knob: str | None = None
    """Id of the setting that decides."""
    knob_name: str | None = None
    """The same, as it is typed."""
    value: str | None = None
    """Its value, as given."""
    default: TimerDefault | None = None
    """The default that holds here, also where a knob overrides it; None where it is not known which one does."""
    assumed: bool = False
    """True where the installed version is not known and the newest default was taken."""
    knobs: tuple[str, ...] = ()
    """Ids of the settings that move it and are read by the installed versions."""
    knob_names: tuple[str, ...] = ()
    """The same, as they are typed."""
    ineffective: tuple[str, ...] = ()
    """Names that are set here and do not move it, though people expect so."""
    fired: Firing | None = None

    @property
    def id(self) -> str:
        """Id of the timer."""
        return self.timer.id


def explain(  # noqa: PLR0913 - each answer that a timer depends on is an argument of its own
    timers: Iterable[Timer],
    settings: Iterable[Setting],
    environment: Mapping[str, str],
    versions: Mapping[str, str | None],
    *,
    backend: str | None,
    launcher: str | None,
    frameworks: Collection[str],
    observations: Iterable[Observation] = (),
    arguments: Mapping[str, str] | None = None,
) -> tuple[TimerReading, ...]:
    """Return the timers that matter here, in the catalogue's order.

    `backend` may be a list as init_process_group takes it; None keeps the timers of all backends. `arguments` is
    setting id → value for what is known from configuration files or code. Times are in seconds.
    """
    by_id = {setting.id: setting for setting in settings}
    here = _Here(
        by_id, environment, versions, arguments or {}, _conditions(backend, launcher, frameworks, environment, versions)
    )
    readings = [here.read(timer) for timer in timers if here.meets(timer.when) is not False]
    return _with_firings(readings, [o for o in observations if o.present])


def to_builtins(readings: Iterable[TimerReading]) -> list[dict[str, Any]]:
    """Return readings as plain data for JSON."""
    return [
        {
            "id": reading.timer.id,
            "title": {"en": reading.timer.title.en, "ko": reading.timer.title.ko},
            "when": list(reading.timer.when),
            "seconds": reading.seconds,
            "source": reading.source,
            "knob": reading.knob,
            "value": reading.value,
            "assumed": reading.assumed,
            "knobs": list(reading.knobs),
            "ineffective": list(reading.ineffective),
            "entry": reading.timer.entry,
            "fired": _firing(reading.fired),
        }
        for reading in readings
    ]


def _firing(fired: Firing | None) -> dict[str, Any] | None:
    if fired is None:
        return None
    quote = fired.quote
    return {
        "observation": fired.observation,
        "seconds": fired.seconds,
        "origin": fired.origin,
        "same": list(fired.same),
        "missed": list(fired.missed),
        "path": quote.path if quote else None,
        "line": quote.line if quote else None,
        "quote": quote.text if quote else None,
    }


def _conditions(
    backend: str | None,
    launcher: str | None,
    frameworks: Collection[str],
    environment: Mapping[str, str],
    versions: Mapping[str, str | None],
) -> dict[str, frozenset[str] | None]:
    """Return condition name → the values that hold; None where that is not known."""
    launchers = {launcher} if launcher else set()
    launchers |= {"torchrun"} if environment.get("TORCHELASTIC_RUN_ID") else set()
    launchers |= {"slurm"} if environment.get("SLURM_JOB_ID") else set()
    rendezvous = environment.get("PET_RDZV_BACKEND")
    return {
        "backend": _backends(backend, environment, versions) if backend else None,
        # A job of Slurm shows in its environment: where nothing is known it is none.
        "launcher": frozenset(launchers or {"torchrun"}),
        "framework": frozenset(frameworks),
        "rendezvous": frozenset({rendezvous}) if rendezvous else None,
    }


def _backends(backend: str, environment: Mapping[str, str], versions: Mapping[str, str | None]) -> frozenset[str]:
    """Return the backends of `cpu:gloo,cuda:nccl`; `nccl` also for its variants, and which of the two it is."""
    found = {part.rpartition(":")[2] for part in backend.lower().split(",")}
    if "nccl" in found:
        torch = installed(versions, "torch")
        older = torch is not None and is_before(torch, NCCL2_SINCE)
        found.add("nccl-legacy" if older or environment.get("TORCH_DIST_USE_NCCL2") == "0" else "nccl2")
    return frozenset(found | ({"nccl"} if found & {"nccl-legacy", "nccl2", "nccl-lazy"} else set()))


class _Here:
    """What is set and installed."""

    def __init__(
        self,
        settings: Mapping[str, Setting],
        environment: Mapping[str, str],
        versions: Mapping[str, str | None],
        arguments: Mapping[str, str],
        conditions: Mapping[str, frozenset[str] | None],
    ) -> None:
        self.settings = settings
        self.environment = environment
        self.versions = versions
        self.arguments = arguments
        self.conditions = conditions

    def meets(self, when: Sequence[str]) -> bool | None:
        """Whether all conditions hold; None where that is not known."""
        answers = [self._meets(condition) for condition in when]
        if False in answers:
            return False
        return None if None in answers else True

    def _meets(self, condition: str) -> bool | None:
        name, _, value = condition.partition("=")
        holding = self.conditions.get(name)
        return None if holding is None else value in holding

    def read(self, timer: Timer) -> TimerReading:
        """Return what one timer is here: its first knob that is set, else its default."""
        default, assumed = self._default(timer)
        knobs = tuple(knob for knob in timer.knobs if self._is_read(knob.setting) is not False)
        for knob in knobs:
            value = self.value(knob.setting)
            seconds = None if value is None else number(value)
            if value is not None:
                return self._reading(
                    timer,
                    knobs,
                    seconds=None if seconds is None else _duration(knob, seconds),
                    source="knob" if seconds is not None else "unknown",
                    knob=knob.setting,
                    knob_name=self.name(knob.setting),
                    value=value,
                    default=default,
                )
        seconds = default.seconds if default else None
        source: Source = "default" if default else "unknown"
        return self._reading(timer, knobs, seconds=seconds, source=source, default=default, assumed=assumed)

    def _reading(self, timer: Timer, knobs: Sequence[Knob], **found: Any) -> TimerReading:
        set_here = [self.name(i) for i in timer.not_moved_by if self.value(i) is not None]
        set_here += [
            self.name(k.setting)
            for k in timer.knobs
            if self._is_read(k.setting) is False and self.value(k.setting) is not None
        ]
        return TimerReading(
            timer=timer,
            knobs=tuple(knob.setting for knob in knobs),
            knob_names=tuple(self.name(knob.setting) for knob in knobs),
            ineffective=tuple(set_here),
            **found,
        )

    def value(self, identity: str) -> str | None:
        """Return what a setting is set to, None where it is not or to nothing."""
        value = self.arguments.get(identity) or self.environment.get(identity) or self._for_torchrun(identity)
        return value.strip() or None if value else None

    def _for_torchrun(self, identity: str) -> str | None:
        """Return a flag of torchrun that is given as PET_<NAME>, or a key of PET_RDZV_CONF."""
        if identity.startswith("torchrun.--"):
            return self.environment.get("PET_" + identity.removeprefix("torchrun.--").upper().replace("-", "_"))
        if identity.startswith("torchrun.rdzv-conf."):
            pairs = (pair.partition("=") for pair in self.environment.get("PET_RDZV_CONF", "").split(","))
            wanted = identity.removeprefix("torchrun.rdzv-conf.")
            return next((value for name, _, value in pairs if name.strip() == wanted), None)
        return None

    def name(self, identity: str) -> str:
        """Return how a setting is typed."""
        return self.settings[identity].name if identity in self.settings else identity

    def _is_read(self, identity: str) -> bool | None:
        setting = self.settings.get(identity)
        if setting is None or not setting.read_by:
            return None
        return read_here(setting.read_by, self.versions)

    def _default(self, timer: Timer) -> tuple[TimerDefault | None, bool]:
        """Return the default that holds, and whether the newest was taken because no version is known."""
        fitting = [default for default in timer.defaults if self._fits(default.when) is not False]
        sure = [default for default in fitting if holds(default, self.versions)]
        if sure:
            return (sure[0] if len({default.seconds for default in sure}) == 1 else None), False
        unknown = [d for d in fitting if installed(self.versions, d.component) is None]
        newest = [default for default in unknown if default.until is None]
        assumed = len({default.seconds for default in unknown}) > 1 or any(default.since for default in unknown)
        return (newest[0] if len({default.seconds for default in newest}) == 1 else None), bool(newest) and assumed

    def _fits(self, condition: str | None) -> bool | None:
        return True if condition is None else self._meets(condition)


def _with_firings(readings: Sequence[TimerReading], observations: Sequence[Observation]) -> tuple[TimerReading, ...]:
    """Say of each timer whether the log shows that it ran out."""
    fired: dict[str, Firing] = {}
    for observation in observations:
        suspects = [reading for reading in readings if observation.id in reading.timer.fired_by]
        # Where the log's time fits none, torch's own timer is named: a framework that is installed need not be used.
        suspects.sort(key=lambda reading: any(when.startswith("framework=") for when in reading.timer.when))
        seconds = seconds_of(observation)
        equal = _once([reading for reading in suspects if _same(reading.seconds, seconds)])
        for reading in equal or suspects[:1]:
            fired.setdefault(reading.timer.id, _fired(reading, observation, seconds, suspects, equal))
    return tuple(msgspec.structs.replace(reading, fired=fired.get(reading.timer.id)) for reading in readings)


def _once(readings: Sequence[TimerReading]) -> list[TimerReading]:
    """Leave out timers that one and the same setting moves: they are one timer then."""
    moved: set[str] = set()
    kept = []
    for reading in readings:
        if reading.knob is None or reading.knob not in moved:
            kept.append(reading)
        moved |= {reading.knob} if reading.knob else set()
    return kept


def _fired(
    reading: TimerReading,
    observation: Observation,
    seconds: float | None,
    suspects: Sequence[TimerReading],
    equal: Sequence[TimerReading],
) -> Firing:
    same = tuple(other.timer.id for other in equal if other is not reading)
    moved = [other for other in suspects if other.source == "knob" and not _same(other.seconds, seconds)]
    origin: Origin = "unsaid" if seconds is None else "other" if not equal else "shared" if same else "this"
    return Firing(
        observation=observation.id,
        seconds=seconds,
        origin=origin,
        same=same,
        missed=tuple(dict.fromkeys(other.knob_name for other in moved if other.knob_name))
        if seconds is not None
        else (),
        quote=observation.quotes[0] if observation.quotes else None,
    )


def _duration(knob: Knob, value: float) -> float | None:
    """Return the seconds that a knob's value means; None where an exponent is out of all bounds."""
    if knob.base is None:
        return value * knob.factor
    return knob.factor * knob.base**value if abs(value) <= 64 else None


def _same(mine: float | None, other: float | None) -> bool:
    return mine is not None and other is not None and mine > 0 and abs(mine - other) <= mine * _TOLERANCE


def seconds_of(observation: Observation) -> float | None:
    """Return the time that a timeout's line names: the signature's `timeout_ms`, else the first time in the quote."""
    milliseconds = observation.values.get("timeout_ms")
    if milliseconds and milliseconds.isdecimal() and len(milliseconds) < 16:
        return int(milliseconds) / 1000
    text = observation.quotes[0].text if observation.quotes else ""
    found = re.search(r"\b(?:for|after|timeout)[ =:(]{1,2}([0-9]{1,12}) ?(ms|milliseconds|s|sec|seconds)\b", text)
    if found is None:
        return None
    return int(found[1]) * (0.001 if found[2].startswith("m") else 1.0)
