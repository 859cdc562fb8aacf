"""Loads the directories of a knowledge base into one catalogue, and says everything that is wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import msgspec

from distkb.catalogue import account, draft, patterns, validate
from distkb.catalogue.effort import slow
from distkb.catalogue.listing import PARTS, human_order, source_files
from distkb.catalogue.message import LibraryMessages
from distkb.catalogue.model import (
    Catalogue,
    Entry,
    Fact,
    Finding,
    KnownNames,
    Refusal,
    Setting,
    Signature,
    Step,
    Term,
    Timer,
    Trait,
)
from distkb.catalogue.problem import Problem
from distkb.catalogue.source import INVALID, Document, Key, read
from distkb.catalogue.traits import expanded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Kind = Literal[
    "entry",
    "signature",
    "fact",
    "finding",
    "step",
    "term",
    "setting",
    "names",
    "timer",
    "refusal",
    "account",
    "run",
    "project",
    "messages",
    "trait",
]

_OBSERVATIONS: Final[dict[str, tuple[Kind, type[msgspec.Struct]]]] = {
    "facts": ("fact", Fact),
    "findings": ("finding", Finding),
    "signatures": ("signature", Signature),
    "steps": ("step", Step),
}
_GLOSSARY: Final[dict[str, tuple[Kind, type[msgspec.Struct]]]] = {"terms": ("term", Term)}
_TRAITS: Final[dict[str, tuple[Kind, type[msgspec.Struct]]]] = {"traits": ("trait", Trait)}
_SETTINGS: Final[dict[str, tuple[Kind, type[msgspec.Struct]]]] = {
    "settings": ("setting", Setting),
    "names": ("names", KnownNames),
    "timers": ("timer", Timer),
    "refusals": ("refusal", Refusal),
}
_SHARED_NAMES: Final[dict[Kind, Kind]] = {"fact": "signature", "finding": "signature", "step": "step"}
"""Kinds that share their names with signatures: evidence refers to any of the three by id alone."""


class Located:
    """A record with the place where it is written."""

    __slots__ = ("document", "key", "kind", "layer", "value")

    def __init__(self, kind: Kind, value: Any, document: Document, key: Key, layer: int) -> None:
        self.kind: Kind = kind
        self.value = value
        self.document = document
        self.key = key
        self.layer = layer
        """Index of its directory: 0 is the built-in knowledge base."""

    def problem(self, message: str, *at: str | int, of_name: bool = False, warning: bool = False) -> Problem:
        """Return a problem at a place inside the record."""
        return self.document.problem((*self.key, *at), message, of_name=of_name, warning=warning)


class Loaded:
    """A catalogue with the places of its records and the problems met while loading it."""

    def __init__(self, directories: Sequence[Path]) -> None:
        self.directories = tuple(directories)
        self.records: list[Located] = []
        self.accounts: list[Located] = []
        """In the order of their files: no other record refers to them."""
        self.runs: list[Located] = []
        """The same for runs that fail."""
        self.projects: list[Located] = []
        """The same for programs that do."""
        self.messages: list[Located] = []
        """The same for what libraries print."""
        self.problems: list[Problem] = []
        self.broken: set[str] = set()
        """Ids of records that did not load: what refers to them is not to blame."""
        self._taken: dict[tuple[Kind, str], Located] = {}

    def of(self, kind: Kind) -> list[Located]:
        """Return the records of one kind, in order of id."""
        return [record for record in self.records if record.kind == kind]

    def catalogue(self) -> Catalogue:
        """Return the records alone."""
        by_kind: dict[str, tuple[Any, ...]] = {
            kind: tuple(record.value for record in self.of(kind)) for kind in get_args(Kind)
        }
        return Catalogue(
            entries=by_kind["entry"],
            signatures=by_kind["signature"],
            facts=by_kind["fact"],
            findings=by_kind["finding"],
            steps=by_kind["step"],
            terms=by_kind["term"],
            settings=by_kind["setting"],
            names=by_kind["names"],
            timers=by_kind["timer"],
            refusals=by_kind["refusal"],
            accounts=tuple(record.value for record in self.accounts),
            runs=tuple(record.value for record in self.runs),
            projects=tuple(record.value for record in self.projects),
            messages=tuple(record.value for record in self.messages),
        )

    def add(self, record: Located) -> bool:
        """Take a record in, unless its id is taken; says whether it did."""
        name = (_SHARED_NAMES.get(record.kind, record.kind), record.value.id)
        first = self._taken.setdefault(name, record)
        if first is not record:
            line, column = first.document.place((*first.key, "id"))
            where = f"{first.document.path}:{line}:{column}"
            self.problems.append(record.problem(f"id '{record.value.id}' is already used at {where}", "id"))
            return False
        self.records.append(record)
        return True


def load_sources(directories: Sequence[Path]) -> tuple[Catalogue, list[Problem]]:
    """Load knowledge bases, the built-in one first; later ones may add records but not redefine any.

    A record with a problem is left out and the rest still loads. Never raises on what the files contain.
    """
    loaded = load_located(directories)
    return loaded.catalogue(), loaded.problems


def load_located(directories: Sequence[Path]) -> Loaded:
    """Load knowledge bases and keep the place of every record; see `load_sources`."""
    loaded = Loaded(directories)
    for layer, directory in enumerate(directories):
        files = source_files(directory)
        if not files:
            missing = "is not a directory" if not directory.is_dir() else "holds no entries, observations or glossary"
            loaded.problems.append(Problem(str(directory), 1, 1, missing))
        for file in files:
            if _is_part(file.path):
                continue
            document, problems = read(directory / file.path)
            if file.path.endswith("/entry.yaml") and isinstance(document.value, dict):
                problems += _parts(document)
            loaded.problems += problems
            if document.value is not INVALID:
                _take_file(loaded, document, file.path, layer)
            elif file.path.startswith("entries/") and not file.path.endswith((account.FILE, account.RUNS)):
                loaded.broken.add(document.path.parent.name.partition("-")[0])
    loaded.records.sort(key=lambda record: human_order(record.value.id))
    traits = {record.value.id: record.value for record in loaded.of("trait")}
    for record in loaded.of("entry"):
        record.value = expanded(record.value, traits)
    loaded.problems = sorted(set(loaded.problems))
    return loaded


def _is_part(path: str) -> bool:
    return path.startswith("entries/") and path.rpartition("/")[2].removesuffix(".yaml") in PARTS


def _parts(document: Document) -> list[Problem]:
    """Read the fields of an entry that stand in files of their own beside it into its document."""
    problems: list[Problem] = []
    for name in PARTS:
        path = document.path.with_name(f"{name}.yaml")
        if not path.is_file():
            continue
        part, found = read(path)
        problems += found
        if name in document.value:
            problems.append(document.problem((name,), f"'{name}' also stands in {path.name}", of_name=True))
        else:
            document.take_in(name, part)
    return problems


def _take_file(loaded: Loaded, document: Document, relative: str, layer: int) -> None:
    if relative.startswith("entries/"):
        if relative.endswith(account.FILE):
            loaded.accounts += _examples(loaded, document, "account", account.Account, layer)
        elif relative.endswith(account.RUNS):
            loaded.runs += _examples(loaded, document, "run", account.ExampleRun, layer)
        elif relative.endswith(account.PROJECTS):
            loaded.projects += _examples(loaded, document, "project", account.ExampleProject, layer)
        else:
            _take_entry(loaded, document, layer)
    elif relative.startswith("messages/"):
        _take_messages(loaded, document, layer)
    else:
        directory = relative.partition("/")[0]
        own = {"glossary.yaml": _GLOSSARY, "traits.yaml": _TRAITS, "settings": _SETTINGS}
        _take_lists(loaded, document, own.get(directory, _OBSERVATIONS), layer)


def _take_entry(loaded: Loaded, document: Document, layer: int) -> None:
    if draft.is_draft(document.value):
        document.value = draft.completed(document.value)
    entry, problems = validate.convert(document, (), Entry)
    problems += _pattern_problems(document, ("signatures",), layer)
    loaded.problems += problems
    if entry is None or problems or not loaded.add(Located("entry", entry, document, (), layer)):
        _note_broken(loaded, document, ())
        signatures = validate.value_at(document, ("signatures",))
        for index in range(len(signatures) if isinstance(signatures, list) else 0):
            _note_broken(loaded, document, ("signatures", index))
        return
    for index, signature in enumerate(entry.signatures):
        loaded.add(Located("signature", signature, document, ("signatures", index), layer))


def _examples(
    loaded: Loaded, document: Document, kind: Kind, record: type[msgspec.Struct], layer: int
) -> Iterator[Located]:
    """Yield the accounts, runs or projects of a file; what is wrong with one is noted."""
    if not isinstance(document.value, list):
        loaded.problems.append(document.problem((), f"the file must hold a list of {kind}s"))
        return
    for index in range(len(document.value)):
        one, problems = validate.convert(document, (index,), record)
        loaded.problems += problems
        if one is not None:
            yield Located(kind, one, document, (index,), layer)


def _take_messages(loaded: Loaded, document: Document, layer: int) -> None:
    found, problems = validate.convert(document, (), LibraryMessages)
    loaded.problems += problems
    if found is not None:
        loaded.messages.append(Located("messages", found, document, (), layer))


def _take_lists(
    loaded: Loaded, document: Document, lists: dict[str, tuple[Kind, type[msgspec.Struct]]], layer: int
) -> None:
    if not isinstance(document.value, dict):
        loaded.problems.append(document.problem((), f"the file must hold {' or '.join(lists)}"))
        return
    for name, items in document.value.items():
        if name not in lists:
            message = f"unknown field '{name}': this file may hold {', '.join(lists)}"
            loaded.problems.append(document.problem((name,), message, of_name=True))
        elif isinstance(items, list):
            kind, record = lists[name]
            for index in range(len(items)):
                _take_item(loaded, document, (name, index), kind, record, layer)
        elif items is not INVALID:
            loaded.problems.append(document.problem((name,), f"'{name}' must be a list"))


def _take_item(
    loaded: Loaded, document: Document, key: Key, kind: Kind, record: type[msgspec.Struct], layer: int
) -> None:
    value, problems = validate.convert(document, key, record)
    if kind == "signature":
        problems += _pattern_problem(document, key, layer)
    loaded.problems += problems
    if value is None or problems:
        _note_broken(loaded, document, key)
    else:
        loaded.add(Located(kind, value, document, key, layer))


def _note_broken(loaded: Loaded, document: Document, key: Key) -> None:
    name = validate.value_at(document, (*key, "id"))
    if isinstance(name, str):
        loaded.broken.add(name)


def _pattern_problems(document: Document, key: Key, layer: int) -> list[Problem]:
    signatures = validate.value_at(document, key)
    if not isinstance(signatures, list):
        return []
    return [problem for index in range(len(signatures)) for problem in _pattern_problem(document, (*key, index), layer)]


def _pattern_problem(document: Document, key: Key, layer: int) -> list[Problem]:
    """Refuse a pattern that no scanner could run: readers must be able to trust every loaded signature.

    The scanner itself is asked about overlays only: it takes seconds for the built-in patterns, which `check` covers.
    """
    pattern = validate.value_at(document, (*key, "pattern"))
    if not isinstance(pattern, str):
        return []
    where = validate.value_at(document, (*key, "where"))
    in_logs = not isinstance(where, list) or "log" in where
    fault = patterns.fault(pattern)
    if layer and not fault:
        fault = slow(pattern, in_logs=in_logs) or patterns.scanner_fault(pattern, in_logs=in_logs)
    return [document.problem((*key, "pattern"), fault)] if fault else []
