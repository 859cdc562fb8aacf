"""What the first frame costs: nothing is imported that the start screen does not need."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = (
    "hyperscan",
    "yaml",
    "torch",
    "rapidfuzz",
    "markdown_it",
    "distkb.catalogue.model",
    "distkb.diagnosis",
    "distkb.sessions",
    "distkb.probing",
    "distkb.search",
)


@pytest.mark.parametrize("name", HEAVY)
def test_the_first_frame_does_without(name: str) -> None:
    """Importing the app imports neither the catalogue nor the diagnosis nor any library that only they use."""
    assert name not in imported()


def imported() -> set[str]:
    """Modules that are imported once the app is."""
    if not _IMPORTED:
        code = "import sys, distkb.tui.app; print('\\n'.join(sys.modules))"
        listed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        _IMPORTED.update(listed.split())
    return _IMPORTED


_IMPORTED: set[str] = set()
