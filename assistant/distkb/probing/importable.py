"""A directory that holds the package `distkb_probes` and nothing else, for the import path of a training script."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

import distkb
from distkb.catalogue.places import cache_directory
from distkb.probing.run import probes_directory


def importable_directory() -> Path:
    """Return the directory.

    An installed distkb copies the package to its cache: the directory that holds it has distkb's own dependencies
    beside it, which a training environment must not see.
    """
    package = probes_directory()
    if {path.name for path in package.parent.iterdir() if not path.name.startswith((".", "__"))} == {package.name}:
        return package.parent
    target = cache_directory() / f"probes-{distkb.__version__}"
    newest = max(path.stat().st_mtime_ns for path in package.rglob("*.py"))
    copied = target / package.name / "__init__.py"
    if not copied.exists() or copied.stat().st_mtime_ns < newest:
        _copy(package, target, newest)
    return target


def _copy(package: Path, target: Path, newest: int) -> None:
    """Put the copy in place in one step: two programs may do so at the same time."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as holder:
        fresh = Path(holder) / "new"
        shutil.copytree(package, fresh / package.name, ignore=shutil.ignore_patterns("__pycache__"))
        os.utime(fresh / package.name / "__init__.py", ns=(newest, newest))
        with contextlib.suppress(OSError):
            target.rename(Path(holder) / "old")
        with contextlib.suppress(OSError):
            fresh.rename(target)
