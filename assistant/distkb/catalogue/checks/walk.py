"""Visits every text and every plain string of a record, with the place where it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from distkb.catalogue.model import Text, Words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distkb.catalogue.load import Loaded, Located
    from distkb.catalogue.source import Key


class TextNode(NamedTuple):
    """A text, a pair of word lists or a plain string inside a record."""

    key: Key
    """From the record."""
    value: Text | Words | str

    @property
    def field(self) -> str:
        """Name of the field that holds it, list numbers left out."""
        return next((step for step in reversed(self.key) if isinstance(step, str)), "")


def written(loaded: Loaded) -> list[Located]:
    """Return the records that are written on their own: an entry's signatures are part of the entry."""
    return [record for record in loaded.records if not (record.kind == "signature" and belongs_to_entry(record))]


def belongs_to_entry(signature: Located) -> bool:
    """Say whether a signature is written inside an entry, and not in a file of observations."""
    return signature.document.path.name == "entry.yaml"


def places(value: Any, key: Key = ()) -> Iterator[TextNode]:
    """Visit every text, word list and string below a value, in the order of its fields."""
    if isinstance(value, (Text, Words, str)):
        yield TextNode(key, value)
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from places(getattr(value, name), (*key, name))
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from places(item, (*key, index))
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from places(item, (*key, name))
