"""Checks plain values against the catalogue's types and names every fault, each at its own place.

`msgspec.convert` stops at the first fault; an author wants all of them.
"""

from __future__ import annotations

import difflib
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeVar, get_args

import msgspec
from msgspec import inspect as types

from distkb.catalogue import model
from distkb.catalogue.source import INVALID, Document, Key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from distkb.catalogue.problem import Problem

Record = TypeVar("Record", bound=msgspec.Struct)

_MISSING: Any = object()
_CUT = "unknown field '{}': a comma ends a text inside {{…}}, so quote the whole text"


def convert(document: Document, key: Key, kind: type[Record]) -> tuple[Record | None, list[Problem]]:
    """Convert the value at `key` to a record of `kind`; None where anything in it is wrong."""
    value = value_at(document, key)
    try:
        return msgspec.convert(value, type=kind), []
    except msgspec.ValidationError as error:
        checker = _Checker(document)
        checker.check(value, _described(kind), key)
        return None, checker.problems if checker.failed else [document.problem(key, str(error))]


def value_at(document: Document, key: Key) -> Any:
    """Return the value at `key`; `INVALID` where there is none."""
    value = document.value
    for step in key:
        inside = range(len(value)) if isinstance(value, list) else value if isinstance(value, dict) else ()
        if step not in inside:
            return INVALID
        value = value[step]
    return value


def fields_of(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    """Return the names of a record's fields, in their order."""
    return kind.__struct_fields__


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `: did you mean '…'?` for the nearest known name, or nothing."""
    close = difflib.get_close_matches(name, list(known), 1)
    return f": did you mean '{close[0]}'?" if close else ""


@cache
def _described(kind: type[msgspec.Struct]) -> types.Type:
    return types.type_info(kind)


class _Checker:
    """Walks one value beside its type."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.problems: list[Problem] = []
        self.failed = False

    def _report(self, key: Key, message: str, *, of_name: bool = False) -> None:
        self.failed = True
        self.problems.append(self.document.problem(key, message, of_name=of_name))

    def check(self, value: Any, kind: types.Type, key: Key) -> None:
        """Report everything in `value` that is not of `kind`."""
        if value is INVALID:
            self.failed = True
        elif isinstance(kind, types.UnionType):
            self._optional(value, kind, key)
        elif isinstance(kind, types.StructType):
            self._record(value, kind, key)
        elif isinstance(kind, types.VarTupleType):
            self._list(value, kind.item_type, key)
        elif isinstance(kind, types.DictType):
            self._table(value, kind.key_type, kind.value_type, key)
        elif isinstance(kind, types.LiteralType):
            self._word(value, tuple(str(word) for word in kind.values), key)
        else:
            self._plain(value, kind, key)

    def _optional(self, value: Any, kind: types.UnionType, key: Key) -> None:
        wanted = [option for option in kind.types if not isinstance(option, types.NoneType)]
        if value is not None or len(wanted) == len(kind.types):
            self.check(value, wanted[0], key)

    def _record(self, value: Any, kind: types.StructType, key: Key) -> None:
        if not isinstance(value, dict):
            known = ", ".join(field.encode_name for field in kind.fields[:4])
            more = ", …" if len(kind.fields) > 4 else ""
            self._report(key, f"{_named(key)} must be a group of fields ({known}{more}), not {_what(value)}")
            return
        fields = {field.encode_name: field for field in kind.fields}
        for name in value:
            if name not in fields:
                cut = value[name] is None and " " in name
                hint = _CUT.format(name) if cut else _unknown(name, tuple(fields), tuple(value))
                self._report((*key, name), hint, of_name=True)
        for name, field in fields.items():
            given = value.get(name, _MISSING)
            if given is not _MISSING:
                self.check(given, field.type, (*key, name))
            elif field.required and not _misspelt(name, tuple(fields), tuple(value)):
                inside = f" in {_named(key)}" if key else ""
                self._report(key, f"missing field '{name}'{inside}")

    def _list(self, value: Any, item: types.Type, key: Key) -> None:
        if not isinstance(value, list):
            self._report(key, f"{_named(key)} must be a list, not {_what(value)}")
            return
        for index, member in enumerate(value):
            self.check(member, item, (*key, index))

    def _table(self, value: Any, names: types.Type, item: types.Type, key: Key) -> None:
        if not isinstance(value, dict):
            self._report(key, f"{_named(key)} must be a group of fields, not {_what(value)}")
            return
        for name, member in value.items():
            if isinstance(names, types.LiteralType) and name not in names.values:
                words = in_order(str(word) for word in names.values)
                hint = did_you_mean(name, words)
                message = f"{_named(key)} has no '{name}': its fields are {', '.join(words)}{hint}"
                self._report((*key, name), message, of_name=True)
            self.check(member, item, (*key, name))

    def _word(self, value: Any, words: tuple[str, ...], key: Key) -> None:
        if isinstance(value, str) and value in words:
            return
        hint = did_you_mean(value, words) if isinstance(value, str) else ""
        given = f"'{value}'" if isinstance(value, str) else _what(value)
        self._report(key, f"{_named(key)} must be one of {', '.join(in_order(words))}, not {given}{hint}")

    def _plain(self, value: Any, kind: types.Type, key: Key) -> None:
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if isinstance(kind, types.StrType):
            raw = self.document.raw.get(key)
            if number and raw is not None:
                self._report(key, f"{_named(key)} must be text, and {raw} is a number: quote it: '{raw}'")
            elif not isinstance(value, str):
                self._report(key, f"{_named(key)} must be text, not {_what(value)}")
        elif isinstance(kind, types.FloatType):
            if not number:
                self._report(key, f"{_named(key)} must be a number, not {_what(value)}")
        elif isinstance(kind, types.IntType):
            if not number or isinstance(value, float):
                self._report(key, f"{_named(key)} must be a whole number, not {_what(value)}")
        elif isinstance(kind, types.BoolType) and not isinstance(value, bool):
            self._report(key, f"{_named(key)} must be true or false, not {_what(value)}")


_SCALES: Final = tuple(
    get_args(kind)
    for kind in (
        model.Likelihood,
        model.Prior,
        model.Family,
        model.Status,
        model.Role,
        model.Place,
        model.Cost,
        model.Risk,
        model.How,
    )
)


def in_order(words: Iterable[str]) -> tuple[str, ...]:
    """Return a set of allowed words in the order in which the model gives them; msgspec sorts them."""
    given = tuple(words)
    return next((scale for scale in _SCALES if set(scale) == set(given)), given)


def _named(key: Key) -> str:
    """Return how a message names the value at `key`: the last field, with its number where it is in a list."""
    last = next((index for index in range(len(key) - 1, -1, -1) if isinstance(key[index], str)), None)
    if last is None:
        return f"item {int(key[0]) + 1}" if key else "the file"
    numbers = [f" item {int(index) + 1}" for index in key[last + 1 :]]
    return f"'{key[last]}'" + "".join(numbers)


def _what(value: Any) -> str:
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a group of fields"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        return "text"
    return f"the number {value}"


def _unknown(name: str, known: tuple[str, ...], given: tuple[str, ...]) -> str:
    close = [guess for guess in difflib.get_close_matches(name, known, 3) if guess not in given]
    if close:
        return f"unknown field '{name}', did you mean '{close[0]}'?"
    rest = [field for field in known if field not in given]
    hint = f": fields not used yet are {', '.join(rest)}" if 0 < len(rest) <= 8 else ""
    return f"unknown field '{name}'{hint}"


def _misspelt(missing: str, known: tuple[str, ...], given: tuple[str, ...]) -> bool:
    """Say whether `missing` is what an unknown field was taken for, so that one slip is reported once."""
    unknown = [name for name in given if name not in known]
    for name in unknown:
        close = [guess for guess in difflib.get_close_matches(name, known, 3) if guess not in given]
        if close and close[0] == missing:
            return True
    return False
