"""Rank 0 holds the store itself and is stopped, then killed, by rank 1, which goes on checking."""

# ruff: noqa: TID253 - a training script imports torch
from __future__ import annotations

import os
import signal
import time

import torch.distributed as dist
from live_notes import Notes

from distkb_probes import live


def main() -> None:
    """Rank 1 notes what it is told; rank 0 waits for its end."""
    dist.init_process_group("gloo")
    notes = Notes()
    store = dist.distributed_c10d._get_default_store()
    if dist.get_rank() == 0:
        store.set("pid", str(os.getpid()))
        live.memory()
        time.sleep(120)
    notes("both", live.memory())
    other = int(store.get("pid"))
    os.kill(other, signal.SIGSTOP)
    notes("stopped", live.memory(timeout=1))
    notes("still", live.memory(timeout=1))
    os.kill(other, signal.SIGKILL)
    notes("killed", live.memory(timeout=1))
    notes.write()
    os._exit(0)


main()
