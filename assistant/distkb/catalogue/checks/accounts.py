"""What is told of an entry belongs to it; accounts are long enough to tell something, and no copies."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from distkb.catalogue.places import builtin
from distkb.catalogue.validate import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distkb.catalogue.load import Loaded
    from distkb.catalogue.problem import Problem

LEAST = 40
MOST = 2000
"""Characters of an account: less tells nothing, more is a log."""
_RUN = 12
"""So many words in a row that two accounts share were copied."""
_WORD = re.compile(r"\w+")


def check_accounts(loaded: Loaded) -> Iterator[Problem]:
    """Yield what is wrong with the accounts of all entries."""
    causes = {record.document.path.parent: [c.id for c in record.value.causes] for record in loaded.of("entry")}
    told = {record.document.path.parent for record in loaded.accounts}
    for record in loaded.of("entry"):
        own = loaded.directories[record.layer] == builtin()  # an overlay's entry may do without
        if own and record.value.status != "draft" and record.document.path.parent not in told:
            yield record.problem("there is no accounts.yaml beside the entry: without it, it is a draft", "status")
    runs: dict[tuple[str, ...], str] = {}
    for record in (*loaded.accounts, *loaded.runs, *loaded.projects):
        known = causes.get(record.document.path.parent, [])
        if known and record.value.cause not in known:
            hint = did_you_mean(record.value.cause, known)
            yield record.problem(f"the entry beside it has no cause '{record.value.cause}'{hint}", "cause")
    for record in loaded.accounts:
        account = record.value
        if not LEAST <= len(account.text.strip()) <= MOST:
            message = f"an account has {LEAST} to {MOST} characters, not {len(account.text.strip())}"
            yield record.problem(message, "text")
        line, _ = record.document.place(record.key)
        here = f"{record.document.path}:{line}"
        words = _WORD.findall(_prose(account.text).lower())
        for start in range(len(words) - _RUN + 1):
            first = runs.setdefault(tuple(words[start : start + _RUN]), here)
            if first != here:
                yield record.problem(f"shares {_RUN} words in a row with {first}", "text", warning=True)
                break


def _prose(text: str) -> str:
    """Return the lines that look like sentences: pasted output is alike by nature."""
    return "\n".join(line for line in text.splitlines() if not re.search(r"[\[\]{}<>=/\\]|\w\.\w|Error|:\d", line))
