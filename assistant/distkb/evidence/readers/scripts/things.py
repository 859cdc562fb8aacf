"""What an expression of a script stands for, as far as it can be told, and what is done to it, in order."""

from __future__ import annotations

import ast
from typing import Literal

import msgspec

from distkb.evidence.readers.scripts.definitions import Class, Function

Mark = Literal["own", "clock", "unordered", "per-process"]
"""own: every process draws another one; clock: each reads it for itself; unordered: in the order of a set; per-process:
counted on the rank's part of the data."""
EventKind = Literal["ddp", "shard", "optimizer", "grad", "path", "loop", "prepare", "update", "sampler", "exchange"]
OF_ITS_OWN: tuple[Mark, ...] = ("own", "clock")
"""Marks of what every process has another of."""
_OPEN = object()
_MOST_INSIDE = 64
"""Things that are looked through for what one holds."""


class Thing(msgspec.Struct, eq=False):
    """One object, or what many have in common."""

    kind: str = ""
    """`parameters`, `optimizer`, `scheduler`, `wrapped`, `function`, `class`; empty where nothing is known."""
    cls: Class | None = None
    whole: Thing | None = None
    """Of which it is a part."""
    parts: dict[str, Thing] = msgspec.field(default_factory=dict)
    items: list[Thing] | None = None
    """Of a tuple or list that is written out."""
    holds: list[Thing] = msgspec.field(default_factory=list)
    """What it was made of: the models of parameters, the contents of a container."""
    marks: dict[Mark, ast.expr] = msgspec.field(default_factory=dict)
    """Each with the expression from which it comes."""
    value: object = _OPEN
    """Of a literal."""
    prepared: bool = False
    """Whether Accelerate's `prepare` has had it."""
    is_empty: bool = False
    """Whether it is a list or a dictionary that was made outside of loops over sets, and that nothing was put into."""

    def filled(self, source: ast.expr | None) -> None:
        """Note that something is put into it: the first time says whether its order is that of a set."""
        if self.is_empty and source is not None:
            self.marks.setdefault("unordered", source)
        self.is_empty = False

    @property
    def is_plain(self) -> bool:
        """Whether it is a literal, or nothing is known of it."""
        return not (self.kind or self.cls or self.parts or self.items or self.holds or self.marks)

    def part(self, name: str) -> Thing:
        """Return an attribute, which is made when it is first asked for."""
        if self.kind == "wrapped" and name not in self.parts:
            return self.holds[0].part(name)
        if name not in self.parts:
            self.parts[name] = Thing(whole=self, marks={k: v for k, v in self.marks.items() if k in OF_ITS_OWN})
        return self.parts[name]

    @property
    def is_literal(self) -> bool:
        """Whether it is written out."""
        return self.value is not _OPEN

    @property
    def is_model(self) -> bool:
        """Whether its class is a model's."""
        return self.cls is not None and "forward" in self.cls.methods

    @property
    def owns_parameters(self) -> bool:
        """Whether its class makes layers or parameters of torch itself, which are in none of its parts."""
        return any(part.kind == "layer" for part in self.parts.values())

    def wholes(self) -> list[Thing]:
        """Return it and what it is a part of, the innermost first."""
        found: list[Thing] = [self]
        while found[-1].whole is not None and len(found) < _MOST_INSIDE:
            found.append(found[-1].whole)
        return found

    def models(self) -> list[Thing]:
        """Return what stands behind wrappers, parameters and containers."""
        found: list[Thing] = []
        left, seen = [self], {id(self)}
        while left and len(seen) < _MOST_INSIDE:
            thing = left.pop()
            inner = [*thing.holds, *(thing.items or ())]
            if not inner:
                found.append(thing)
            left += [one for one in inner if id(one) not in seen]
            seen.update(map(id, inner))
        return found

    def has(self, mark: Mark) -> ast.expr | None:
        """Return from where it, or an element of it, has a mark."""
        here = self.marks.get(mark)
        return here if here is not None else next((i.marks[mark] for i in self.items or () if mark in i.marks), None)


class Event(msgspec.Struct, frozen=True, eq=False):
    """Something that is done to things."""

    kind: EventKind
    function: Function
    node: ast.expr | ast.stmt
    things: tuple[Thing, ...] = ()
    value: object = None
    """What `requires_grad` becomes; None where that is not written out."""
    somewhere: bool = False
    """Whether only some ranks do it."""
    caller: tuple[Function, ast.expr] | None = None
    """The call that led here, with the function in which it stands."""
    source: ast.expr | None = None
    """From where the mark comes that matters."""


def joined(one: Thing, other: Thing) -> Thing:
    """Return what a name holds that two ways have given a value: that of which more is known."""
    if one is other or other.is_plain:
        return one
    return one if any(mark in one.marks for mark in OF_ITS_OWN) else other


def element(thing: Thing) -> Thing:
    """Return what stands for each element of something."""
    if thing.items:
        found = thing.items[0]
        for other in thing.items[1:]:
            found = joined(found, other)
        return found
    if thing.kind in {"parameters", "dict"} or thing.holds:
        return Thing(kind=thing.kind, holds=thing.holds)
    return Thing(whole=thing)


def taken(thing: Thing, at: Thing) -> Thing:
    """Return what stands under a key or an index."""
    if thing.items and isinstance(at.value, int) and -len(thing.items) <= at.value < len(thing.items):
        return thing.items[at.value]
    found = element(thing)
    return found if found.marks or found is thing else Thing(
        kind=found.kind, whole=found.whole, holds=found.holds,
        marks={mark: source for mark, source in thing.marks.items() if mark in OF_ITS_OWN},
    )  # fmt: skip


def combined(things: list[Thing]) -> Thing:
    """Return what is made of several: a text, a sum."""
    marks: dict[Mark, ast.expr] = {}
    for thing in things:
        for mark, source in thing.marks.items():
            if mark != "unordered":
                marks.setdefault(mark, source)
    unordered = [thing.marks["unordered"] for thing in things if "unordered" in thing.marks]
    if unordered:
        marks["unordered"] = unordered[0]
    holds = [thing for thing in things if thing.kind == "parameters" or thing.holds or thing.items]
    return Thing(holds=holds, marks=marks)
