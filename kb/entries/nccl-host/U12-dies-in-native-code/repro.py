"""U12: a C function is called through ctypes without its argument types; pointers lose half, and the rank dies.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import ctypes
import logging
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

TIMEOUT = timedelta(seconds=6)
STEPS = 6
ROWS, WIDTH = 16, 8

log = logging.getLogger("train")


def copy_function(fixed: bool) -> ctypes._CFuncPtr:
    """C's memcpy, which an in-house loader uses to take rows out of its buffer."""
    function = ctypes.CDLL(None).memcpy
    if fixed:
        # Without this ctypes passes Python's integers as C int, and half of an address is lost.
        function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
        function.restype = ctypes.c_void_p
    return function


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="declare the types of the C function")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=TIMEOUT)
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(WIDTH, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    memcpy = copy_function(fixed)
    torch.manual_seed(1 + rank)
    for step in range(1, STEPS + 1):
        inputs = torch.randn(ROWS, WIDTH)
        if rank == 1 and step == 4:  # the first sample that lies in the compressed part of the shard
            unpacked = torch.empty_like(inputs)
            memcpy(unpacked.data_ptr(), inputs.data_ptr(), inputs.numel() * inputs.element_size())
            inputs = unpacked
        loss = nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.info("step %d loss %.4f", step, loss.item())
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
