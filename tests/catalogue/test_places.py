"""Where knowledge bases and caches are found."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs
import pytest
from catalogue_samples import KB

from distkb.catalogue import places


def test_a_checkout_uses_its_own_knowledge_base() -> None:
    """An edit in `kb/` is seen by the next start."""
    assert places.builtin() == KB
    assert places.checkout() == KB.parent


def test_an_installed_copy_uses_the_one_in_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory called `kb` beside site-packages is not mistaken for the repository's."""
    package = tmp_path / "lib" / "site-packages" / "distkb"
    (tmp_path / "lib" / "kb").mkdir(parents=True)
    monkeypatch.setattr(places, "_PACKAGE", package)
    assert places.builtin() == package / "_kb"
    assert places.code_directories() == []


def test_overlays_come_after_the_built_in_one_each_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment's first, then the given ones; relative names and `~` are resolved."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("DISTKB_KB", os.pathsep.join(["~/ours", "", "theirs"]))
    found = places.knowledge_bases([Path("mine"), tmp_path / "theirs"])
    assert found == [KB, tmp_path / "home/ours", tmp_path / "theirs", tmp_path / "mine"]
    monkeypatch.delenv("DISTKB_KB")
    assert places.knowledge_bases() == [KB]


@pytest.mark.parametrize("variable", ["", "/somewhere/else", " "])
def test_the_cache_is_where_platformdirs_says(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    """The short way gives the same answer as the library."""
    monkeypatch.setenv("XDG_CACHE_HOME", variable)
    assert places.cache_directory() == platformdirs.user_cache_path("distkb", appauthor=False)
