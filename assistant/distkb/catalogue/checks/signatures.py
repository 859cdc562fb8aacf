"""A signature's pattern finds its own example, is specific, and says where its text was seen."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from distkb.catalogue.effort import slow
from distkb.catalogue.patterns import GROUPS, LITERAL, fixed_run, fixed_total, scanner_fault, unknown_groups

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distkb.catalogue.load import Loaded, Located
    from distkb.catalogue.model import Signature
    from distkb.catalogue.problem import Problem


def check_signatures(loaded: Loaded) -> Iterator[Problem]:
    """Report what is wrong with patterns beyond what the loader refuses."""
    with ThreadPoolExecutor() as pool:  # the answers are kept, and are nearly all of the work
        list(pool.map(lambda record: _refusal(record.value), loaded.of("signature")))
    for record in loaded.of("signature"):
        signature: Signature = record.value
        yield from _pattern(record, signature)
        yield from _example(record, signature)
        if not signature.where:
            yield record.problem("'where' is empty: nothing would look for the pattern", "where")
        elif len(set(signature.where)) < len(signature.where):
            yield record.problem("'where' names a place twice", "where")
        if "log" in signature.where and not signature.seen_in:
            yield record.problem("a log line needs 'seen_in': the component and versions that print it", "id")
    yield from _same_pattern(loaded)


def _refusal(signature: Signature) -> str | None:
    return scanner_fault(signature.pattern, in_logs="log" in signature.where)


def _pattern(record: Located, signature: Signature) -> Iterator[Problem]:
    refusal = _refusal(signature)
    if refusal:
        yield record.problem(refusal, "pattern")
    if record.layer == 0 and (why := slow(signature.pattern, in_logs="log" in signature.where)):
        yield record.problem(why, "pattern")
    run = fixed_run(signature.pattern) if "log" in signature.where else fixed_total(signature.pattern)
    if run < LITERAL and {"log", "report", "frame"} & set(signature.where):
        what = "longest fixed text is" if "log" in signature.where else "fixed text is"
        yield record.problem(f"the pattern's {what} {run} characters: every match needs {LITERAL}", "pattern")
    for group in unknown_groups(signature.pattern):
        known = ", ".join(sorted(GROUPS))
        yield record.problem(f"nothing reads the named group '{group}': the known ones are {known}", "pattern")


def _example(record: Located, signature: Signature) -> Iterator[Problem]:
    example = signature.example
    if example is None:
        if "log" in signature.where:
            yield record.problem("a log line needs an 'example' as printed", "id")
    elif "\n" in example.rstrip("\n"):
        yield record.problem("the example must be one line", "example")
    elif not re.search(signature.pattern, example.rstrip("\n")):
        yield record.problem("the pattern does not match its own example", "example")


def _same_pattern(loaded: Loaded) -> Iterator[Problem]:
    first: dict[str, Located] = {}
    for record in loaded.of("signature"):
        earlier = first.setdefault(record.value.pattern, record)
        if earlier is not record:
            yield record.problem(f"the pattern is also that of '{earlier.value.id}': use one of the two", "pattern")
