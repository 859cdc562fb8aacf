"""The compiled catalogue and its cache."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from catalogue_samples import DATA, QUIET, change, overlay, sound
from hypothesis import given
from hypothesis import strategies as st

from distkb.catalogue.cache import cache_file, fingerprint, open_compiled
from distkb.catalogue.compiled import Compiled, NotCompiledError, compile_catalogue
from distkb.catalogue.load import load_sources
from distkb.catalogue.model import Catalogue
from distkb.catalogue.problem import CatalogueError, Problem

SOUND, _ = load_sources([DATA / "sound"])
BYTES = compile_catalogue(SOUND, {"search": b"index"}, fingerprint=b"state")


class Counted:
    """Builds the caller's section and counts how often it is asked to."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, catalogue: Catalogue) -> dict[str, bytes]:
        """Return the ids as the section."""
        self.calls += 1
        return {"search": ",".join(entry.id for entry in catalogue.entries).encode()}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache directory for this test."""
    monkeypatch.setattr("distkb.catalogue.places.cache_directory", lambda: tmp_path / "cache")
    return tmp_path / "cache"


def test_everything_comes_back() -> None:
    """Compiling loses nothing, and every part can be had by itself."""
    compiled = Compiled(BYTES)
    assert compiled.catalogue() == SOUND
    assert compiled.ids() == ("D2", "D10")
    assert [(title.id, title.slug, title.family, title.title) for title in compiled.titles()] == [
        (entry.id, entry.slug, entry.family, entry.title) for entry in SOUND.entries
    ]
    assert compiled.entry("D10") == SOUND.entries[1]
    assert compiled.entry("D99") is None
    assert bytes(compiled.search_index()) == b"index"
    assert compiled.fingerprint == b"state"
    assert compiled.problems == ()
    with pytest.raises(KeyError):
        compiled.extra("other")  # noqa: S610 - no Django here


def test_what_is_decoded_is_decoded_once() -> None:
    """Asking again gives the same object."""
    compiled = Compiled(BYTES)
    assert compiled.signatures() is compiled.signatures()
    assert compiled.entry("D2") is compiled.entries()[0]


@given(st.integers(0, len(BYTES) - 1), st.integers(1, 255))
def test_a_changed_byte_is_noticed(position: int, change: int) -> None:
    """No damaged file is ever read as a catalogue."""
    damaged = bytearray(BYTES)
    damaged[position] ^= change
    with pytest.raises(NotCompiledError):
        Compiled(bytes(damaged))


@given(st.integers(0, len(BYTES) - 1))
def test_a_cut_file_is_noticed(length: int) -> None:
    """However much is missing."""
    with pytest.raises(NotCompiledError):
        Compiled(BYTES[:length])


@given(st.binary(max_size=200))
def test_other_bytes_are_noticed(data: bytes) -> None:
    """Garbage is no catalogue."""
    with pytest.raises(NotCompiledError):
        Compiled(data)


def test_a_file_of_another_version_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """An upgrade compiles anew."""
    monkeypatch.setattr("distkb.__version__", "9.9.9")
    with pytest.raises(NotCompiledError, match="another version"):
        Compiled(BYTES)


def test_the_second_start_compiles_nothing(tmp_path: Path, cache: Path) -> None:
    """The cached file is used as long as nothing changes."""
    kb, build = sound(tmp_path), Counted()
    first, second = (open_compiled([kb], build) for _ in range(2))
    assert build.calls == 1
    assert first.catalogue() == second.catalogue()
    assert bytes(second.search_index()) == b"D2,D10"
    assert [path.name for path in cache.iterdir()] == [cache_file([kb]).name]


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    "edit",
    [
        lambda kb: change(kb, "One rank stays away", "One rank stays behind"),
        lambda kb: os.utime(kb / QUIET, ns=(1, 1)),
        lambda kb: (kb / QUIET).unlink(),
        lambda kb: (kb / "observations/new.yaml").write_text("findings: []\n", encoding="utf-8"),
        lambda kb: (kb / "glossary.yaml").write_text("terms: []\n", encoding="utf-8"),
    ],
)
def test_a_changed_source_is_compiled_again(tmp_path: Path, edit: Callable[[Path], object]) -> None:
    """An edit, a new time, a removed or an added file each count as a change."""
    kb, build = sound(tmp_path), Counted()
    open_compiled([kb], build)
    edit(kb)
    assert open_compiled([kb], build).catalogue() == load_sources([kb])[0]
    assert build.calls == 2


@pytest.mark.parametrize("damage", [b"", b"garbage", BYTES[:200], BYTES[:-1] + b"\xff"])
def test_a_damaged_cache_is_replaced_silently(tmp_path: Path, cache: Path, damage: bytes) -> None:
    """The user never hears of it."""
    kb, build = sound(tmp_path), Counted()
    open_compiled([kb], build)
    cache_file([kb]).write_bytes(damage)
    assert open_compiled([kb], build).ids() == ("D2", "D10")
    assert open_compiled([kb], build).ids() == ("D2", "D10")
    assert build.calls == 2
    assert cache.is_dir()


def test_without_a_writable_cache_it_still_opens(tmp_path: Path, cache: Path) -> None:
    """A file where the cache directory should be is no obstacle."""
    cache.write_text("in the way", encoding="utf-8")
    kb, build = sound(tmp_path), Counted()
    for _ in range(2):
        assert open_compiled([kb], build).ids() == ("D2", "D10")
    assert build.calls == 2


def test_many_at_once(tmp_path: Path, cache: Path) -> None:
    """Starts that compile at the same time all get the catalogue, and leave one whole file."""
    kb = sound(tmp_path)
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda _: open_compiled([kb], Counted()).ids(), range(6)))
    assert found == [("D2", "D10")] * 6
    assert [path.name for path in cache.iterdir()] == [cache_file([kb]).name]


def test_errors_of_the_first_knowledge_base_are_raised(tmp_path: Path, cache: Path) -> None:
    """All of them, and nothing is cached."""
    kb = sound(tmp_path)
    change(kb, "prior: common", "prior: 3")
    change(kb, "cost: edit", "cost: free")
    with pytest.raises(CatalogueError) as error:
        open_compiled([kb], Counted())
    assert len(error.value.problems) == 2
    assert str(error.value).startswith(f"{kb / QUIET}:36:12: 'prior' must be one of")
    assert not cache.exists()


@pytest.mark.usefixtures("cache")
def test_a_broken_overlay_leaves_the_rest_in_use(tmp_path: Path) -> None:
    """Its sound records count, what is wrong is in `problems`, also when it comes from the cache."""
    kb, more, build = sound(tmp_path), overlay(tmp_path), Counted()
    other = more / "entries/hangs/ACME2-quiet-rank/entry.yaml"
    other.parent.mkdir()
    other.write_text("id: ACME2\nslug: [", encoding="utf-8")
    for _ in range(2):
        compiled = open_compiled([kb, more, tmp_path / "missing"], build)
        assert compiled.ids() == ("ACME1", "D2", "D10")
        assert [type(problem) for problem in compiled.problems] == [Problem, Problem]
        assert {problem.path for problem in compiled.problems} == {str(other), str(tmp_path / "missing")}
    assert build.calls == 1
    assert open_compiled([kb], build).ids() == ("D2", "D10")


def test_the_precompiled_file_of_an_installation_is_used_as_it_is(tmp_path: Path, cache: Path) -> None:
    """No source is looked at; with an overlay the sources are."""
    kb, build = sound(tmp_path), Counted()
    (kb / "compiled.msgpack").write_bytes(compile_catalogue(SOUND, {"search": b"shipped"}))
    change(kb, "One rank stays away", "One rank stays behind")
    assert bytes(open_compiled([kb], build).search_index()) == b"shipped"
    assert (build.calls, cache.exists()) == (0, False)
    assert bytes(open_compiled([kb, overlay(tmp_path)], build).search_index()) == b"ACME1,D2,D10"
    (kb / "compiled.msgpack").write_bytes(b"damaged")
    assert bytes(open_compiled([kb], build).search_index()) == b"D2,D10"


def test_the_fingerprint_depends_on_the_order_of_knowledge_bases(tmp_path: Path) -> None:
    """The first one wins where ids meet, so the order is part of the state."""
    kb, more = sound(tmp_path), overlay(tmp_path)
    assert fingerprint([kb, more]) != fingerprint([more, kb])
    assert cache_file([kb, more]) != cache_file([more, kb])


def test_a_warm_start_imports_neither_yaml_nor_a_scanner(tmp_path: Path) -> None:
    """What only compiling needs is not loaded when nothing is compiled."""
    program = (
        "import sys\nfrom pathlib import Path\n"
        "from distkb.catalogue.cache import open_compiled\n"
        "compiled = open_compiled([Path(sys.argv[1])], lambda catalogue: {'search': b'x'})\n"
        "compiled.titles(), compiled.search_index(), compiled.entry('D2')\n"
        "heavy = {'yaml', 'hyperscan', 'platformdirs', 'difflib', 'tempfile', 'distkb.catalogue.load'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    kb = sound(tmp_path)
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "xdg")}
    outputs = [
        subprocess.run(
            [sys.executable, "-c", program, str(kb)], env=env, capture_output=True, text=True, check=True
        ).stdout.strip()
        for _ in range(2)
    ]
    assert "'yaml'" in outputs[0]
    assert outputs[1] == "[]"
