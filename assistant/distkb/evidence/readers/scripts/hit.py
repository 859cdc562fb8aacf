"""What a rule finds: the finding, the line on which it stands, and what fills its sentence."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.effects import Effects
from distkb.evidence.readers.scripts.flow import Site
from distkb.evidence.readers.scripts.names import canonical, last, words_of
from distkb.evidence.readers.scripts.origins import Origins
from distkb.evidence.readers.scripts.project import Project
from distkb.evidence.readers.scripts.source import Script

if TYPE_CHECKING:
    from distkb.evidence.readers.scripts.interpreter import Interpreter
    from distkb.evidence.readers.scripts.things import Event, EventKind


class ScriptFinding(msgspec.Struct, frozen=True, eq=False):
    """One finding at one place."""

    id: str
    script: Script
    line: int
    values: dict[str, str] = msgspec.field(default_factory=dict)
    more: tuple[tuple[Script, int], ...] = ()
    """Other places that show it: the test, the collective inside of a called function."""


_PARALLEL = ("DistributedDataParallel", "fully_shard", "FullyShardedDataParallel", "init_process_group", "Accelerator",
             "TrainingArguments", "LightningModule", "deepspeed", "Fabric")  # fmt: skip


class ScriptContext:
    """What the rules look at."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.effects = Effects(project)
        self.origins = Origins(project, self.effects)
        self.vocabulary: set[str] = set()
        """Every name, attribute, keyword and string of all scripts, and what names that are used are imported as."""
        for script in project.scripts:
            used = words_of(script.nodes)
            self.vocabulary |= used | {node.arg or "" for node in script.nodes if isinstance(node, ast.keyword)}
            imported = (target for name, target in script.imports.items() if name in used)
            self.vocabulary |= {part for target in imported for part in target.split(".")}

    @cached_property
    def is_parallel(self) -> bool:
        """Whether a script speaks of several ranks."""
        return self.mentions(*_PARALLEL)

    @cached_property
    def attributes_set(self) -> frozenset[str]:
        """Every attribute to which any script assigns something, other than on `self`."""
        stored = (n for script in self.project.scripts for n in script.nodes if isinstance(n, ast.Attribute))
        return frozenset(n.attr for n in stored if isinstance(n.ctx, ast.Store) and last(n.value) != "self")

    @cached_property
    def draws_differ(self) -> bool:
        """Whether Python's random numbers differ from rank to rank: seeded by rank, or not at all."""
        seeds = [
            (argument, function)
            for function in self.project.functions
            for site in self.project.walk(function).sites
            if "seed" in last(site.node.func)
            for argument in site.node.args
        ]
        return not seeds or any(r.origin == "rank" for node, function in seeds for r in self.origins.of(node, function))

    def sites(self) -> Iterator[tuple[Function, Site]]:
        """Yield every call of the project with the function in which it stands."""
        for function in self.project.functions:
            yield from ((function, site) for site in self.project.walk(function).sites)

    def calls(self) -> Iterator[tuple[Function, ast.Call]]:
        """Yield every call of the project as it is written, wherever it stands."""
        return ((function, site.node) for function, site in self.sites())

    def calls_of(self, *names: str) -> Iterator[tuple[Function, ast.Call]]:
        """Yield the calls of what has one of these full names."""
        return ((f, call) for f, call in self.calls() if canonical(call.func, f.script) in names)

    @cached_property
    def interpreter(self) -> Interpreter:
        """What went through the code as if it ran."""
        from distkb.evidence.readers.scripts.interpreter import Interpreter

        return Interpreter(self)

    @property
    def episodes(self) -> list[list[Event]]:
        """What is done to which object, in order, for each place from which the code may begin."""
        return self.interpreter.episodes

    def events(self, kind: EventKind) -> Iterator[Event]:
        """Yield everything of one kind that is done, of all places from which the code may begin."""
        return (event for events in self.episodes for event in events if event.kind == kind)

    def mentions(self, *names: str) -> bool:
        """Whether any of the scripts uses one of these names."""
        return not self.vocabulary.isdisjoint(names)


class ScriptRule(msgspec.Struct, frozen=True):
    """A family of findings and how they are found."""

    ids: tuple[str, ...]
    check: Callable[[ScriptContext], Iterator[ScriptFinding]]
    follows: bool = False
    """Whether it sees only what the interpreter came to, which ends in a project that is too large."""


def hit(identity: str, function: Function, node: ast.expr | ast.stmt, **values: str) -> ScriptFinding:
    """Return a finding at a node, with the function's name among its values."""
    return ScriptFinding(
        id=identity,
        script=function.script,
        line=node.lineno,
        values={"function": function.name, "line": str(node.lineno), **values},
    )
