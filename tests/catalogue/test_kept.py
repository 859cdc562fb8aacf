"""What is kept in the cache directory is whole, and goes when nobody reads it any longer."""

from __future__ import annotations

import os
import time
from pathlib import Path

from distkb.catalogue.kept import UNUSED, keep, read_kept

OLD = time.time() - UNUSED - 60


def test_what_nobody_reads_is_removed(tmp_path: Path) -> None:
    """A file not read for long goes; one that was read stays, and so does what others put there."""
    unread, read, other = (
        tmp_path / name for name in (f"needs-{'0' * 24}.msgpack", f"gate-{'1' * 24}.hs", "notes.txt")
    )
    for path in (unread, read):
        keep(path, b"body")
    other.write_text("mine")
    for path in (unread, read, other):
        os.utime(path, (OLD, OLD))
    assert read_kept(read) == b"body"
    keep(tmp_path / f"needs-{'2' * 24}.msgpack", b"new")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [read.name, other.name, f"needs-{'2' * 24}.msgpack"]
    )


def test_what_is_damaged_is_not_there(tmp_path: Path) -> None:
    """A kept file with a byte changed is read as nothing."""
    path = tmp_path / f"needs-{'0' * 24}.msgpack"
    keep(path, b"body")
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    assert read_kept(path) is None
