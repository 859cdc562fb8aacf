"""What nothing can ever match: findings that no reader or probe reports, values and answers that cannot be met."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import TYPE_CHECKING

from distkb.catalogue.places import builtin
from distkb.catalogue.versions import is_after, is_before

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distkb.catalogue.load import Loaded, Located
    from distkb.catalogue.model import Cause, Fact
    from distkb.catalogue.problem import Problem
    from distkb.catalogue.settings import Caution, Setting

_PACKAGE = Path(__file__).parents[2]
_TEXT = re.compile(r"""["']([a-z][a-z0-9.-]*(?:\{[^{}"']*\}[a-z0-9.-]*)*)["']""")
_FILLED = re.compile(r"\{[^{}]*\}")


def check_idle(loaded: Loaded) -> Iterator[Problem]:
    """Report evidence and cautions that no run, report or environment can bring out."""
    facts = {record.value.id: record.value for record in loaded.of("fact")}
    reported = {record.value.id for record in loaded.of("finding") if is_reported(record.value.id)}
    reported |= {caution.finding for record in loaded.of("setting") for caution in record.value.cautions}
    for record in loaded.of("finding"):
        own = loaded.directories[record.layer] == builtin()  # what probes of an overlay report cannot be known here
        if own and record.value.id not in reported:
            yield record.problem(f"no reader or probe reports '{record.value.id}'", "id")
    for record in loaded.of("entry"):
        for index, cause in enumerate(record.value.causes):
            yield from _answers(record, cause, index, facts)
    for record in loaded.of("setting"):
        for index, caution in enumerate(record.value.cautions):
            yield from _caution(record, record.value, caution, index)


def is_reported(finding: str) -> bool:
    """Whether the program's own text holds a finding's id, its part behind the source's name, or a form of it."""
    exact, forms = _texts()
    return finding in exact or finding.partition(".")[2] in exact or any(form.fullmatch(finding) for form in forms)


@functools.cache
def _texts() -> tuple[frozenset[str], tuple[re.Pattern[str], ...]]:
    """Return the texts of the program and its probes that could be ids, and those in which a part is filled in."""
    probes = (_PACKAGE.parents[1] / "probes" / "distkb_probes", _PACKAGE.parent / "distkb_probes")
    exact: set[str] = set()
    forms: set[str] = set()
    for home in (_PACKAGE, *probes):
        for path in home.rglob("*.py"):
            for text in _TEXT.findall(path.read_text(encoding="utf-8")):
                if "{" not in text:
                    exact.add(text)
                elif len(_FILLED.sub("", text).partition(".")[2]) > 2:
                    forms.add("[a-z0-9-]+".join(re.escape(part) for part in _FILLED.split(text)))
    return frozenset(exact), tuple(re.compile(form) for form in sorted(forms))


def _answers(record: Located, cause: Cause, number: int, facts: dict[str, Fact]) -> Iterator[Problem]:
    """Report answers to a question that is asked only where this cause is ruled out."""
    never = {evidence.observation for evidence in cause.cues if evidence.likelihood == "never"}
    for evidence in cause.cues:
        fact, is_fact, _ = evidence.observation.partition("=")
        asked = facts[fact].when if is_fact and fact in facts else ()
        if asked and set(asked) <= never:
            message = f"'{fact}' is asked only after {' or '.join(asked)}, which this cause rules out"
            yield record.problem(message, "causes", number, "evidence", evidence.likelihood)


def _caution(record: Located, setting: Setting, caution: Caution, number: int) -> Iterator[Problem]:
    at = ("cautions", number)
    for index, value in enumerate(caution.values):
        if value != value.lower():
            yield record.problem(f"'{value}' is compared in lower case: nothing matches it", *at, "values", index)
    readers = [reader for reader in setting.read_by if reader.component == caution.component]
    if readers and not any(_overlap(caution, reader.since, reader.until) for reader in readers):
        yield record.problem("no version that it is about reads the name", *at)


def _overlap(caution: Caution, since: str | None, until: str | None) -> bool:
    ends_before = caution.until is not None and since is not None and is_before(caution.until, since)
    begins_after = caution.since is not None and until is not None and is_after(caution.since, until)
    return not (ends_before or begins_after)
