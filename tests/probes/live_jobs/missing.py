"""Ranks that do not come, come late, or call a check alone; the job goes on after each."""

# ruff: noqa: TID253 - a training script imports torch
from __future__ import annotations

import os

import torch
import torch.distributed as dist
from live_notes import Notes, meet

from distkb_probes import live


def main() -> None:
    """Leave out one rank after the other."""
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    store = dist.distributed_c10d._get_default_store()
    notes = Notes()
    notes("all", live.memory())
    if rank != 2:
        notes("two-gone", live.memory(timeout=3))
    meet(store, "after two-gone", 3)
    if rank == 2:
        notes("two-late", live.memory(timeout=20))
    meet(store, "after two-late", 3)
    notes("all-again", live.memory(timeout=20))
    if rank != 0:
        notes("zero-gone", live.step(3, timeout=3))
    meet(store, "after zero-gone", 3)
    if rank == 1:
        notes("alone", live.step(4, timeout=1))
    meet(store, "after alone", 3)
    notes("resync-1", live.step(5, timeout=1))
    meet(store, "after resync-1", 3)
    notes("resync-2", live.step(5, timeout=20))
    total = torch.ones(1)
    dist.all_reduce(total)
    notes.said["all_reduce"] = total.item()
    notes.said["keys"] = store.num_keys()
    for _ in range(5):
        live.memory()
    meet(store, "after five", 3)
    notes.said["keys_later"] = store.num_keys() - 1
    notes.write()
    dist.destroy_process_group()
    os._exit(0)  # not through the interpreter's end, where torch 2.13 may abort: pytorch#190489


main()
