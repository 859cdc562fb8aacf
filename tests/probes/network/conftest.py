"""Two nodes, and the network probe run on both of them as a user would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from distkb.repro.nodes import Node, nodes, unavailable

PROBES = Path(__file__).parents[3] / "probes" / "distkb_probes"
WORD = "a-token-of-the-tests"


@dataclass(frozen=True)
class Done:
    """What one end printed: the raw document of the probe."""

    document: dict[str, Any]

    @property
    def found(self) -> dict[str, dict[str, str]]:
        """The values of the findings by id; of two with one id, the last."""
        return {item["id"]: item["values"] for item in self.document["found"]}


def environ(**more: str) -> dict[str, str]:
    """Return this environment without what a launcher, NCCL or Gloo would read."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("NCCL_", "GLOO_", "MASTER_", "TORCH"))}
    return {**kept, "DISTKB_LANG": "en", **more}


def start(node: Node, request: dict[str, Any], more: dict[str, str]) -> subprocess.Popen[str]:
    """Start the probe on a node, as the command does, under its guard."""
    command = [sys.executable, str(PROBES), "network", json.dumps({"deadline_s": 90, **request})]
    return subprocess.Popen(
        node.command(command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ(**more)
    )


def finish(process: subprocess.Popen[str]) -> Done:
    """Wait for the probe's document."""
    out, err = process.communicate(timeout=120)
    assert out, err
    return Done(json.loads(out))


def meet(
    a: Node, b: Node, *, on_a: dict[str, str] | None = None, on_b: dict[str, str] | None = None
) -> tuple[Done, Done]:
    """Let the probe on `a` call the one that listens on `b`; return both answers."""
    request = {"token": WORD, "port": 29400}
    listener = start(b, {**request, "listen": True, "wait_s": 60.0}, on_b or {})
    assert listener.stderr is not None
    assert any("network.waiting" in line for line in listener.stderr)
    caller = start(a, {**request, "peer": b.address}, on_a or {})
    try:
        return finish(caller), finish(listener)
    finally:
        for process in (caller, listener):
            process.kill()
            process.wait()


@pytest.fixture(scope="session")
def allowed() -> None:
    """Skips where this machine allows no namespaces."""
    if (reason := unavailable()) is not None:
        pytest.skip(f"no network namespaces: {reason}")


@pytest.fixture
def pair(allowed: None) -> Iterator[tuple[Node, ...]]:
    """Two nodes for one test."""
    assert allowed is None
    with nodes(2) as made:
        yield made


@pytest.fixture
def shell() -> Callable[[Node, str], str]:
    """Run a script on a node; what it prints comes back."""

    def run(node: Node, script: str) -> str:
        done = subprocess.run(
            node.command(["/bin/sh", "-ec", script]), capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture
def probe_both() -> Callable[..., tuple[Done, Done]]:
    """Let the probe on the first node call the one that listens on the second."""
    return meet


@pytest.fixture
def probe_one() -> Callable[..., Done]:
    """Run the probe on one node with a request of one's own."""
    return lambda node, **request: finish(start(node, request, {}))
