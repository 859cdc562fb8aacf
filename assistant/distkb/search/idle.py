"""Other names of an entry that the search cannot tell from another, or cannot read at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distkb.search.tokens import tokenize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distkb.catalogue.load import Loaded
    from distkb.catalogue.problem import Problem


def idle_aliases(loaded: Loaded) -> Iterator[Problem]:
    """Report aliases without a word that is searched for, and those that read like an earlier one."""
    for record in loaded.of("entry"):
        for language in ("en", "ko"):
            seen: dict[tuple[object, ...], str] = {}
            for index, alias in enumerate(getattr(record.value.aliases, language)):
                words = tuple(tokenize(alias))
                at = ("aliases", language, index)
                if not words:
                    yield record.problem(f"no search can find '{alias}': it has no word that counts", *at)
                elif words in seen:
                    yield record.problem(f"to the search '{alias}' is '{seen[words]}' again", *at)
                seen.setdefault(words, alias)
