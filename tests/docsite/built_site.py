"""The built site, which takes many seconds, made once for all workers; for `pytest_plugins = ("built_site",)`."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest
from shelf import library

from distkb.docsite.build import build


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """Return the folder of the site without a base address; no test may write into it."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if hasattr(request.config, "workerinput") else base
    with (shared / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / "site").exists():
            build(library(), shared / "making")
            (shared / "making").rename(shared / "site")
    return shared / "site"


@pytest.fixture(scope="session")
def files(built: Path) -> dict[str, bytes]:
    """Return every file of the site with its content."""
    found = (path for path in sorted(built.rglob("*")) if path.is_file())
    return {path.relative_to(built).as_posix(): path.read_bytes() for path in found}


@pytest.fixture(scope="session")
def page_files(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return every page of the site with its content."""
    return {path: content for path, content in files.items() if path.endswith(".html")}
