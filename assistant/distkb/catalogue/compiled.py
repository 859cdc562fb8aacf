"""The whole catalogue as one block of bytes, of which only what is asked for is decoded.

Layout: magic, lengths and checksums, then a header that says where every section is, then the sections in msgpack.
Every entry can be decoded by itself.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

import distkb
from distkb.catalogue.model import (
    Catalogue,
    Entry,
    Fact,
    Family,
    Finding,
    KnownNames,
    Refusal,
    Setting,
    Signature,
    Step,
    Term,
    Text,
    Timer,
)
from distkb.catalogue.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FORMAT: Final = 4
"""Raised whenever the layout changes."""
_MAGIC: Final = b"distkb\x00c"
_HEAD = struct.Struct("<8sIIII")
"""Magic, length and checksum of the header, length and checksum of the sections."""
_LISTS: Final = ("signatures", "facts", "findings", "steps", "terms", "settings", "names", "timers", "refusals")

Item = TypeVar("Item")


class NotCompiledError(ValueError):
    """The bytes are no compiled catalogue, are damaged, or were written by another version."""


class Title(msgspec.Struct, frozen=True):
    """What a list of entries shows."""

    id: str
    slug: str
    family: Family
    title: Text


class _Header(msgspec.Struct, array_like=True, frozen=True):
    format: int
    version: str
    fingerprint: bytes
    entries: dict[str, tuple[int, int]]
    sections: dict[str, tuple[int, int]]
    extra: dict[str, tuple[int, int]]


class Compiled:
    """A compiled catalogue. Whatever is asked for twice is decoded once."""

    def __init__(self, data: bytes) -> None:
        """Open the bytes; `NotCompiledError` unless they are whole and of this version."""
        self._header, self._body = _open(data)
        self._known: dict[str, Any] = {}

    @property
    def fingerprint(self) -> bytes:
        """State of the sources that it was compiled from."""
        return self._header.fingerprint

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What was wrong with overlays; the records concerned are left out."""
        return self._section("problems", tuple[Problem, ...])

    def titles(self) -> tuple[Title, ...]:
        """Return id, slug, family and title of every entry, in order of id."""
        return self._section("titles", tuple[Title, ...])

    def ids(self) -> tuple[str, ...]:
        """Return the id of every entry, in order."""
        return tuple(self._header.entries)

    def entry(self, name: str) -> Entry | None:
        """Return one entry, decoding no other; None where there is none of that id."""
        if name not in self._header.entries:
            return None
        return self._decoded(f"entry {name}", self._header.entries[name], Entry)

    def entries(self) -> tuple[Entry, ...]:
        """Return every entry, in order of id."""
        found = [self.entry(name) for name in self._header.entries]
        return tuple(entry for entry in found if entry is not None)

    def signatures(self) -> tuple[Signature, ...]:
        """Return every signature: those of the observation files and those of entries."""
        return self._section("signatures", tuple[Signature, ...])

    def facts(self) -> tuple[Fact, ...]:
        """Return the intake facts."""
        return self._section("facts", tuple[Fact, ...])

    def findings(self) -> tuple[Finding, ...]:
        """Return what readers and probes can find."""
        return self._section("findings", tuple[Finding, ...])

    def steps(self) -> tuple[Step, ...]:
        """Return what can be asked, collected or probed."""
        return self._section("steps", tuple[Step, ...])

    def terms(self) -> tuple[Term, ...]:
        """Return the glossary."""
        return self._section("terms", tuple[Term, ...])

    def settings(self) -> tuple[Setting, ...]:
        """Return the variables, flags, keys and arguments that are known."""
        return self._section("settings", tuple[Setting, ...])

    def names(self) -> tuple[KnownNames, ...]:
        """Return the further names that components read."""
        return self._section("names", tuple[KnownNames, ...])

    def timers(self) -> tuple[Timer, ...]:
        """Return the clocks that can end a run."""
        return self._section("timers", tuple[Timer, ...])

    def refusals(self) -> tuple[Refusal, ...]:
        """Return what tools refuse of their files."""
        return self._section("refusals", tuple[Refusal, ...])

    def catalogue(self) -> Catalogue:
        """Return everything, decoded."""
        return Catalogue(
            entries=self.entries(),
            signatures=self.signatures(),
            facts=self.facts(),
            findings=self.findings(),
            steps=self.steps(),
            terms=self.terms(),
            settings=self.settings(),
            names=self.names(),
            timers=self.timers(),
            refusals=self.refusals(),
        )

    def search_index(self) -> memoryview:
        """Return the bytes that were stored as `search`."""
        return self.extra("search")  # noqa: S610 - no Django here

    def extra(self, name: str) -> memoryview:
        """Return bytes that the caller stored under `name`; `KeyError` where it stored none."""
        start, length = self._header.extra[name]
        return self._body[start : start + length]

    def _section(self, name: str, kind: type[Item]) -> Item:
        return self._decoded(name, self._header.sections[name], kind)

    def _decoded(self, name: str, place: tuple[int, int], kind: type[Item]) -> Item:
        if name not in self._known:
            start, length = place
            self._known[name] = msgspec.msgpack.decode(self._body[start : start + length], type=kind)
        found: Item = self._known[name]
        return found


def compile_catalogue(
    catalogue: Catalogue,
    extra: Mapping[str, bytes],
    *,
    problems: Sequence[Problem] = (),
    fingerprint: bytes = b"",
) -> bytes:
    """Return the catalogue as bytes that `Compiled` opens, with the caller's own sections beside it."""
    body = bytearray()

    def put(data: bytes) -> tuple[int, int]:
        start = len(body)
        body.extend(data)
        return start, len(data)

    encode = msgspec.msgpack.encode
    titles = [Title(entry.id, entry.slug, entry.family, entry.title) for entry in catalogue.entries]
    sections = {"titles": put(encode(titles)), "problems": put(encode(problems))}
    sections |= {name: put(encode(getattr(catalogue, name))) for name in _LISTS}
    header = _Header(
        format=FORMAT,
        version=distkb.__version__,
        fingerprint=fingerprint,
        entries={entry.id: put(encode(entry)) for entry in catalogue.entries},
        sections=sections,
        extra={name: put(data) for name, data in extra.items()},
    )
    head = encode(header)
    sizes = _HEAD.pack(_MAGIC, len(head), zlib.crc32(head), len(body), zlib.crc32(body))
    return sizes + head + bytes(body)


def _open(data: bytes) -> tuple[_Header, memoryview]:
    if len(data) < _HEAD.size:
        raise NotCompiledError("too short")
    magic, head_size, head_sum, body_size, body_sum = _HEAD.unpack_from(data)
    view = memoryview(data)[_HEAD.size :]
    if magic != _MAGIC or len(view) != head_size + body_size:
        raise NotCompiledError("not a compiled catalogue, or cut short")
    head, body = view[:head_size], view[head_size:]
    if zlib.crc32(head) != head_sum or zlib.crc32(body) != body_sum:
        raise NotCompiledError("damaged")
    try:
        header = msgspec.msgpack.decode(head, type=_Header)
    except msgspec.MsgspecError as error:
        raise NotCompiledError("another layout") from error
    if header.format != FORMAT or header.version != distkb.__version__:
        raise NotCompiledError("written by another version")
    return header, body
