"""The roll of nodes: which machines have come to the rendezvous endpoint while torchrun waits for all of them."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from distkb_probes._lifeline import die_with_parent
from distkb_probes.communication.plan import Plan

_MAIN = Path(__file__).resolve().parents[1] / "__main__.py"
_FILE = "nodes.json"
_PORT = 29400
"""torchrun's default where an endpoint names no port (torch.distributed.elastic, c10d rendezvous backend)."""


@dataclass(frozen=True)
class Nodes:
    """Which nodes have come; none where the endpoint could not be reached."""

    tried: bool
    """False where there was no time yet to try."""
    hosts: tuple[str, ...]


class NodeRoll:
    """A small process beside torchrun that signs the endpoint's store for this node and reads who else has."""

    def __init__(self, plan: Plan, directory: Path) -> None:
        """Start it; it runs until `end`."""
        self._file = directory / _FILE
        me = os.getpid()
        self._process = subprocess.Popen(  # noqa: S603 - our own command
            [
                *(sys.executable, str(_MAIN), "--worker", "communication.nodes"),
                *(str(directory), plan.endpoint or "", plan.run, str(plan.deadline_s)),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=lambda: die_with_parent(me),  # noqa: PLW1509 - this process has one thread
        )

    def end(self) -> Nodes:
        """End it and return what it saw last."""
        self._process.kill()
        self._process.wait()
        return self.look()

    def look(self) -> Nodes:
        """Return what it has seen so far."""
        with contextlib.suppress(OSError, ValueError):
            hosts = json.loads(self._file.read_text(encoding="utf-8"))
            return Nodes(True, tuple(hosts))
        return Nodes(False, ())


def worker(arguments: Sequence[str]) -> int:
    """Sign the store and write the hosts that have signed into the directory, four times a second."""
    directory, endpoint, run, seconds = arguments
    import torch.distributed

    dist: Any = torch.distributed
    target, fresh = Path(directory) / _FILE, Path(directory) / f"{_FILE}.new"
    target.write_text("[]", encoding="utf-8")
    host, port = split(endpoint)
    limit = timedelta(seconds=float(seconds))
    client = dist.TCPStore(host, port, is_master=False, timeout=limit, wait_for_workers=False)
    store = dist.PrefixStore(f"distkb-allreduce-nodes/{run}", client)
    store.set(f"node/{store.add('nodes', 1)}", socket.gethostname())
    while True:
        signed = range(1, int(store.add("nodes", 0)) + 1)
        hosts = [store.get(f"node/{number}").decode() for number in signed]
        fresh.write_text(json.dumps(hosts), encoding="utf-8")
        fresh.replace(target)
        time.sleep(0.25)


def listens(endpoint: str) -> str | None:
    """Return None where something accepts connections at an endpoint, else the error of the attempt."""
    try:
        socket.create_connection(split(endpoint), timeout=1.0).close()
    except OSError as problem:
        return f"{type(problem).__name__}: {problem}"
    return None


def split(endpoint: str) -> tuple[str, int]:
    """Return host and port of an endpoint; an IPv6 address stands in brackets."""
    host, colon, port = endpoint.rpartition(":")
    if not colon or not port.isdecimal() or (":" in host and not host.endswith("]")):
        return endpoint.strip("[]"), _PORT
    return host.strip("[]"), int(port)
