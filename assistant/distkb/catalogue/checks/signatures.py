"""A signature's pattern finds its own example, is specific, and says where its text was seen."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from distkb.catalogue.checks.verdicts import verdicts
from distkb.catalogue.effort import slow
from distkb.catalogue.patterns import GROUPS, LITERAL, fixed_run, fixed_total, scanner_fault, unknown_groups

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distkb.catalogue.load import Loaded, Located
    from distkb.catalogue.model import Place, Signature
    from distkb.catalogue.problem import Problem


def check_signatures(loaded: Loaded) -> Iterator[Problem]:
    """Report what is wrong with patterns beyond what the loader refuses."""
    records = loaded.of("signature")
    found = verdicts([record.value for record in records], lambda signature: tuple(_faults(signature)))
    for record in records:
        yield from (record.problem(message, field) for field, message in found[record.value.id])
    yield from _same_pattern(loaded)


def _faults(signature: Signature) -> Iterator[tuple[str, str]]:
    """Yield the field and what is wrong with it, from nothing but what the verdict is kept for."""
    pattern, where, in_logs = signature.pattern, signature.where, "log" in signature.where
    if refusal := scanner_fault(pattern, in_logs=in_logs):
        yield "pattern", refusal
    if why := slow(pattern, in_logs=in_logs):
        yield "pattern", why
    run = fixed_run(pattern) if in_logs else fixed_total(pattern)
    if run < LITERAL and {"log", "report", "frame"} & set(where):
        what = "longest fixed text is" if in_logs else "fixed text is"
        yield "pattern", f"the pattern's {what} {run} characters: every match needs {LITERAL}"
    if "on-both-sides" in where and not {"value", "bound"} <= re.compile(pattern).groupindex.keys():
        yield "pattern", "a pattern of `on-both-sides` needs the named groups 'value' and 'bound'"
    for group in unknown_groups(pattern):
        yield "pattern", f"nothing reads the named group '{group}': the known ones are {', '.join(sorted(GROUPS))}"
    yield from _example(signature)
    if not where:
        yield "where", "'where' is empty: nothing would look for the pattern"
    elif len(set(where)) < len(where):
        yield "where", "'where' names a place twice"
    if in_logs and not signature.seen_in:
        yield "id", "a log line needs 'seen_in': the component and versions that print it"


def _example(signature: Signature) -> Iterator[tuple[str, str]]:
    example = signature.example
    if example is None:
        if "log" in signature.where:
            yield "id", "a log line needs an 'example' as printed"
    elif "\n" in example.rstrip("\n"):
        yield "example", "the example must be one line"
    elif not re.search(signature.pattern, example.rstrip("\n")):
        yield "example", "the pattern does not match its own example"


def _same_pattern(loaded: Loaded) -> Iterator[Problem]:
    first: dict[tuple[str, Place], Located] = {}
    for record in loaded.of("signature"):
        known = [first.setdefault((record.value.pattern, place), record) for place in record.value.where]
        earlier = next((one for one in known if one is not record), None)
        if earlier is not None:
            yield record.problem(f"the pattern is also that of '{earlier.value.id}': use one of the two", "pattern")
