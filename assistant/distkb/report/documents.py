"""What the JSON documents of distkb hold, as types: their published schemas are made of these.

A document is only ever added to. Who reads one must let fields pass that it does not know.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from distkb.catalogue.model import Fix, Text
from distkb.catalogue.settings import Setting
from distkb.evidence.observation import RunState, State
from distkb.report.digest.model import Digest
from distkb.report.entry_document import Entry

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


class Place(msgspec.Struct):
    """A line of what was read; all null where something was told or is absent."""

    path: str | None
    line: int | None
    quote: str | None


class Weighed(Place):
    """An observation with its weight: natural-log odds, negative where it speaks against the cause."""

    observation: str
    present: bool
    weight: float
    supposes: str | None = None
    """A fact as `fact=value` without which it says nothing, where nobody has said whether that is so."""


class Cause(msgspec.Struct):
    """One cause with its probability and what moved it, strongest first."""

    entry: str
    cause: str
    probability: float
    title: Text
    evidence: list[Weighed]


class Decided(Place):
    """Which source told the first cause from the others."""

    source: str
    weight: float


class Next(msgspec.Struct):
    """What to ask, collect, probe or try next."""

    kind: Literal["ask", "collect", "probe", "fix"]
    id: str
    text: Text
    gain_bits: float


class Unread(msgspec.Struct):
    """Something that was given and not read."""

    path: str
    reason: str


class Rank(msgspec.Struct):
    """One line of the roll call."""

    rank: int
    certainty: float
    state: State
    place: str
    last: Place | None
    sources: list[str]


class Ending(Place):
    """How the run was ended from outside."""

    observation: str


class Remedy(Place):
    """What a finding behind the first cause says to change, and where it was found."""

    observation: str
    text: Text


class Diagnosis(msgspec.Struct):
    """The document of `distkb diagnose --json`."""

    schema: Literal["distkb.diagnosis/1"]
    causes: list[Cause]
    other: float
    decided: Decided | None
    next: Next | None
    fix: Fix | None
    skipped: list[Unread]
    verdict: Literal["named", "leading", "undecided", "unknown", "no-evidence"]
    headline: Text
    ranks: list[Rank]
    runs: list[RunState]
    endings: list[Ending]
    remedy: Remedy | None = None


class DigestDocument(Digest, frozen=True, kw_only=True):
    """The document of `distkb digest --json`."""

    schema: Literal["distkb.digest/1"]


class Hit(msgspec.Struct):
    """One entry that answers a search."""

    id: str
    score: float
    title: Text


class Search(msgspec.Struct):
    """The document of `distkb search --json`."""

    query: str
    results: list[Hit]


class Listed(msgspec.Struct):
    """One entry of the catalogue."""

    id: str
    slug: str
    family: str
    title: Text


class Shown(msgspec.Struct):
    """A quoted line of a finding."""

    text: str
    path: str | None
    line: int | None
    rank: int | None


class Finding(msgspec.Struct):
    """One finding of a probe."""

    id: str
    severity: Literal["error", "warning", "note"]
    text: Text
    evidence: list[Shown]
    values: dict[str, str]
    entry: str | None
    fix: Text | None
    commands: list[str]


class Interpreter(msgspec.Struct):
    """The Python that a probe ran under."""

    path: str
    why: str


class Probe(msgspec.Struct):
    """The document of `distkb probe NAME --json`; `facts` depend on the probe."""

    schema: Literal["distkb.probe/1"]
    probe: str
    status: Literal["ok", "findings", "skipped", "error"]
    reason: str | None
    detail: str
    findings: list[Finding]
    clear: list[str]
    facts: dict[str, Any]
    interpreter: Interpreter | None
    elapsed_s: float


class Known(msgspec.Struct):
    """A name of which only who reads it is known."""

    name: str
    component: str
    since: str | None
    until: str | None


class Settings(msgspec.Struct):
    """The document of `distkb show NAME --json` for a setting."""

    schema: Literal["distkb.setting/1"]
    settings: list[Setting]
    listed: Known | None


class Runnable(msgspec.Struct):
    """One entry and whether its program runs on this machine."""

    entry: str
    runnable: bool
    reason: str | None
    kind: str | None
    seconds: float | None


DOCUMENTS: Final[dict[str, tuple[str, Any]]] = {
    "diagnosis": ("distkb.diagnosis/1", Diagnosis),
    "digest": ("distkb.digest/1", DigestDocument),
    "search": ("distkb.search/1", Search),
    "list": ("distkb.list/1", list[Listed]),
    "entry": ("distkb.entry/1", Entry),
    "setting": ("distkb.setting/1", Settings),
    "probe": ("distkb.probe/1", Probe),
    "repro-list": ("distkb.repro-list/1", list[Runnable]),
}
"""Name → what the document is called, with its version, and what it holds."""


def schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a document."""
    called, kind = DOCUMENTS[name]
    head = {"$schema": DIALECT, "$id": f"urn:{called.replace('.', ':').replace('/', ':')}", "title": called}
    opened: dict[str, Any] = _opened(msgspec.json.schema(kind))
    return head | opened


def _opened(part: Any) -> Any:
    """Return a schema that lets a later version add fields, whatever the catalogue's own files may hold."""
    if isinstance(part, dict):
        return {key: _opened(value) for key, value in part.items() if (key, value) != ("additionalProperties", False)}
    return [_opened(value) for value in part] if isinstance(part, list) else part
