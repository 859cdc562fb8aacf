"""An entry for programs: the document `distkb.entry/1`, with what each cause shows one observation at a time."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from distkb.catalogue import model
from distkb.catalogue.records import Text

AUTHORS: Final = frozenset({"traits", "takes", "evidence"})
"""Fields by which authors say once what several causes show, which the document says at each cause, and what their code
has."""


class Cue(msgspec.Struct):
    """How likely an observation is if the cause is the true one."""

    observation: str
    likelihood: model.Likelihood
    why: Text | None = None
    """Nothing any more: kept for those who read it."""


def _published(record: type[msgspec.Struct], **instead: Any) -> type[msgspec.Struct]:
    """Return the type of a record as it is published: without what is for authors, and some fields of other types."""
    kept = {field.name: field.type for field in msgspec.structs.fields(record) if field.name not in AUTHORS}
    return msgspec.defstruct(record.__name__, list((kept | instead).items()), namespace={"__doc__": record.__doc__})


Cause = _published(model.Cause, evidence=tuple[Cue, ...])
Entry = _published(model.Entry, causes=tuple[Cause, ...])  # type: ignore[valid-type] # made at run time


def document(entry: model.Entry) -> dict[str, Any]:
    """Return an entry as it is published."""
    return {**_plain(entry), "causes": [{**_plain(one), "evidence": _cues(one)} for one in entry.causes]}


def _plain(record: msgspec.Struct) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(record)
    return {name: value for name, value in fields.items() if name not in AUTHORS}


def _cues(cause: model.Cause) -> list[Cue]:
    return [Cue(*cue) for cue in cause.cues]
