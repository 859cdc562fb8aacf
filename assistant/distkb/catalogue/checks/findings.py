"""What probes report can be said: templates take the same values in both languages, and name entries that exist."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, Final

from distkb.catalogue.validate import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distkb.catalogue.load import Loaded, Located
    from distkb.catalogue.model import Finding, Text
    from distkb.catalogue.problem import Problem

PARTICLE_SLASH: Final = "/"
"""`{을/를}` is a particle that agrees with what stands before it, and no value."""


def check_findings(loaded: Loaded) -> Iterator[Problem]:
    """Report templates that cannot be filled, and findings that point nowhere."""
    known = {record.value.id for record in loaded.of("entry")} | loaded.broken
    known |= {cause.id for record in loaded.of("entry") for cause in record.value.causes}
    for record in loaded.of("finding"):
        finding: Finding = record.value
        if finding.entry is not None and finding.entry not in known:
            hint = did_you_mean(finding.entry, known)
            yield record.problem(f"no entry or cause has the id '{finding.entry}'{hint}", "entry")
        for name in ("says", "fix"):
            text: Text | None = getattr(finding, name)
            if text is not None:
                yield from _template(record, name, text)
        if finding.severity is None and (finding.says or finding.fix or finding.commands):
            yield record.problem("'severity' is missing: without it nothing is reported to the user", "id")


def _template(record: Located, name: str, text: Text) -> Iterator[Problem]:
    taken: dict[str, set[str]] = {}
    for language, template in (("en", text.en), ("ko", text.ko)):
        fields = _fields(template)
        if fields is None:
            yield record.problem("a brace that belongs to no value: write it twice", name, language)
            return
        taken[language] = fields
    if taken["en"] != taken["ko"]:
        only = ", ".join(f"{{{field}}}" for field in sorted(taken["en"] ^ taken["ko"]))
        yield record.problem(f"the languages take different values: {only}", name)


def _fields(template: str) -> set[str] | None:
    """Return the names of a template's values, or None where it is no template."""
    try:
        names = [field for _, field, _, _ in string.Formatter().parse(template) if field is not None]
    except ValueError:
        return None
    values = {name for name in names if PARTICLE_SLASH not in name}
    return values if all(name.isidentifier() for name in values) else None
