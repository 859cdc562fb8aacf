"""How people tell a failure: the file `accounts.yaml` beside an entry's `entry.yaml`.

The statistics of their words lead a report to the entry; no reader ever sees them.
"""

from __future__ import annotations

from typing import Final

from distkb.catalogue.records import Language, Record

FILE: Final = "accounts.yaml"


class Account(Record, frozen=True, kw_only=True):
    """One account of a failure by someone who does not know its cause."""

    cause: str
    """Id of the cause behind it; the cause belongs to the entry of the same folder."""
    lang: Language
    text: str
    """What such a person would write: what was done and seen, and what they would paste."""


AccountFile = tuple[Account, ...]
"""The content of `accounts.yaml`."""
