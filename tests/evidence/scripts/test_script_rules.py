"""Every rule has scripts in which it fires on the lines that say so, and scripts in which it is silent."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from distkb.evidence.readers.scripts import read_scripts
from distkb.evidence.readers.scripts.rules import RULES

EXAMPLES = Path(__file__).parents[1] / "data" / "scripts"
EXPECTED = re.compile(r"# distkb: (\S+(?:, \S+)*)$")


def cases() -> list[Path]:
    """Return the scripts; `*_helpers.py` are read together with the one they help."""
    return sorted(p for p in EXAMPLES.glob("*/*.py") if not p.stem.endswith("_helpers"))


def expected(path: Path) -> set[tuple[str, int]]:
    """Return the findings that the comments of a script announce."""
    found: set[tuple[str, int]] = set()
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = EXPECTED.search(line)
        if match:
            found |= {(identity, number) for identity in match[1].split(", ")}
    return found


@pytest.mark.parametrize("path", cases(), ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_findings_stand_where_the_example_says(path: Path) -> None:
    """A rule fires on exactly the marked lines, of bad scripts only."""
    files = [path, *path.parent.glob(f"{path.stem}_helpers.py")]
    reading = read_scripts(files)
    places = [(o.id, o.quotes[0].line or 0) for o in reading.observations]
    found = set(places)
    assert found == expected(path)
    assert len(places) == len(found)
    assert bool(found) == path.name.startswith("bad_")
    assert not reading.skipped


def test_every_finding_has_an_example() -> None:
    """No finding is without a script in which it fires."""
    announced = {identity for path in cases() for identity, _ in expected(path)}
    assert announced == {identity for rule in RULES for identity in rule.ids}
