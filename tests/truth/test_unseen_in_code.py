"""Every cause has a check in what reads code and settings, or a reason why it has none."""

from __future__ import annotations

from pathlib import Path

import built_in
import msgspec

LISTED = Path(__file__).with_name("unseen_in_code.yaml")
READERS = ("script.", "code.", "config.", "fsdp.", "launch.", "loader.")
PROVES = ("always", "usually")


def checked() -> set[str]:
    """Causes, and entries, to which a finding of these readers points."""
    catalogue = built_in.catalogue()
    findings = [finding for finding in catalogue.findings if finding.id.startswith(READERS)]
    pointed = {finding.entry for finding in findings if finding.entry is not None}
    given = {name for finding in findings for word, names in finding.given.items() if word in PROVES for name in names}
    causes = [cause for entry in catalogue.entries for cause in entry.causes]
    stated = {
        cause.id
        for cause in causes
        for cue in cause.cues
        if cue.observation.startswith(READERS) and cue.likelihood in PROVES
    }
    return pointed | given | stated


def test_every_cause_has_a_check_or_a_reason() -> None:
    """A new cause is put on the list, and a cause that got a check is taken off it."""
    lists = msgspec.yaml.decode(LISTED.read_bytes(), type=dict[str, list[str]])
    listed = [name for names in lists.values() for name in names]
    assert len(set(listed)) == len(listed)
    found = checked()
    ids = {cause.id: entry.id for entry in built_in.catalogue().entries for cause in entry.causes}
    assert set(listed) <= {*ids, *ids.values()}
    without = {cause for cause, entry in ids.items() if not {cause} & found and not {cause, entry} & set(listed)}
    assert without == set()
    assert {name for name in listed if name in ids and name in found} == set()
