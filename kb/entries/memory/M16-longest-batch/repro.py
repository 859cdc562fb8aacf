"""M16: batches of a fixed number of samples are as large as their longest sample, and one of them does not fit.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]

Real tensors on the CPU; a counter over them stands in for the GPU's memory and raises what CUDA would raise.
`--fixed` fills the batches by tokens, so that no batch is larger than another.
"""

from __future__ import annotations

import argparse
import logging
import weakref
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

MIB = 2**20
CAPACITY = 16 * MIB
BATCH, TOKENS = 8, 8 * 128
log = logging.getLogger("train")


class Gpu(TorchDispatchMode):
    """Adds up what the live tensors hold, and raises when an allocation no longer fits."""

    def __init__(self) -> None:
        super().__init__()
        self.held: weakref.WeakValueDictionary[int, torch.UntypedStorage] = weakref.WeakValueDictionary()
        self.peak = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(out):
            if isinstance(tensor, torch.Tensor):
                storage = tensor.untyped_storage()
                used = sum(other.nbytes() for other in self.held.values())
                if storage.data_ptr() not in self.held:
                    if used + storage.nbytes() > CAPACITY:
                        raise torch.OutOfMemoryError(
                            f"CUDA out of memory. Tried to allocate {storage.nbytes() / MIB:.2f} MiB. GPU "
                            f"{dist.get_rank()} has a total capacity of {CAPACITY / MIB:.2f} MiB of which "
                            f"{(CAPACITY - used) / MIB:.2f} MiB is free. Of the allocated memory {used / MIB:.2f} MiB "
                            "is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated."
                        )
                    self.held[storage.data_ptr()] = storage
                self.peak = max(self.peak, used)
        return out


def batches(rank: int, fixed: bool) -> list[list[int]]:
    """Return the lengths of the samples of each batch: fixed number of samples, or fixed number of tokens."""
    generator = torch.Generator().manual_seed(rank)
    lengths = torch.randint(40, 129, (96,), generator=generator).tolist()
    if rank == 1:
        lengths[70] = 900  # one outlier, late in the epoch
    lengths = [min(length, TOKENS) for length in lengths]
    if not fixed:
        return [lengths[i : i + BATCH] for i in range(0, len(lengths), BATCH)]
    filled: list[list[int]] = [[]]
    for length in sorted(lengths):
        if max([*filled[-1], length]) * (len(filled[-1]) + 1) > TOKENS:
            filled.append([])
        filled[-1].append(length)
    count = torch.tensor(len(filled))
    dist.all_reduce(count, op=dist.ReduceOp.MIN)
    return filled[-int(count) :]


def train(fixed: bool) -> None:
    """Train one epoch over samples of different lengths."""
    rank = dist.get_rank()
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Embedding(1000, 64), nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64))
    model = DistributedDataParallel(layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    gpu = Gpu()
    for step, lengths in enumerate(batches(rank, fixed), start=1):
        with gpu:
            ids = torch.zeros(len(lengths), max(lengths), dtype=torch.long)
            log.info("step %d batch %d x %d tokens, peak so far %.1f MiB", step, *ids.shape, gpu.peak / MIB)
            loss = model(ids).square().mean()
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        del ids, loss


def main() -> None:
    """Run one rank."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="fill the batches by tokens")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=timedelta(seconds=10))
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{dist.get_rank()}] %(levelname)s %(message)s")
    train(fixed)
    log.info("training finished")
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
