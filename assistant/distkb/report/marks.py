"""What stands out in the texts of the catalogue: code between backticks, and ids of entries, causes and fixes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Literal

Mark = Literal["text", "code", "id"]
CODE = re.compile(r"`([^`\n]+)`")
ID = re.compile(r"(?<![\w.#/-])((?:D|MN|M|U)\d{1,3})(?:\.[a-z](?:\.\d{1,2})?)?(?![\w-])", re.ASCII)
"""An id, whose group is the entry; a particle of Korean may follow at once."""


def marked(text: str, entries: Collection[str]) -> Iterator[tuple[Mark, str]]:
    """Yield the parts of a text with what they are: ids are those whose entry is one of `entries`, and not in code."""
    for number, part in enumerate(CODE.split(text)):
        if number % 2:
            yield "code", part
            continue
        position = 0
        for match in ID.finditer(part):
            if match[1] in entries:
                yield "text", part[position : match.start()]
                yield "id", match[0]
                position = match.end()
        yield "text", part[position:]
