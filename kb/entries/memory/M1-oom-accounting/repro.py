"""M1: parameters, gradients and AdamW's two moments of a 6.4 B model do not fit on one 80 GB GPU.

`python repro.py [--fixed]` plays rank 0 of 8 without a GPU: fake tensors, the real optimizer, and a counter in place
of the GPU's memory. `--fixed` divides the optimizer's state over the 8 ranks (ZeRO stage 1).
"""

from __future__ import annotations

import argparse
import logging
import weakref

import torch
import torch.distributed as dist
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

WORLD = 8
GIB = 2**30
log = logging.getLogger("train")


class Gpu(TorchDispatchMode):
    """Adds up what the live tensors hold, and raises what CUDA raises when an allocation no longer fits."""

    def __init__(self, capacity: float) -> None:
        super().__init__()
        self.capacity = capacity
        self.held: weakref.WeakValueDictionary[int, torch.UntypedStorage] = weakref.WeakValueDictionary()

    def allocated(self) -> int:
        return sum(storage.nbytes() for storage in self.held.values())

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(out):
            if isinstance(tensor, torch.Tensor):
                storage = tensor.untyped_storage()
                key = storage._cdata  # noqa: SLF001 - a fake tensor has no address
                if key not in self.held:
                    before = self.allocated()
                    if before + storage.nbytes() > self.capacity:
                        raise torch.OutOfMemoryError(
                            f"CUDA out of memory. Tried to allocate {storage.nbytes() / GIB:.2f} GiB. GPU 0 has a "
                            f"total capacity of {self.capacity / GIB:.2f} GiB of which "
                            f"{(self.capacity - before) / GIB:.2f} GiB is free. Of the allocated memory "
                            f"{before / GIB:.2f} GiB is allocated by PyTorch, and 0 bytes is reserved by PyTorch but "
                            "unallocated."
                        )
                    self.held[key] = storage
        return out


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(nn.functional.gelu(self.up(x)))


def train(gpu: Gpu, fixed: bool) -> None:
    model = nn.Sequential(*(Block(8192) for _ in range(12)))
    count = sum(parameter.numel() for parameter in model.parameters())
    log.info("%.2f B parameters, after the build %.1f GiB", count / 1e9, gpu.allocated() / GIB)
    if fixed:
        optimizer = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.AdamW, lr=1e-4)
    else:
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for step in range(1, 4):
        loss = model(torch.randn(1, 512, 8192)).square().mean()
        loss.backward()
        log.info("step %d after backward %.1f GiB", step, gpu.allocated() / GIB)
        optimizer.step()
        log.info("step %d after optimizer.step %.1f GiB", step, gpu.allocated() / GIB)
        optimizer.zero_grad()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="divide the optimizer state over the ranks")
    fixed = parser.parse_args().fixed
    logging.basicConfig(level=logging.INFO, format="%(asctime)s [rank0] %(levelname)s %(message)s")
    dist.init_process_group("fake", rank=0, world_size=WORLD, store=FakeStore())
    gpu = Gpu(79.25 * GIB)
    with FakeTensorMode(), gpu:
        train(gpu, fixed)
    log.info("training finished")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
