"""The catalogue's types: what an entry, a signature, an observation and a term are.

Everything distkb knows is an instance of these types, read from `kb/`.
They hold data only; nothing here reads a file or decides anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import msgspec

from distkb.catalogue.account import Account, ExampleProject, ExampleRun
from distkb.catalogue.message import LibraryMessages
from distkb.catalogue.records import LANGUAGES, How, Language, Record, Reference, Text, Version, Words
from distkb.catalogue.settings import KnownNames, Refusal, Setting, Timer

__all__ = [
    "BACKGROUND",
    "LANGUAGES",
    "PRIOR_WEIGHT",
    "PROBABILITY",
    "Catalogue",
    "Cause",
    "CodeChange",
    "Confusion",
    "Cost",
    "Cue",
    "Diagram",
    "Doing",
    "Entry",
    "Fact",
    "FactValue",
    "Family",
    "Finding",
    "Fix",
    "GlossaryFile",
    "How",
    "KnownNames",
    "Lane",
    "Language",
    "Likelihood",
    "ObservationFile",
    "Place",
    "Prior",
    "Reference",
    "Refusal",
    "Repro",
    "Risk",
    "Role",
    "Setting",
    "Severity",
    "Signature",
    "Status",
    "Step",
    "Term",
    "Text",
    "Timer",
    "Version",
    "Words",
]

Likelihood = Literal["always", "usually", "often", "sometimes", "rarely", "never"]
"""How probable an observation is, in words; `PROBABILITY` is the one table of numbers."""

PROBABILITY: dict[Likelihood, float] = {
    "always": 0.97,
    "usually": 0.80,
    "often": 0.50,
    "sometimes": 0.20,
    "rarely": 0.05,
    "never": 0.005,
}
"""P(observation | cause) for each word. Never 0 or 1: no single observation may settle a case alone."""

BACKGROUND: dict[Likelihood, float] = {
    "always": 0.95,
    "usually": 0.70,
    "often": 0.40,
    "sometimes": 0.15,
    "rarely": 0.03,
    "never": 0.001,
}
"""P(observation | some other cause) for each word of `background`. `never` is lower than in `PROBABILITY`:
an error message that one failure prints does not turn up in one of two hundred other failures by chance."""

Prior = Literal["very-common", "common", "uncommon", "rare", "very-rare"]
"""How often a cause is met among failing distributed runs, in words."""

PRIOR_WEIGHT: dict[Prior, float] = {
    "very-common": 16.0,
    "common": 8.0,
    "uncommon": 4.0,
    "rare": 2.0,
    "very-rare": 1.0,
}
"""Unnormalised prior of each word; only the ratios matter."""

Family = Literal["launch", "ddp", "fsdp", "deepspeed", "hangs", "numerics", "memory", "multinode", "nccl-host"]
Status = Literal["draft", "reviewed", "stable"]
Role = Literal["primary", "collateral", "context"]
"""`primary`: the line is the failure itself. `collateral`: its echo on a rank that is a witness.
`context`: says what the run was doing or how it is set up, and is no failure."""
Place = Literal[
    "log", "report", "frame", "raised", "stack", "asleep", "alone", "unequal", "last", "last-differs", "last-renamed",
    "other-word", "differs", "agrees", "constant", "ends-at-zero", "stands-out", "drifts", "starts-over", "rises-again",
    "takes-most", "slows", "on-both-sides", "left-behind", "changes",
    "falls-behind", "far-apart", "settles-early", "grows", "ends-alone-at-zero", "agrees-in-groups", "unexplained",
]  # fmt: skip
"""Where a pattern is looked for: program output, a person's words, the user's frames of a traceback or stack, the
user's innermost frame of a traceback and the libraries' below it, each with `| ` and its error (`raised`), all
frames of where a rank stood or failed, the libraries' too (`stack`), the user's frame in which a thread sleeps with
no frame below it, in a call that is no Python (`asleep`); in the ranks' output side by side: `alone`, lines that only
a few ranks printed, `unequal`, that some printed more often, `last`, the last words of ranks that left no failure,
`last-differs`, last words that name different things, `other-word`, each of the words that ranks say otherwise in a
line of which they say all else alike; and in the words around a number, which `§` stands for, where the ranks differ
in it, all agree, it `changes` once or never, as `left-behind` beside one of its name that does, falls to zero, is
several times as large on one, begins alike on all and goes apart, goes through its first values once more, comes back
after it had fallen to nothing, falls behind another number of its lines, or is the same within groups of ranks only;
`on-both-sides`, that of two numbers, its groups `value` and `bound`, the first is the smaller one on some ranks only.
`unexplained`, beside `log`: only in lines of which no other signature says what failed."""
Severity = Literal["error", "warning", "note"]
"""`error`: the run cannot work like this. `warning`: it may fail or misbehave. `note`: worth knowing, nothing wrong."""
Cost = Literal["seconds", "edit", "rerun", "reinstall", "admin"]
Risk = Literal["none", "low", "medium", "high"]


Given = Mapping[Likelihood, tuple[str, ...]]
"""How likely an observation is under causes that do not state it themselves: word → ids of causes or whole entries, or
a fact as `fact=value` for all causes that state of it that it holds often or more. A cause's own statement comes first,
then its id here, then that of its entry, then the fact."""


class Signature(Record, frozen=True, kw_only=True):
    """A line that a program prints, or a thing that people say, with what it means."""

    id: str
    """Stable name, dotted, the printing component first: `torch.ddp.reduction-unfinished`."""
    pattern: str
    """Regular expression in the subset that `re` and Hyperscan share; matched within one line.
    Named groups are read by the program: rank, peer, op, seq, timeout_ms, exitcode, signal, port, host, step,
    world_size, value, bound, sent_bytes, expected_bytes."""
    role: Role
    means: Text
    """What the line says about the run, in one sentence."""
    example: str | None = None
    """A line the pattern matches, as printed. Required unless the pattern is only for reports or frames."""
    seen_in: tuple[Version, ...] = ()
    background: Likelihood = "never"
    """How often the line turns up in failing runs whose cause does not list it."""
    group: str | None = None
    """Signatures of one group repeat one another: together they count once."""
    precedence: int = 0
    """Of the signatures of one group that match a line of the ranks' own, the one with the highest speaks for it."""
    where: tuple[Place, ...] = ("log", "report")
    printed_by: Literal["rank", "launcher", "system"] = "rank"
    """Who prints the line: a training process, what started it (torchrun, srun), or the machine (kernel log).
    Its absence from the ranks' output means something only where the ranks print it."""
    implies: tuple[str, ...] = ()
    """Facts, as `fact=value`, that a log with this line answers, so that nobody is asked."""
    concludes: tuple[str, ...] = ()
    """Facts that this line establishes: they count as evidence of their own."""
    telling: bool = True
    """False where it says by itself nothing about a failure, so that a run with nothing else is a healthy one."""
    ending: bool = False
    """True where the line tells that the run was ended from outside: never what was wrong before it."""
    passing: bool = False
    """True where the program tries again or lives with it: nothing failed where the steps went on behind the line."""
    refuted_by: tuple[str, ...] = ()
    """Observations beside which it counts for nothing."""
    given: Given = msgspec.field(default_factory=dict)
    yields_to: str | None = None
    """Group of observations that say more exactly what this one says: beside one of them it does not count."""


class FactValue(Record, frozen=True, kw_only=True):
    """One possible value of an intake fact."""

    value: str
    label: Text
    says: Text | None = None
    """The question and this answer as one sentence about the run; where it is missing, both are quoted."""
    share: float
    """Share of this value among failing runs of unknown cause; the shares of a fact sum to 1."""
    said_as: Words = Words()
    """Words that show this value in a person's report. Whole words in English, substrings in Korean.
    `*` stands for any ending, and `…` between two words for a few others of the same sentence."""
    hinted_as: Words = Words()
    """Words that go with this value more often than with another, without saying it. Written as in `said_as`."""
    shown_as: tuple[str, ...] = ()
    """What a program prints where this value holds; read where the person's own words leave the fact open."""
    alone: bool = False
    """Whether it excludes every other value, where several may hold at once."""


class Fact(Record, frozen=True, kw_only=True):
    """A question that an engineer can answer from the chair. Observed as `name=value`."""

    id: str
    question: Text
    why: Text
    """Why the answer matters: which causes it tells apart."""
    values: tuple[FactValue, ...]
    not_said_as: Words = Words()
    """Phrases that hold a word of some value and do not say it, such as `gradient checkpointing`."""
    seconds: float = 10.0
    """What answering costs, in seconds of looking and typing."""
    multi: bool = False
    """Whether several values may hold at once."""
    when: tuple[str, ...] = ()
    """Facts, as `fact=value`, of which one must hold for the question to make sense; empty where it always does."""
    answered_by: tuple[str, ...] = ()
    """Findings and signatures, or groups of them, that hold the answer: once one was seen, nobody is asked."""


class Finding(Record, frozen=True, kw_only=True):
    """Something that a reader or a probe can find, other than a line with a signature."""

    id: str
    """Dotted, the source first: `logs.one-rank-failed-first`, `stacks.one-rank-elsewhere`."""
    means: Text
    """What it says about the run, whatever the values."""
    role: Role = "context"
    background: Likelihood = "rarely"
    group: str | None = None
    implies: tuple[str, ...] = ()
    """Facts, as `fact=value`, that this finding answers, so that nobody is asked."""
    telling: bool = True
    """False where it says by itself nothing about a failure, so that a run with nothing else is a healthy one."""
    concludes: tuple[str, ...] = ()
    """Facts that this finding establishes: they count as evidence of their own."""
    excludes: tuple[str, ...] = ()
    """Values of facts, as `fact=value`, that this finding leaves no room for: how likely a cause shows it, and how
    likely any failure does, is what is left of its facts."""
    refuted_by: tuple[str, ...] = ()
    """Observations that show that it did not come to this: what a tool refuses at the start does not train."""
    severity: Severity | None = None
    """Set for what a probe or a lint reports to the user by itself."""
    says: Text | None = None
    """`means` with the values of this case put in: `port {port} is held by {holder}`. Particles that agree with a
    value are written `{을/를}`."""
    entry: str | None = None
    """The entry or cause (`D4`, `D18.b`) that it points to. A cause of it that does not state a likelihood of its own
    for this finding gets one by the severity."""
    fix: Text | None = None
    """The command or edit that repairs it, with the values put in."""
    commands: tuple[str, ...] = ()
    """To copy, with the values put in."""
    given: Given = msgspec.field(default_factory=dict)
    yields_to: str | None = None
    """Group of observations that say more exactly what this one says: beside one of them it does not count."""


class Step(Record, frozen=True, kw_only=True):
    """Something to ask, collect or probe that would tell causes apart."""

    id: str
    kind: Literal["ask", "collect", "probe"]
    text: Text
    """What to do, in one or two sentences."""
    commands: tuple[str, ...] = ()
    reveals: tuple[str, ...]
    """Ids of the observations (signatures, findings, `fact=value` or fact names) that it would show."""
    seconds: float
    """What it costs the user, waiting and typing together."""


class Cue(NamedTuple):
    """How likely an observation is if the cause is the true one."""

    observation: str
    likelihood: Likelihood


Shown = Mapping[Likelihood, tuple[str, ...]]
"""How likely observations are if the cause is the true one: word → ids of signatures and findings, or `fact=value`."""


class CodeChange(Record, frozen=True, kw_only=True):
    """The faulty code and its repair, side by side."""

    language: str = "python"
    before: str
    after: str


class Fix(Record, frozen=True, kw_only=True):
    """One way to repair a cause. Fixes of a cause are in the order to try them."""

    id: str
    """`D21.a.1`: the cause's id and a number."""
    title: Text
    steps: tuple[Text, ...]
    commands: tuple[str, ...] = ()
    code: CodeChange | None = None
    cost: Cost
    risk: Risk
    works: Likelihood = "usually"
    """How often it helps when the cause is the true one."""
    changes_results: Text | None = None
    """Set where the fix alters effective batch, learning rate, precision or data order: what to declare."""
    verify: Text
    """What shows that it worked."""
    workaround: bool = False
    """True where it only hides the cause."""


class Confusion(Record, frozen=True, kw_only=True):
    """Another entry or cause that looks the same, and how to tell."""

    id: str
    how_to_tell: Text


class Cause(Record, frozen=True, kw_only=True):
    """One way in which the failure comes about."""

    id: str
    """`D18.a`: the entry's id and a letter."""
    title: Text
    explanation: Text
    prior: Prior
    traits: tuple[str, ...] = ()
    """Traits of `kb/traits.yaml`: what is said there holds for this cause too, where it says nothing else itself."""
    takes: tuple[str, ...] = ()
    """Words of which code that can fail so has at least one, beside one of its entry's; see `Entry.takes`."""
    evidence: Shown = msgspec.field(default_factory=dict)
    fixes: tuple[Fix, ...]
    confused_with: tuple[Confusion, ...] = ()

    @property
    def cues(self) -> tuple[Cue, ...]:
        """What the cause shows, one observation at a time; in a loaded catalogue with that of its entry and traits."""
        return tuple(Cue(name, word) for word, names in self.evidence.items() for name in names)


class Trait(Record, frozen=True, kw_only=True):
    """What causes of many entries have in common, and what they therefore show."""

    id: str
    means: str
    """Of which causes it holds, in one sentence for authors."""
    takes: tuple[str, ...] = ()
    """Words that a cause takes; see `Entry.takes`."""
    evidence: Shown = msgspec.field(default_factory=dict)


class Repro(Record, frozen=True, kw_only=True):
    """How the entry is proven: its `repro.py` fails as it stands and is repaired by `--fixed`.

    Where hardware is needed there is no program: `recorded/` beside the entry holds what such a run leaves behind.
    """

    kind: Literal["cpu", "sim", "hw"] = "cpu"
    """`cpu`: the real failure. `sim`: the same wrong result without the hardware. `hw`: recorded artifacts only."""
    nproc: int = 0
    """Processes of a torchrun launch, on each node; 0 where the program starts its own."""
    seconds: float = 20
    """Upper bound for one run on two CPU cores."""
    shows: tuple[str, ...]
    """Signatures or findings of which at least one must come out of the broken run."""
    launch: Literal["torchrun", "python", "nodes"] = "torchrun"
    """`nodes`: one torchrun in each of `nodes` network namespaces, after `network.sh` where there is one."""
    nodes: int = 1
    needs: tuple[Literal["accelerate", "namespaces", "tensorboard"], ...] = ()
    """What must be there beside torch; where it is not, the run is skipped and says so."""
    packages: tuple[Literal["deepspeed", "trl"], ...] = ()
    """Packages that must be there too, and that are in no environment for the tests: these read what was recorded."""
    hardware: Text | None = None
    """For `hw`: what it takes to see this failure, and why it cannot be shown without."""
    env: dict[str, str] = msgspec.field(default_factory=dict)
    first: Literal["first", "top3"] = "first"
    """Where the entry must rank when only this run's artifacts are diagnosed."""
    next: str | None = None
    """With `top3`: the step that must be proposed next."""


class Doing(Record, frozen=True, kw_only=True):
    """One thing that the ranks of a lane do."""

    what: Text
    """In a few words; code in backticks."""
    state: Literal["runs", "waits", "missing", "gone"] = "runs"
    """`waits`: stands in it for the others. `missing`: should do it and never does. `gone`: the process has ended."""


class Lane(Record, frozen=True, kw_only=True):
    """Ranks that do the same."""

    ranks: Text
    does: tuple[Doing, ...]
    """In order; what stands at the same place in two lanes happens at the same time."""


class Diagram(Record, frozen=True, kw_only=True):
    """A drawing that shows the failure faster than words."""

    kind: Literal["waits", "keeps"] = "waits"
    """`waits`: which rank waits where. `keeps`: what each rank keeps under each sharding strategy."""
    says: Text
    """What it shows, in one sentence."""
    lanes: tuple[Lane, ...] = ()
    """For `waits`."""


class Entry(Record, frozen=True, kw_only=True):
    """One failure with one name: its symptoms, its causes, and what repairs each."""

    id: str
    slug: str
    family: Family
    status: Status
    since: str
    """Version of distkb in which the entry first appeared."""
    title: Text
    aliases: Words
    """Other names and phrasings that people search for."""
    summary: Text
    diagram: Diagram | None = None
    symptoms: tuple[Text, ...]
    """As the person at the keyboard would say it."""
    signatures: tuple[Signature, ...] = ()
    traits: tuple[str, ...] = ()
    """Traits that all its causes have."""
    takes: tuple[str, ...] = ()
    """Words of which code that can fail so has at least one, large or small and also inside of a longer word: without
    it there is nothing that could fail in this way."""
    evidence: Shown = msgspec.field(default_factory=dict)
    """What every cause shows that says nothing else of the same observation or fact itself or by its traits."""
    causes: tuple[Cause, ...]
    does_not_help: tuple[Text, ...] = ()
    """What people try that does not help, and why."""
    related: tuple[str, ...] = ()
    references: tuple[Reference, ...]
    applies_to: tuple[Version, ...] = ()
    repro: Repro | None = None


class Term(Record, frozen=True, kw_only=True):
    """A word of the field, with the forms that people type in both languages."""

    id: str
    term: Text
    forms: Words
    """Spellings, inflections, slang and common typos that mean this term, the head word included."""
    definition: Text
    see: tuple[str, ...] = ()
    """Ids of entries that a reader of the definition wants next."""
    generic: bool = False
    """True for words that nearly every report has (training, GPU): they bridge the languages but carry no topic."""


class ObservationFile(Record, frozen=True, kw_only=True):
    """The content of one file in `kb/observations/`."""

    facts: tuple[Fact, ...] = ()
    findings: tuple[Finding, ...] = ()
    signatures: tuple[Signature, ...] = ()
    steps: tuple[Step, ...] = ()


class TraitsFile(Record, frozen=True, kw_only=True):
    """The content of `kb/traits.yaml`."""

    traits: tuple[Trait, ...]


class GlossaryFile(Record, frozen=True, kw_only=True):
    """The content of `kb/glossary.yaml`."""

    terms: tuple[Term, ...]


class Catalogue(Record, frozen=True, kw_only=True):
    """Everything distkb knows, loaded and linked. Order is by id, so that it is the same on every machine."""

    entries: tuple[Entry, ...]
    signatures: tuple[Signature, ...]
    """Those of the observation files and of all entries together."""
    facts: tuple[Fact, ...]
    findings: tuple[Finding, ...]
    steps: tuple[Step, ...]
    terms: tuple[Term, ...]
    settings: tuple[Setting, ...] = ()
    names: tuple[KnownNames, ...] = ()
    timers: tuple[Timer, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    accounts: tuple[Account, ...] = ()
    """Only in a catalogue read from its sources: compiled, their statistics are part of the search index."""
    runs: tuple[ExampleRun, ...] = ()
    """The same."""
    projects: tuple[ExampleProject, ...] = ()
    """The same."""
    messages: tuple[LibraryMessages, ...] = ()
    """The same."""
