"""What the catalogue says that torch and accelerate do, beside programs that do it, and the words that each proves.

`DISTKB_TEST_PYTHON` names an interpreter with another torch.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from distkb.catalogue.versions import is_before

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).with_name("behaviour")
PYTHON = os.environ.get("DISTKB_TEST_PYTHON", sys.executable)
SPREAD = ("together", "sharded", "two_ranks")
"""Programs of which torchrun starts two processes."""


def claims() -> dict[str, dict[str, list[Any]]]:
    """By program and function: where the words stand, the words, what is seen, and of what versions they speak."""
    import yaml

    read: dict[str, dict[str, list[Any]]] = yaml.safe_load((PROGRAMS / "claims.yaml").read_text(encoding="utf-8"))
    return read


CLAIMS = claims()
NAMED = [(program, name) for program, claims in CLAIMS.items() for name in claims]


@functools.cache
def version(package: str) -> str:
    """The version of a package beside the programs' interpreter; empty where it is not there."""
    code = f"import importlib.metadata as found; print(found.version({package!r}))"
    done = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip()


@functools.cache
def seen(program: str) -> dict[str, Any]:
    """What a program saw; it is started for the first test that asks."""
    start = [str(PROGRAMS / f"{program}.py")]
    if program in SPREAD:
        start = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *start]
    done = subprocess.run([PYTHON, *start], capture_output=True, text=True, timeout=170, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("SEEN ")]
    assert lines, done.stderr[-2000:]
    saw: dict[str, Any] = json.loads(lines[-1].removeprefix("SEEN "))
    return saw


def told(where: str) -> str:
    """The text of an entry, by its id, or of a file of kb/, as one line."""
    paths = sorted((ROOT / "kb").glob(where if "/" in where else f"entries/*/{where}-*/*.yaml"))
    return " ".join(word for path in paths for word in path.read_text(encoding="utf-8").split()).replace("''", "'")


@pytest.mark.torchrun
@pytest.mark.parametrize(("program", "name"), NAMED, ids=[name for _, name in NAMED])
def test_torch_does_what_the_catalogue_says(program: str, name: str) -> None:
    """The program sees it with every torch that the words speak of."""
    _, _, expected, *more = CLAIMS[program][name]
    asked = more[0] if more else {}
    if is_before(version("torch"), asked.get("torch", "0")):
        pytest.skip(f"the words speak of torch {asked['torch']} and later")
    if not version(asked.get("needs", "torch")):
        pytest.skip(f"without {asked['needs']}")
    saw = seen(program)[name]
    if isinstance(expected, str) and expected:
        assert expected in str(saw)
    else:
        assert saw == expected


@pytest.mark.parametrize(("program", "name"), NAMED, ids=[name for _, name in NAMED])
def test_the_words_that_a_program_proves_stand_in_the_catalogue(program: str, name: str) -> None:
    """What is changed in an entry is changed beside its program too."""
    where, words, *_ = CLAIMS[program][name]
    assert words in told(where)


def test_the_own_address_of_a_machine_is_routed_over_lo() -> None:
    """MN1.a.1: asked for an address of its own, `ip route get` names `lo`, so that another node's is to be given."""
    try:
        done = subprocess.run(["ip", "route", "get", "127.0.0.2"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no ip here")
    assert " dev lo " in done.stdout
    entry = ROOT / "kb/entries/multinode/MN1-nic-interface/entry.yaml"
    assert "of its own address it says `lo`" in entry.read_text(encoding="utf-8")
