"""What an installed copy carries."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from catalogue_samples import KB

pytestmark = pytest.mark.slow

pytest.importorskip("hatchling")

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
sys.modules["yaml"] = sys.modules["hyperscan"] = None
from distkb.catalogue import places
from distkb.knowledge import open_knowledge
knowledge = open_knowledge()
assert places.builtin().name == "_kb", places.builtin()
print(len(knowledge.ids()), len(knowledge.search_index()) > 0)
"""


def test_a_wheel_starts_without_reading_yaml(tmp_path: Path) -> None:
    """The build compiles the catalogue, and the installed copy opens it without the sources' reader."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    built = subprocess.run(build, cwd=KB.parent, capture_output=True, text=True, check=False, timeout=120)
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path / "installed")
    assert "distkb/_kb/compiled.msgpack" in names
    entries = [name for name in names if name.startswith("distkb/_kb/entries/") and name.endswith("entry.yaml")]
    run = [sys.executable, "-I", "-c", PROGRAM, str(tmp_path / "installed")]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.split() == [str(len(entries)), "True"]
