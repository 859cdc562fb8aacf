"""The search index: built once from the catalogue, kept as bytes, loaded in milliseconds.

Everything that does not depend on the query is computed while building: a posting already holds the BM25 weight of
its word in its entry, so that a query only adds numbers.
"""

from __future__ import annotations

import struct
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from distkb.search.forms import Forms

if TYPE_CHECKING:
    from distkb.catalogue.model import Catalogue
    from distkb.search.runs import RunWording
    from distkb.search.wording import Wording

FORMAT = 9
"""Raised whenever the layout or the tokens change; `load` refuses any other number."""

MESSAGE = "message"
"""Id of the rows of `SignatureRow` that are messages of libraries."""
_HEAD = struct.Struct("<fH")
_PAIR = struct.Struct("<HH")
_NUMBER = struct.Struct("<H")
IMPACT_UNIT = 1.0 / 8192.0
"""Impacts are kept as multiples of this, in 16 bits; a BM25 impact without its idf is below k1 + 1 < 8."""


class SignatureRow(msgspec.Struct, array_like=True, frozen=True):
    """A signature that a pasted line is tried against."""

    id: str
    pattern: str
    literals: tuple[str, ...]
    """One of these is in every match, in lower case."""
    entries: tuple[tuple[int, float], ...]
    """Entries whose causes list it, with a weight from 0 to 1."""


class Payload(msgspec.Struct, array_like=True, frozen=True):
    """What the bytes hold."""

    format: int
    ids: tuple[str, ...]
    terms: dict[str, msgspec.Raw]
    """Encoded maps of words to postings, by the words' first character; decoded when a query has such a word."""
    passage_owner: bytes
    passage_lang: bytes
    passage_norm: bytes
    forms: dict[str, msgspec.Raw]
    """See `Forms`."""
    latin_words: str
    hangul_words: str
    """Both one word a line: only typos need them."""
    signatures: tuple[SignatureRow, ...]
    related: tuple[tuple[int, ...], ...]
    """By entry: the entries that it names as related."""
    wording: msgspec.Raw
    """See `Wording`."""
    runs: msgspec.Raw
    """See `RunWording`."""
    code: msgspec.Raw
    """The same, of what stands in code."""


class Term:
    """One word of the index, unpacked."""

    __slots__ = ("idf", "impacts", "passages")

    def __init__(self, packed: bytes) -> None:
        self.idf, count = _HEAD.unpack_from(packed)
        middle = _HEAD.size + count * _PAIR.size
        self.impacts: list[tuple[int, int]] = list(_PAIR.iter_unpack(packed[_HEAD.size : middle]))
        self.passages: list[tuple[int]] = list(_NUMBER.iter_unpack(packed[middle:]))


def pack_term(idf: float, impacts: list[tuple[int, float]], passages: list[int]) -> bytes:
    """Pack a word's idf, its (entry, impact) pairs and the numbers of the passages that it is in."""
    packed = bytearray(_HEAD.pack(idf, len(impacts)))
    for number, impact in impacts:
        packed += _PAIR.pack(number, max(1, min(65535, round(impact / IMPACT_UNIT))))
    for passage in passages:
        packed += _NUMBER.pack(passage)
    return bytes(packed)


class Index:
    """A loaded index. Words are unpacked when they are asked for."""

    def __init__(self, payload: Payload) -> None:
        self.ids = payload.ids
        self.signatures = payload.signatures
        self.related = payload.related
        self.forms = Forms(payload.forms)
        self.passage_owner = struct.unpack(f"<{len(payload.passage_owner) // 2}H", payload.passage_owner)
        self.passage_norm = struct.unpack(f"<{len(payload.passage_norm) // 4}f", payload.passage_norm)
        self.passage_lang = payload.passage_lang
        self._packed = payload.terms
        self._wording = payload.wording
        self._runs = payload.runs
        self._code = payload.code
        self._terms: dict[str, dict[str, bytes]] = {}
        self._latin_words = payload.latin_words
        self._hangul_words = payload.hangul_words

    @cached_property
    def latin_words(self) -> tuple[str, ...]:
        """Written words of at least four letters, in lower case: what a typo may be corrected to."""
        return tuple(self._latin_words.split())

    @cached_property
    def hangul_words(self) -> tuple[str, ...]:
        """Written Korean words of at least three syllables, likewise."""
        return tuple(self._hangul_words.split())

    @cached_property
    def wording(self) -> Wording:
        """Statistics of how each entry's failure is told."""
        from distkb.search.wording import Wording

        return msgspec.msgpack.decode(self._wording, type=Wording)

    @cached_property
    def runs(self) -> RunWording:
        """Statistics of what runs print that fail for each cause, and of the words of their scripts."""
        from distkb.search.runs import RunWording

        return msgspec.msgpack.decode(self._runs, type=RunWording)

    @cached_property
    def code(self) -> RunWording:
        """Statistics of what stands in the code of programs that fail for each cause."""
        from distkb.search.runs import RunWording

        return msgspec.msgpack.decode(self._code, type=RunWording)

    def __contains__(self, word: str) -> bool:
        return self._postings(word) is not None

    def term(self, word: str) -> Term | None:
        """Unpack one word's postings; None if no entry has it."""
        packed = self._postings(word)
        return None if packed is None else Term(packed)

    def _postings(self, word: str) -> bytes | None:
        first = word[:1]
        shelf = self._terms.get(first)
        if shelf is None:
            packed = self._packed.get(first)
            shelf = {} if packed is None else msgspec.msgpack.decode(packed, type=dict[str, bytes])
            self._terms[first] = shelf
        return shelf.get(word)


def build(catalogue: Catalogue) -> bytes:
    """Build the index of a catalogue, in bytes that `load` reads. The same catalogue gives the same bytes."""
    from distkb.search.build import payload_of

    return msgspec.msgpack.encode(payload_of(catalogue))


def load(data: bytes | memoryview) -> Index:
    """Read an index.

    Raises:
        ValueError: The bytes are no index, or one of another format.
    """
    try:
        payload = msgspec.msgpack.decode(data, type=Payload)
    except msgspec.MsgspecError as error:
        raise ValueError(f"not a search index: {error}") from None
    if payload.format != FORMAT:
        raise ValueError(f"search index of format {payload.format}, not {FORMAT}")
    return Index(payload)
