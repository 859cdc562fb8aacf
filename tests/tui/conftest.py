"""Every test of the screen has a state directory of its own; what is only computed is shared."""

from __future__ import annotations

from pathlib import Path

import pytest
from tui_driver import DATA, RUN, record_sessions

from distkb.catalogue import places
from distkb.tui.spare import Spare
from distkb.watching import look


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory for compiled catalogues."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def homes(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the tests' sessions and caches away from the person's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.delenv("DISTKB_KB", raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("TMUX", raising=False)
    monkeypatch.setattr(look, "running", list)  # whatever else runs on this machine
    monkeypatch.setattr(Spare, "make", lambda _: None)  # a process for each test, of which few read anything


@pytest.fixture
def sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use a catalogue of three entries, and stand in the folder of the run that its recorded sessions read."""
    monkeypatch.setattr(places, "builtin", lambda: DATA / "kb")
    monkeypatch.chdir(RUN)


@pytest.fixture
def recorded(sample: None) -> None:  # noqa: ARG001 - pytest's way to use a fixture
    """Have two recorded sessions of the sample catalogue."""
    record_sessions()
