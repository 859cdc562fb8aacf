"""M2: the model states take a tenth of the GPU, and the activations of one batch of long sequences do not fit.

`python repro.py [--fixed]` plays one rank without a GPU: fake tensors, the real autograd, and a counter in place of
the GPU's memory. `--fixed` recomputes each block in backward instead of keeping what is inside it.
"""

from __future__ import annotations

import argparse
import logging
import weakref

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.checkpoint import checkpoint

LAYERS, WIDTH, HEADS = 24, 2048, 16
BATCH, LENGTH = 8, 8192
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
    """One transformer block with fused attention."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.up = nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.down = nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(self.norm1(x)).view(BATCH, LENGTH, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        attended = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(BATCH, LENGTH, WIDTH))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


def train(gpu: Gpu, fixed: bool) -> None:
    torch.set_default_dtype(torch.bfloat16)
    model = nn.ModuleList(Block() for _ in range(LAYERS))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    states = 8 * sum(parameter.numel() for parameter in model.parameters())
    log.info("weights, gradients and moments take %.1f GiB", states / GIB)
    for step in range(1, 3):
        x = torch.randn(BATCH, LENGTH, WIDTH)
        for block in model:
            x = checkpoint(block, x, use_reentrant=False) if fixed else block(x)
        log.info("step %d after forward %.1f GiB", step, gpu.allocated() / GIB)
        x.float().square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        log.info("step %d done", step)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="checkpoint the activations of each block")
    fixed = parser.parse_args().fixed
    logging.basicConfig(level=logging.INFO, format="%(asctime)s [rank0] %(levelname)s %(message)s")
    gpu = Gpu(79.25 * GIB)
    with FakeTensorMode(), gpu:
        train(gpu, fixed)
    log.info("training finished")


if __name__ == "__main__":
    main()
