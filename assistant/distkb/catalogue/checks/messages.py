"""Messages of libraries belong to causes that exist, and each to one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distkb.catalogue.validate import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distkb.catalogue.load import Loaded
    from distkb.catalogue.problem import Problem

LEAST = 28
"""Characters of a message apart from its gaps: shorter ones are said of anything."""


def check_messages(loaded: Loaded) -> Iterator[Problem]:
    """Yield what is wrong with the messages of all libraries."""
    entries = [record.value for record in loaded.of("entry")]
    known = {entry.id for entry in entries} | {cause.id for entry in entries for cause in entry.causes}
    for record in loaded.messages:
        seen: dict[str, str] = {}
        for id_, texts in record.value.messages.items():
            if id_ not in known and id_.partition(".")[0] not in loaded.broken:
                message = f"no entry or cause has the id '{id_}'{did_you_mean(id_, sorted(known))}"
                yield record.problem(message, "messages", id_, of_name=True)
            for index, text in enumerate(texts):
                first = seen.setdefault(text, id_)
                if first != id_ or texts.index(text) != index:
                    yield record.problem(f"is listed for {first} too", "messages", id_, index)
                if len(text.replace("{}", "").strip()) < LEAST:
                    message = f"has fewer than {LEAST} characters of its own"
                    yield record.problem(message, "messages", id_, index)
