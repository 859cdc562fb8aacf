"""The scripts that were given as one project: who calls whom, of which class an object is, what a variable holds."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from distkb.evidence.readers.scripts.arguments import receiver
from distkb.evidence.readers.scripts.declared import Declared
from distkb.evidence.readers.scripts.definitions import Class, Function, around
from distkb.evidence.readers.scripts.flow import NO_LINE, Assignment, Guard, Site, Walk, Where, gate
from distkb.evidence.readers.scripts.names import canonical, dotted
from distkb.evidence.readers.scripts.outline import Outline
from distkb.evidence.readers.scripts.settings import Settings
from distkb.evidence.readers.scripts.source import Script
from distkb.evidence.readers.scripts.values import attributes, plain_values

_ROUNDS = 4
"""How often it is asked anew who calls whom."""
_DEPTH = 8
"""Names, attributes and calls that are followed to an object's class."""
_OF_KEYS = ("__getitem__", "__setitem__")
_MOST = 8
"""Calls, or assignments, that are asked of which class an object is."""


class Project(Outline):
    """All scripts, with what is asked of them again and again kept."""

    def __init__(self, scripts: list[Script], spread: str = "", settings: Settings | None = None) -> None:
        super().__init__(scripts)
        self.settings = settings or Settings()
        self.declared = Declared(scripts, spread)
        self._walks: dict[int, Walk] = {}
        self._busy: set[int] = set()
        self.attribute_kinds: dict[tuple[int, str], str] = {}
        """What attributes of classes hold, as far as it was asked for."""
        self._arguments: dict[tuple[int, str], dict[str, list[Site]]] = {}
        self._handed_on: dict[int, dict[str, list[tuple[Site, int | str]]]] = {}
        self._values: dict[int, dict[str, list[ast.expr]]] = {}
        self._attributes: dict[int, dict[str, list[ast.expr]]] = {}
        self._callers: dict[int, list[tuple[Function, Site]]] | None = None
        self._targets: dict[tuple[int, int], Function | None] = {}
        self._objects: dict[tuple[int, int], Class | None] = {}
        self._level = 0

    def held_under(self, node: ast.Attribute, function: Function) -> list[tuple[ast.expr, Function]]:
        """Return what an attribute holds: of its own class, or, of an object that is not known, of any class.

        Nothing where two classes have an attribute of that name.
        """
        owner = self.owner_of(function) if dotted(node.value) == "cls" else self.holder(node, function)
        values = self.attribute_values(owner).get(node.attr, [])
        if owner is None or not values:
            named = self._attribute_owners.get(node.attr, [])
            owner = named[0] if len(named) == 1 else None
            values = self.attribute_values(owner).get(node.attr, [])
        return [(value, around(value, owner, function)) for value in values[:_MOST]] if owner is not None else []

    def stands_for(self, node: ast.Name | ast.Attribute, function: Function) -> list[tuple[ast.expr, Function]]:
        """Return what a name was given last above its line, what callers give for it, or what an attribute holds."""
        if isinstance(node, ast.Attribute):
            return self.held_under(node, function)
        made = self.walk(function).assigned(node.id, before=node.lineno)
        if made:
            return [(made[-1].value, function)] if made[-1].index is None else []
        return list(self.given(node.id, function)) if node.id in function.parameters else []

    def binding(self, name: str, function: Function, line: int = NO_LINE) -> tuple[Function, list[Assignment]]:
        """Return the function, or the one around it, that a name belongs to, with what it is assigned there.

        In the function itself only what stands above the line counts; a parameter, or an unknown name, has nothing.
        """
        scope = function
        made = self.walk(scope).assigned(name, before=line)
        while not made and name not in scope.parameters and scope.parent is not None:
            scope = scope.parent
            made = self.walk(scope).assigned(name)
        return scope, made

    def holder(self, node: ast.Attribute, function: Function) -> Class | None:
        """Return the class of the object of which an expression asks an attribute."""
        return self.owner_of(function) if dotted(node.value) == "self" else self.holds_class(node.value, function)

    def returned(self, call: ast.expr, function: Function, place: int | None = None) -> list[tuple[ast.expr, Function]]:
        """Return what the project's function that a call runs gives back, or what is at a place of its tuples.

        Nothing where the call makes an object, and for any other expression.
        """
        target = self.target(call, function) if isinstance(call, ast.Call) else None
        if target is None or target.name.endswith("__init__"):
            return []
        values = (value for value, _ in self.walk(target).returns)
        if place is not None:
            values = (v.elts[place] for v in values if isinstance(v, ast.Tuple) and 0 <= place < len(v.elts))
        return [(value, target) for value in values]

    @cached_property
    def set_by_signals(self) -> frozenset[str]:
        """Return the names and attributes that a handler of signals sets, which come to each process by itself."""
        found: set[str] = set()
        for function in self.functions:
            for site in self.walk(function).sites:
                if canonical(site.node.func, function.script) == "signal.signal" and len(site.node.args) > 1:
                    handler = self.referred(site.node.args[1], function)
                    walk = None if handler is None else self.walk(handler)
                    found |= set() if walk is None else {made.target for made in walk.assignments}
        return frozenset(found)

    @cached_property
    def _attribute_owners(self) -> dict[str, list[Class]]:
        found: dict[str, list[Class]] = {}
        for cls in (cls for classes in self.classes.values() for cls in classes.values()):
            for name in self.attribute_values(cls):
                found.setdefault(name, []).append(cls)
        return found

    @staticmethod
    def owner_of(function: Function) -> Class | None:
        """Return the class in whose method a function stands."""
        scope: Function | None = function
        while scope is not None and scope.owner is None:
            scope = scope.parent
        return None if scope is None else scope.owner

    def walk(self, function: Function) -> Walk:
        """Return the calls and assignments of a function."""
        found = self._walks.get(id(function))
        if found is None:
            if id(function) in self._busy:
                return Walk([], Where(), None)
            self._busy.add(id(function))
            decorator = gate(function.node)
            start = Where() if decorator is None else Where(side="main", guard=Guard(decorator))
            found = Walk(function.node.body, start, lambda node: self.single(node, function))
            self._busy.discard(id(function))
            self._walks[id(function)] = found
        return found

    def single(self, node: ast.expr, function: Function) -> ast.expr | None:
        """Return the value of a name that is assigned once, in the function or around it, if that is plain to see."""
        name = dotted(node)
        if not name or name.count(".") > 1 or ("." in name and not name.startswith("self.")):
            return None
        if name.startswith("self."):
            values = self.attribute_values(function.owner).get(name[5:], [])
            return values[0] if len(values) == 1 else None
        assigned = self._assigned(name, function)
        return assigned[0] if len(assigned) == 1 else None

    def attribute_values(self, owner: Class | None) -> dict[str, list[ast.expr]]:
        """Return what is assigned to each attribute of `self` in a class."""
        if owner is None:
            return {}
        if id(owner) not in self._attributes:
            self._attributes[id(owner)] = attributes(owner.node)
        return self._attributes[id(owner)]

    def _values_in(self, scope: Function) -> dict[str, list[ast.expr]]:
        if id(scope) not in self._values:
            self._values[id(scope)] = plain_values(scope.node)
        return self._values[id(scope)]

    def first_arguments(self, function: Function, called: str) -> dict[str, list[Site]]:
        """Return the calls of a name in a function by the name of their first argument."""
        key = (id(function), called)
        if key not in self._arguments:
            found: dict[str, list[Site]] = {}
            for site in self.walk(function).sites:
                if site.node.args and canonical(site.node.func, function.script).rpartition(".")[2] == called:
                    found.setdefault(dotted(site.node.args[0]), []).append(site)
            self._arguments[key] = found
        return self._arguments[key]

    def handed_on(self, function: Function) -> dict[str, list[tuple[Site, int | str]]]:
        """Return by name the calls of the project's functions to which a function hands it, and as which argument."""
        if id(function) not in self._handed_on:
            found: dict[str, list[tuple[Site, int | str]]] = {}
            for site in self.walk(function).sites:
                if self.target(site.node, function) is not None:
                    for place, value in enumerate(site.node.args):
                        found.setdefault(dotted(value), []).append((site, place))
                    for word in site.node.keywords:
                        found.setdefault(dotted(word.value), []).append((site, word.arg or ""))
            self._handed_on[id(function)] = found
        return self._handed_on[id(function)]

    def target(self, call: ast.Call, function: Function) -> Function | None:
        """Return the function of the project that a call runs; None for everything else."""
        self._settle()
        key = (id(call), id(function))
        if key not in self._targets:
            self._targets[key] = self._target(call, function)
        return self._targets[key]

    def below(self, call: ast.Call, function: Function) -> list[tuple[Function, Site]]:
        """Return the calls of the project's function that a call runs, each with that function."""
        target = self.target(call, function)
        return [] if target is None else [(target, site) for site in self.walk(target).sites]

    def referred(self, node: ast.expr, function: Function) -> Function | None:
        """Return the function of the project that a name stands for where it is handed on and not called."""
        return self._target(ast.Call(func=node, args=[], keywords=[]), function)

    def _target(self, call: ast.Call, function: Function) -> Function | None:
        name = dotted(call.func)
        if not name:
            made = receiver(call)
            of = self.holds_class(made, function) if isinstance(made, (ast.Call, ast.Subscript)) else None
            return None if of is None or not isinstance(call.func, ast.Attribute) else self.method(of, call.func.attr)
        first, dot, rest = name.partition(".")
        if not dot:
            return self._plain_target(call.func, name, function)
        if first in {"self", "cls"} and "." not in rest:
            own = None if function.owner is None else self.method(function.owner, rest)
            return own or self._called_object(call.func, function)
        method = name.rpartition(".")[2]
        cls = self.holds_class(call.func.value, function) if isinstance(call.func, ast.Attribute) else None
        if cls is not None:
            return self.method(cls, method)
        resolved = canonical(call.func, function.script)
        module, _, final = resolved.rpartition(".")
        target = self.module_named(module, function.script)
        if target is not None:
            return self.function_named(final, target)
        named = self.class_named(call.func.value, function.script) if isinstance(call.func, ast.Attribute) else None
        return None if named is None else self.method(named, method)

    def _plain_target(self, node: ast.expr, name: str, function: Function) -> Function | None:
        scope: Function | None = function
        while scope is not None:
            if name in scope.inner:
                return scope.inner[name]
            if name in scope.parameters:
                return self._called_object(node, function)
            scope = scope.parent
        cls = self.class_named(node, function.script)
        called = self.method(cls, "__init__") if cls is not None else self._called_object(node, function)
        if cls is not None or called is not None:
            return called
        resolved = canonical(node, function.script)
        module, dot, final = resolved.rpartition(".")
        if dot:
            target = self.module_named(module or ".", function.script)
            return None if target is None else self.function_named(final, target)
        return self.function_named(name, function.script)

    def _called_object(self, node: ast.expr, function: Function) -> Function | None:
        """Return the `__call__` of an object of the project's that is called like a function."""
        cls = self.holds_class(node, function)
        return None if cls is None else self.method(cls, "__call__")

    def holds_class(self, node: ast.expr, function: Function) -> Class | None:
        """Return the project's class of which an expression gives an object, where that is plain.

        Followed are variables, attributes, what functions of the project return, annotations, and what callers give.
        """
        key = (id(node), id(function))
        if key not in self._objects and self._level < _DEPTH:
            self._objects[key] = None  # an object that is made of itself ends here
            self._level += 1
            self._objects[key] = self._class_of(node, function)
            self._level -= 1
        return self._objects.get(key)

    def _class_of(self, node: ast.expr, function: Function) -> Class | None:
        if isinstance(node, ast.Call):
            own = self.owner_of(function) if dotted(node.func) == "cls" else None
            return own or self.class_named(node.func, function.script) or self._returned_class(node, function)
        if isinstance(node, ast.Attribute):
            return self._class_of_attribute(node, function)
        if isinstance(node, ast.Subscript):
            return self._class_of_element(node.value, function)
        values: Sequence[ast.expr] = ()
        if isinstance(node, ast.IfExp):  # `Writer(...) if rank == 0 else None`
            values = [node.body, node.orelse]
        elif isinstance(node, ast.Name):
            values = self._assigned(node.id, function)
            if not values:
                return self._class_of_parameter(node.id, function)
        return _agreed(self.holds_class(value, function) for value in values[:_MOST])

    def _assigned(self, name: str, function: Function) -> Sequence[ast.expr]:
        """Return what a name is assigned in the innermost scope that does so; nothing where it is a parameter."""
        scope: Function | None = function
        while scope is not None and name not in scope.parameters:
            if values := self._values_in(scope).get(name):
                return values
            scope = scope.parent
        return ()

    def _class_of_element(self, container: ast.expr, function: Function) -> Class | None:
        """Return the class of all that a list or a dictionary holds that is written out."""
        made = self.single(container, function) or container
        parts: list[ast.expr] = []
        match made:
            case ast.Dict(values=values) | ast.List(elts=values) | ast.Tuple(elts=values):
                parts = values[:_MOST]
            case ast.DictComp(value=inside) | ast.ListComp(elt=inside):
                parts = [inside]
        found = [self.holds_class(part, function) for part in parts]
        return _agreed(found) if found and all(one is not None for one in found) else None

    def _returned_class(self, call: ast.Call, function: Function) -> Class | None:
        target = self._target(call, function)
        if target is None:
            return None
        return _agreed(self.holds_class(value, target) for value, _ in self.walk(target).returns[:_MOST])

    def _class_of_attribute(self, node: ast.Attribute, function: Function) -> Class | None:
        owner = function.owner if dotted(node.value) == "self" else self.holds_class(node.value, function)
        values = self.attribute_values(owner).get(node.attr, [])[:_MOST]
        return _agreed(self.holds_class(value, around(value, owner, function)) for value in values)

    def _class_of_parameter(self, name: str, function: Function) -> Class | None:
        scope: Function | None = function
        while scope is not None and name not in scope.parameters:
            scope = scope.parent
        if scope is None or isinstance(scope.node, ast.Module):
            return None
        annotation = next((a.annotation for a in scope.node.args.args if a.arg == name), None)
        named = None if annotation is None else self.class_named(annotation, scope.script)
        return named or _agreed(self.holds_class(value, caller) for value, caller in self.given(name, scope))

    def given(self, name: str, function: Function, call: ast.Call | None = None) -> Iterator[tuple[ast.expr, Function]]:
        """Yield what the callers of a function give for a parameter, each with the caller; or those of one call."""
        index = function.parameters.index(name) - (1 if function.is_method else 0)
        sites = [one for one in self.callers(function) if call is None or one[1].node is call]
        for caller, site in sites[:_MOST]:
            value = next((w.value for w in site.node.keywords if w.arg == name), None)
            if value is None and 0 <= index < len(site.node.args):
                value = site.node.args[index]
            if value is not None:
                yield value, caller

    def keys_of(self, function: Function) -> list[tuple[ast.expr, Function]]:
        """Return the keys that are asked of the objects of a class whose `__getitem__` or `__setitem__` it is."""
        owner = function.owner
        return self._keys.get(id(owner), []) if owner is not None and function.name.endswith(_OF_KEYS) else []

    @cached_property
    def _keys(self) -> dict[int, list[tuple[ast.expr, Function]]]:
        """The keys asked of the objects of each class but of data sets, whose loaders ask too."""
        self._settle()
        found: dict[int, list[tuple[ast.expr, Function]]] = {}
        for caller in self.functions:
            for key in (key for keys in self.walk(caller).keys.values() for key in keys):
                owner = self.holds_class(key.container, caller)
                if owner is not None and not any("Dataset" in dotted(base) for base in owner.node.bases):
                    found.setdefault(id(owner), []).append((key.value, caller))
        return found

    def callers(self, function: Function) -> list[tuple[Function, Site]]:
        """Return every call of a function in the project."""
        self._settle()
        return (self._callers or {}).get(id(function), [])

    def _settle(self) -> None:
        """Find out who calls whom: each round knows the objects that the calls of the round before hand on."""
        if self._callers is not None:
            return
        self._callers = {}
        for _ in range(_ROUNDS):
            self._objects.clear()
            targets: dict[tuple[int, int], Function | None] = {}
            callers: dict[int, list[tuple[Function, Site]]] = {}
            for caller in self.functions:
                for site in self.walk(caller).sites:
                    target = targets[id(site.node), id(caller)] = self._target(site.node, caller)
                    if target is not None:
                        callers.setdefault(id(target), []).append((caller, site))
            done = sum(map(len, callers.values())) == sum(map(len, self._callers.values()))
            self._callers, self._targets = callers, targets
            if done:
                break
        self._objects.clear()


def _agreed(found: Iterable[Class | None]) -> Class | None:
    """Return the one class among several answers; what is open does not count."""
    known = {id(one): one for one in found if one is not None}
    return next(iter(known.values())) if len(known) == 1 else None
