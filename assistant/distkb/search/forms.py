"""Glossary forms: finding the concepts that a text names, whichever language names them.

A form is a sequence of atoms (see `tokens`): stemmed Latin parts and single Hangul syllables. Forms are matched from
left to right, the longest first, and a match uses up its atoms. Rules that keep chance matches out:

- Spaces inside Korean do not matter, but a match that runs over a space has to start at the start of a written word.
- A form of one syllable matches only a word that is this syllable, alone or with a particle.
- Atoms that are separated by punctuation other than hyphens, slashes and quotes do not belong together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from distkb.search.tokens import pieces
from distkb.search.words import PARTICLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from distkb.catalogue.model import Term
    from distkb.search.tokens import Piece

CONCEPT = "§"
"""First character of a concept's token: `§hang`."""
GENERIC = "~"
"""First character of a generic concept's id, which carries little topic: `§~training`."""


def concept_kind(token: str) -> str:
    """The kind of a concept's token, as `weights.weight` knows it."""
    return "generic" if token.startswith(CONCEPT + GENERIC) else "concept"


def is_topic(token: str) -> bool:
    """Whether a token is a concept that carries a topic."""
    return token[0] == CONCEPT and token[1:2] != GENERIC


_Group = dict[str, tuple[str, ...]]


class _Atom(NamedTuple):
    text: str
    piece: int
    offset: int
    run: int
    """Number of the stretch of joined pieces that the atom is in."""
    rest: str
    """For a syllable: what follows it in its written word."""
    hangul: bool


class Match(NamedTuple):
    """A form found in a text: its concepts and the pieces `first` to `last` that it spans."""

    concepts: tuple[str, ...]
    first: int
    last: int


class Forms:
    """The forms of a glossary, ready to be found in texts.

    `packed` maps an atom to the encoded forms that start with it: each form's atoms, joined by spaces, with the ids
    of its concepts. They are decoded when a text has the atom, since a query has a few atoms and a glossary thousands.
    """

    def __init__(self, packed: Mapping[str, bytes | msgspec.Raw]) -> None:
        self.packed = packed
        self._groups: dict[str, tuple[int, _Group]] = {}

    @classmethod
    def of_terms(cls, terms: Iterable[Term]) -> Forms:
        """Read the forms of all terms; forms that come to no atoms are left out."""
        table: dict[str, list[str]] = {}
        for term in terms:
            name = GENERIC + term.id if term.generic else term.id
            for form in (*term.forms.en, *term.forms.ko):
                # Lower case as well: without its capitals `SyncBatchNorm` is one part, not three.
                for key in (form_key(form), form_key(form.lower())):
                    ids = table.setdefault(key, []) if key else []
                    if name not in ids:
                        ids.append(name)
        groups: dict[str, dict[str, list[str]]] = {}
        for key in sorted(table):
            groups.setdefault(key.split(" ", 1)[0], {})[key] = table[key]
        return cls({atom: msgspec.msgpack.encode(group) for atom, group in groups.items()})

    def find(self, text_pieces: Sequence[Piece]) -> list[Match]:
        """Find the concepts that pieces name, in order of place."""
        atoms = _atoms(text_pieces)
        matches: list[Match] = []
        at = 0
        while at < len(atoms):
            found = self._longest_at(atoms, at)
            if found is None:
                at += 1
                continue
            length, concepts = found
            matches.append(Match(concepts, atoms[at].piece, atoms[at + length - 1].piece))
            at += length
        return matches

    def tokens(self, text_pieces: Sequence[Piece]) -> list[str]:
        """List the concept tokens of pieces, repeats included."""
        return [CONCEPT + concept for match in self.find(text_pieces) for concept in match.concepts]

    def _longest_at(self, atoms: Sequence[_Atom], at: int) -> tuple[int, tuple[str, ...]] | None:
        first, key = atoms[at], ""
        longest, group = self._group(first.text)
        found = None
        for length, last in enumerate(atoms[at : at + longest], 1):
            if last.run != first.run:
                break
            key = f"{key} {last.text}" if key else last.text
            concepts = group.get(key)
            if concepts is not None and _is_written_so(first, last, length):
                found = (length, concepts)
        return found

    def _group(self, atom: str) -> tuple[int, _Group]:
        """The forms that start with an atom, and how many atoms the longest has; (0, {}) if there are none."""
        found = self._groups.get(atom)
        if found is None:
            packed = self.packed.get(atom)
            group = {} if packed is None else msgspec.msgpack.decode(packed, type=_Group)
            found = (max((form.count(" ") + 1 for form in group), default=0), group)
            self._groups[atom] = found
        return found


def form_key(form: str) -> str:
    """Atoms of a form, joined by spaces."""
    return " ".join(atom for piece in pieces(form) for atom in piece.atoms)


def _atoms(text_pieces: Sequence[Piece]) -> list[_Atom]:
    atoms: list[_Atom] = []
    run = 0
    for number, piece in enumerate(text_pieces):
        run += not piece.joined
        for offset, text in enumerate(piece.atoms):
            rest = piece.text[offset + 1 :] if piece.hangul else ""
            atoms.append(_Atom(text, number, offset, run, rest, piece.hangul))
    return atoms


def _is_written_so(first: _Atom, last: _Atom, length: int) -> bool:
    """Say whether syllables from the first to the last atom start where a word does, and are all of it if one alone."""
    if not first.hangul:
        return True
    if length == 1:
        return first.offset == 0 and (not first.rest or first.rest in PARTICLES)
    return first.piece == last.piece or first.offset == 0
