"""Which entry the errors of a library belong to: the files `messages/<component>.yaml`.

They lead a pasted error to its entry by their text. An error that decides a cause by itself is a signature instead.
"""

from __future__ import annotations

from distkb.catalogue.records import Record


class LibraryMessages(Record, frozen=True, kw_only=True):
    """Errors that one library raises, with the page to read for each."""

    component: str
    """Name of the distribution in lower case."""
    version: str
    """The version whose source they were read in."""
    messages: dict[str, tuple[str, ...]]
    """Id of a cause or an entry → texts as the library prints them; `{}` stands for what differs."""
