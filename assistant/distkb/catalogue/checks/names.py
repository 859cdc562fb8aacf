"""Ids, directories and files agree, and whatever refers to another record finds it."""

from __future__ import annotations

import datetime
import re
from typing import TYPE_CHECKING, Final, get_args

from distkb.catalogue.checks.texts import UNWRITTEN
from distkb.catalogue.listing import ENTRY_ID, EXAMPLES, PARTS
from distkb.catalogue.model import Entry, Family
from distkb.catalogue.problem import Problem
from distkb.catalogue.validate import did_you_mean, fields_of
from distkb.catalogue.verified import EXPLAINED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from distkb.catalogue.load import Loaded, Located
    from distkb.catalogue.model import Reference
    from distkb.catalogue.source import Key

_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+){1,2}")
_OVERLAY_ID = re.compile(r"[A-Z]{1,8}[1-9][0-9]*")
_DOTTED = re.compile(r"[a-z0-9_]+(?:-[a-z0-9_]+)*(?:\.[a-z0-9_]+(?:-[a-z0-9_]+)*)+")
_SETTING = re.compile(r"[A-Z][A-Z0-9_]+|[a-z][a-z-]*\.[\w.-]+")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_IDS: Final = {
    "signature": (_DOTTED, "lower-case words joined by dots, the printing component first"),
    "finding": (_DOTTED, "lower-case words joined by dots, the source first"),
    "fact": (re.compile(r"[a-z][a-z0-9_]*"), "one lower-case word"),
    "step": (re.compile(r"[a-z0-9]+(?:[.-][a-z0-9_]+)*"), "lower-case words joined by dots or hyphens"),
    "setting": (_SETTING, "the name itself, or `place.name`"),
    "names": (_DOTTED, "lower-case words joined by dots, the component first"),
    "timer": (_DOTTED, "lower-case words joined by dots, the owner first"),
    "term": (_SLUG, "lower-case words joined by hyphens"),
}


def check_names(loaded: Loaded) -> Iterator[Problem]:
    """Report ids that break their pattern, files that are not where their id says, and dangling references."""
    known = {record.value.id for record in loaded.of("entry")}
    known |= loaded.broken
    known |= {cause.id for record in loaded.of("entry") for cause in record.value.causes}
    for record in loaded.of("entry"):
        yield from _identity(record)
        yield from _parts(record)
        yield from _order(record)
        yield from _links(record, known)
        yield from _references(record)
        yield from _repro(record, loaded)
    for record in loaded.records:
        if record.kind in _IDS:
            pattern, form = _IDS[record.kind]
            if not pattern.fullmatch(record.value.id):
                yield record.problem(f"id '{record.value.id}' must be {form}", "id")
    for record in loaded.of("term"):
        for index, name in enumerate(record.value.see):
            yield from _link(record, name, known, ("see", index))
    for directory in loaded.directories:
        yield from _stray(directory)


def _identity(record: Located) -> Iterator[Problem]:
    entry: Entry = record.value
    if not (ENTRY_ID if record.layer == 0 else _OVERLAY_ID).fullmatch(entry.id):
        form = "D, MN, M or U" if record.layer == 0 else "up to eight capital letters"
        yield record.problem(f"id '{entry.id}' must be {form} and a number", "id")
    if not _SLUG.fullmatch(entry.slug):
        yield record.problem(f"slug '{entry.slug}' must be lower-case words joined by hyphens", "slug")
    home = record.document.path.parent
    if home.name != f"{entry.id}-{entry.slug}":
        message = f"the directory is called '{home.name}', not '{entry.id}-{entry.slug}'"
        yield record.problem(message, "slug" if home.name.startswith(f"{entry.id}-") else "id")
    if home.parent.name != entry.family:
        yield record.problem(f"the entry is in the directory of '{home.parent.name}'", "family")
    if not _VERSION.fullmatch(entry.since):
        yield record.problem(f"'since' must be a version of distkb, not '{entry.since}'", "since")


def _parts(record: Located) -> Iterator[Problem]:
    entry: Entry = record.value
    causes: set[str] = set()
    for number, cause in enumerate(entry.causes):
        at = ("causes", number)
        if not re.fullmatch(re.escape(entry.id) + r"\.[a-z]", cause.id):
            yield record.problem(f"cause id '{cause.id}' must be '{entry.id}.' and a letter", *at, "id")
        if cause.id in causes:
            yield record.problem(f"cause id '{cause.id}' is given twice", *at, "id")
        causes.add(cause.id)
        fixes: set[str] = set()
        for index, fix in enumerate(cause.fixes):
            if not re.fullmatch(re.escape(cause.id) + r"\.[1-9][0-9]*", fix.id):
                message = f"fix id '{fix.id}' must be '{cause.id}.' and a number"
                yield record.problem(message, *at, "fixes", index, "id")
            if fix.id in fixes:
                yield record.problem(f"fix id '{fix.id}' is given twice", *at, "fixes", index, "id")
            fixes.add(fix.id)


def _order(record: Located) -> Iterator[Problem]:
    order = fields_of(Entry)
    latest = -1
    for name in (name for name in record.document.value if name not in record.document.parts):
        position = order.index(name)
        if position < latest:
            message = f"field '{name}' comes before '{order[latest]}': the order is {', '.join(order)}"
            yield record.problem(message, name, of_name=True)
            return
        latest = position


def _links(record: Located, known: set[str]) -> Iterator[Problem]:
    entry: Entry = record.value
    own = {entry.id}
    for index, name in enumerate(entry.related):
        if name in own:
            again = "itself" if name == entry.id else f"'{name}' twice"
            yield record.problem(f"'related' names {again}", "related", index)
        own.add(name)
        yield from _link(record, name, known, ("related", index))
    for number, cause in enumerate(entry.causes):
        for index, other in enumerate(cause.confused_with):
            at = ("causes", number, "confused_with", index, "id")
            if other.id in (entry.id, cause.id):
                yield record.problem(f"{cause.id} cannot be confused with itself", *at)
            yield from _link(record, other.id, known, at)


def _link(record: Located, name: str, known: set[str], at: Key) -> Iterator[Problem]:
    entry, is_cause, _ = name.partition(".")
    if name in known:
        return
    planned = ENTRY_ID.fullmatch(entry) is not None and entry not in known
    if planned:
        what = "cause" if is_cause else "entry"
        yield record.problem(f"{what} '{name}' does not exist yet", *at, warning=True)
    else:
        hint = did_you_mean(name, known)
        yield record.problem(f"no entry or cause has the id '{name}'{hint}", *at)


def _references(record: Located) -> Iterator[Problem]:
    seen: set[str] = set()
    references: tuple[Reference, ...] = record.value.references
    for index, reference in enumerate(references):
        at = ("references", index)
        if not re.fullmatch(r"https://[^\s/]+\.[^\s/]+(?:/\S*)?", reference.url):
            yield record.problem("a reference needs an https address", *at, "url")
        if reference.url in seen:
            yield record.problem("this address is already among the references", *at, "url")
        seen.add(reference.url)
        if not _is_date(reference.accessed):
            yield record.problem("'accessed' must be a date, YYYY-MM-DD", *at, "accessed")


def _is_date(text: str) -> bool:
    try:
        return _DATE.fullmatch(text) is not None and bool(datetime.date.fromisoformat(text))
    except ValueError:
        return False


def _repro(record: Located, loaded: Loaded) -> Iterator[Problem]:
    entry: Entry = record.value
    script = record.document.path.with_name("repro.py")
    if entry.repro is None or entry.repro.kind == "hw":
        if script.exists():
            yield Problem(str(script), 1, 1, f"entry {entry.id} has no 'repro' that says how to run this")
        if entry.repro is None:
            return
        if not any(path.is_file() for path in script.with_name("recorded").rglob("*.log")):
            yield record.problem("there is no recorded/ with a *.log beside the entry", "repro", of_name=True)
    elif script.is_file():
        yield from _unwritten_lines(script)
    else:
        yield record.problem("there is no repro.py beside the entry", "repro", of_name=True)
    seen = loaded.broken | {other.value.id for kind in ("signature", "finding") for other in loaded.of(kind)}
    for index, name in enumerate(entry.repro.shows):
        if name not in seen:
            hint = did_you_mean(name, seen)
            yield record.problem(f"no signature or finding is called '{name}'{hint}", "repro", "shows", index)
    steps = loaded.broken | {other.value.id for other in loaded.of("step")}
    steps |= {f"ask.{fact.value.id.replace('_', '-')}" for fact in loaded.of("fact")}
    wanted = entry.repro.next
    if wanted is not None and wanted not in steps:
        yield record.problem(f"no step is called '{wanted}'{did_you_mean(wanted, steps)}", "repro", "next")


def _unwritten_lines(script: Path) -> Iterator[Problem]:
    for number, line in enumerate(script.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        found = re.search(r"\bTODO\b", line)
        if found:
            yield Problem(str(script), number, found.start() + 1, f"the program {UNWRITTEN}")


def _stray(directory: Path) -> Iterator[Problem]:
    """Report files that look like sources and are never read."""
    families = get_args(Family)
    for family in sorted((directory / "entries").glob("*")):
        if family.name not in families:
            yield Problem(str(family), 1, 1, f"'{family.name}' is no family: they are {', '.join(families)}")
            continue
        for home in sorted(family.glob("*")):
            if not (home / "entry.yaml").is_file():
                yield Problem(str(home), 1, 1, "holds no entry.yaml")
            for path in sorted(home.glob("*.y*ml")):
                if path.suffix != ".yaml" or path.stem not in ("entry", *PARTS, *EXAMPLES):
                    expected = ", ".join(f"{name}.yaml" for name in ("entry", *PARTS, *EXAMPLES))
                    yield Problem(str(path), 1, 1, f"is not read: expected {expected}")
    for path in sorted([*directory.glob("observations/*"), *directory.glob("settings/*"), *directory.glob("*.y*ml")]):
        is_list = path.parent != directory and path.suffix == ".yaml"
        if not is_list and path.name not in ("glossary.yaml", "traits.yaml", EXPLAINED):
            expected = "glossary.yaml, traits.yaml, observations/*.yaml, settings/*.yaml"
            yield Problem(str(path), 1, 1, f"is not read: expected {expected}")
