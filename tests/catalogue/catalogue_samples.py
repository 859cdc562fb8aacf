"""Knowledge bases for the tests of the catalogue: a sound one to change, and changes to it."""

from __future__ import annotations

import shutil
from pathlib import Path

from distkb.catalogue.check import check_directories

DATA = Path(__file__).parent / "data"
KB = Path(__file__).resolve().parents[2] / "kb"
QUIET = "entries/hangs/D2-quiet-rank/entry.yaml"
OBSERVATIONS = "observations/all.yaml"


def sound(directory: Path) -> Path:
    """A copy of the sound knowledge base that the test may change."""
    return Path(shutil.copytree(DATA / "sound", directory / "kb"))


def change(kb: Path, old: str, new: str, file: str = QUIET) -> None:
    """Replace the first `old` in a file of the knowledge base, which must be there."""
    path = kb / file
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{old!r} is not in {file}"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def overlay(directory: Path, entry_id: str = "ACME1", signature: str = "acme.rank-lost") -> Path:
    """A knowledge base of one entry, which is the sound one under another name."""
    text = (DATA / "sound" / QUIET).read_text(encoding="utf-8")
    for old, new in (("D2", entry_id), ("demo.rank-lost", signature), ("demo: rank", "acme: rank")):
        text = text.replace(old, new)
    home = directory / "overlay" / "entries" / "hangs" / f"{entry_id}-quiet-rank"
    home.mkdir(parents=True)
    (home / "entry.yaml").write_text(text, encoding="utf-8")
    (home / "repro.py").write_text("raise SystemExit(1)\n", encoding="utf-8")
    return directory / "overlay"


def problems(kb: Path) -> list[str]:
    """Return the messages of a knowledge base, warnings marked."""
    found = check_directories([kb])
    return [f"warning: {item.message}" if item.severity == "warning" else item.message for item in found]
