"""The ledger of public threads whose cause was confirmed: where they stand and what they are, never their text."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import Literal

import built_in
import msgspec

LEDGER = Path(__file__).with_name("threads.jsonl")
CHOOSE, SCORE = "2024-07-11", "2025-07-11"
"""What was learnt from is older than the first, what alternatives were chosen by older than the second; newer threads
were only scored."""


class Thread(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thread in which a person described a failure and the cause was confirmed."""

    url: str
    date: str
    part: Literal["learn", "choose", "score"]
    lang: str
    label: str | None
    """The entry; None for a failure that none describes."""
    accept: tuple[str, ...]
    """Entries that are right as a first answer."""
    cause: str | None
    by: Literal["author", "maintainer", "fix", "other"]
    """Who confirmed it."""
    place: str
    """Which part of the thread says so, and its date."""
    sure: Literal["high", "medium"]
    fired: tuple[str, ...]
    """What was read from the report on the day on which it was collected."""
    twice: bool = False
    """Whether two people labelled it who did not know of each other's label, and agreed."""


def threads() -> list[Thread]:
    """All of the ledger."""
    decoder = msgspec.json.Decoder(Thread)
    return [decoder.decode(line) for line in LEDGER.read_bytes().splitlines()]


def test_the_ledger_holds_addresses_and_labels_and_no_text() -> None:
    """Each thread stands once, with an address, a day and a place in two words; nothing else would fit its fields."""
    found = threads()
    assert len({thread.url.lower().rstrip("/") for thread in found}) == len(found)
    for thread in found:
        assert re.fullmatch(r"https://\S+", thread.url)
        assert date.fromisoformat(thread.date).isoformat() == thread.date
        assert re.fullmatch(r"[a-z-]+(?: \d{4}-\d\d-\d\d)?", thread.place), thread


def test_labels_are_entries_and_causes_belong_to_them() -> None:
    """A label whose entry is gone would score against nothing."""
    causes = {entry.id: {cause.id for cause in entry.causes} for entry in built_in.catalogue().entries}
    for thread in threads():
        assert {*thread.accept, *filter(None, [thread.label])} <= causes.keys()
        assert thread.cause is None or thread.cause in set().union(*(causes[name] for name in thread.accept)), thread


def test_the_parts_are_told_by_the_day() -> None:
    """Nothing that was only scored is older than what was learnt from."""
    for thread in threads():
        assert thread.part == ("learn" if thread.date < CHOOSE else "choose" if thread.date < SCORE else "score")
