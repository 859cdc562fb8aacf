"""The types of what a run can be set up with: variables, flags, keys and arguments, and the timers that they move.

A rename, a removal or a changed default is one record here, and serves every lint, the timeout explainer and the site.
"""

from __future__ import annotations

from typing import Literal

from distkb.catalogue.records import Record, Reference, Text, Version

SettingKind = Literal["variable", "flag", "key", "argument"]
"""`variable`: of the environment. `flag`: of a command line. `key`: of a configuration file.
`argument`: of a Python call."""
SettingStatus = Literal["current", "deprecated", "renamed", "removed", "unread"]
"""`renamed`: the old name may still work as an alias, `read_by` says until when.
`unread`: no version of anything that was looked at reads the name."""
SettingType = Literal["bool", "int", "float", "string", "enum", "duration", "size", "path", "list"]
Unit = Literal["ms", "s", "min"]


class Default(Record, frozen=True, kw_only=True):
    """The value that holds where nobody sets one."""

    value: str
    component: str
    since: str | None = None
    """First version, inclusive."""
    until: str | None = None
    """Last version, inclusive."""
    when: str | None = None
    """Condition as `name=value`, such as `backend=nccl`; None where it always holds."""


class Caution(Record, frozen=True, kw_only=True):
    """Values of a setting that do harm or surprise, with the finding that says so."""

    finding: str
    """Id of the finding; its text may use `name` and `value`."""
    values: tuple[str, ...] = ()
    """Values that it is about, in lower case; empty for any value."""
    component: str | None = None
    """Component whose version decides; None where the caution holds for every version."""
    since: str | None = None
    """First version, inclusive."""
    until: str | None = None
    """Last version, inclusive."""
    unless: str | None = None
    """A variable and its value, as `NAME=value`, with which it does not hold."""


SettingPlace = Literal[
    "environment", "torchrun", "accelerate-config", "deepspeed-config", "training-arguments", "fsdp-config",
    "lightning", "python", "slurm",
]  # fmt: skip
"""Where a setting is written: a variable, an option of a launcher, a key of a configuration file, an argument."""


class Setting(Record, frozen=True, kw_only=True):
    """One name that people set, with who reads it."""

    id: str
    """The name itself for variables; `place.name` for the rest: `torchrun.--rdzv-conf`,
    `deepspeed-config.zero_optimization.stage`, `accelerate-config.fsdp_config.fsdp_version`,
    `python.init_process_group.timeout`."""
    name: str
    """As it is typed."""
    kind: SettingKind
    place: SettingPlace
    status: SettingStatus = "current"
    means: Text
    """What it does; for a name that nothing reads, what people expect of it and that nothing happens."""
    read_by: tuple[Version, ...] = ()
    """Components and their versions that read the name; empty for `unread`."""
    type: SettingType | None = None
    unit: Unit | None = None
    allowed: tuple[str, ...] = ()
    defaults: tuple[Default, ...] = ()
    changed: Version | None = None
    """Component and first version (`since`) in which the status began to hold."""
    replaced_by: tuple[str, ...] = ()
    """Ids of the settings to use in its place."""
    instead: Text | None = None
    """What to do in its place, where no other name does the same."""
    traps: tuple[Text, ...] = ()
    cautions: tuple[Caution, ...] = ()
    only_when: tuple[str, ...] = ()
    """Conditions as `name=value`, such as `fsdp_version=1`, of which one must hold for it to be read at all."""
    harmless: tuple[str, ...] = ()
    """Values that ask for what holds anyway where it is not read."""
    entry: str | None = None
    """The entry that a wrong use of it leads to."""
    references: tuple[Reference, ...] = ()


class KnownNames(Record, frozen=True, kw_only=True):
    """Variables that a component reads and that need no record of their own: known names are not misspelled ones."""

    id: str
    """Dotted, the component first: `nccl.since-2-29-2`."""
    component: str
    since: str | None = None
    """First version that reads them, inclusive; None when older versions were not looked at."""
    until: str | None = None
    """Last version that reads them, inclusive."""
    names: tuple[str, ...]
    """Names; one that ends in `*` stands for every name that begins so."""


class Knob(Record, frozen=True, kw_only=True):
    """A setting that moves a timer."""

    setting: str
    """Id of the setting."""
    factor: float = 1.0
    """Seconds per unit of the setting's value."""
    base: float | None = None
    """Set where the value is an exponent: the timer is `factor` times `base` to the power of the value."""


class TimerDefault(Record, frozen=True, kw_only=True):
    """How long a timer runs where nobody moves it."""

    seconds: float
    component: str
    since: str | None = None
    until: str | None = None
    when: str | None = None
    """Condition as `name=value`, such as `backend=nccl`; None where it always holds."""


class Timer(Record, frozen=True, kw_only=True):
    """A clock that can end a run, or a wait inside it."""

    id: str
    """Dotted, the owner first: `torch.store.connect`, `torch.pg.nccl`, `accelerate.process-group`."""
    title: Text
    ends: Text
    """What happens when it runs out, and what does not."""
    when: tuple[str, ...] = ()
    """Conditions as `name=value` that must all hold for the timer to matter: `backend=nccl`, `framework=accelerate`."""
    defaults: tuple[TimerDefault, ...]
    knobs: tuple[Knob, ...] = ()
    """In the order in which they win."""
    not_moved_by: tuple[str, ...] = ()
    """Ids of settings that people try and that do not move it."""
    fired_by: tuple[str, ...] = ()
    """Ids of the signatures that show that it ran out."""
    entry: str | None = None
    references: tuple[Reference, ...] = ()


class RefusalRule(Record, frozen=True, kw_only=True):
    """Settings with which a tool refuses to start. How a condition is written is said in `conditions`."""

    when: tuple[str, ...]
    """Conditions that all hold."""
    unless: tuple[str, ...] = ()
    """Conditions of which one makes it all right."""


class Block(Record, frozen=True, kw_only=True):
    """The keys of one block of a file, with what may stand there."""

    path: str | None = None
    """Names that lead to it, joined by dots, with `[]` behind one for each item of a list; None for the file itself."""
    closed: bool = False
    """Whether a key that is not listed is refused."""
    unless: tuple[str, ...] = ()
    """Conditions of which one lets keys that are not listed stand in a closed block."""
    nulls: bool = True
    """Whether null stands for any value; where it does not, a shape says `null` where it may."""
    keys: dict[str, str]
    """Each key with its shape: how one is written is said in `shapes`."""


class Refusal(Record, frozen=True, kw_only=True):
    """What one tool refuses of a file before anything runs."""

    id: str
    """The tool's name in lower case: `axolotl`."""
    tool: str
    """As it is shown."""
    kinds: tuple[str, ...]
    """Kinds of configuration, as the reader calls them: `axolotl`, `deepspeed`, `accelerate`."""
    launchers: tuple[str, ...] = ()
    """Of commands, those of which launchers, as the reader calls them; empty for every command."""
    overridden_by: tuple[str, ...] = ()
    """Launchers whose options win over the file: a rule about a setting that such a command gives does not hold."""
    together: bool = False
    """Whether the rules are about one file of each kind: a path then begins with the kind, and `job.ranks` is known."""
    findings: str = "config.trainer"
    """How the ids of its findings begin: `-excludes`, `-needs`, `-refuses` and `-unknown-value` follow."""
    converts: bool = True
    """Whether a text that says a number or a yes is taken for one."""
    blocks: tuple[Block, ...] = ()
    rules: tuple[RefusalRule, ...] = ()
    references: tuple[Reference, ...]


class SettingsFile(Record, frozen=True, kw_only=True):
    """The content of one file in `kb/settings/`."""

    settings: tuple[Setting, ...] = ()
    names: tuple[KnownNames, ...] = ()
    timers: tuple[Timer, ...] = ()
    refusals: tuple[Refusal, ...] = ()
