"""D48: one optimizer is for the matrices, one for the rest, and FSDP has made one flat tensor of each unit.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import logging
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.distributed.fsdp.wrap import ModuleWrapPolicy

TIMEOUT = timedelta(seconds=6)
STEPS = 3
WIDTH = 16

log = logging.getLogger("train")


class Block(nn.Module):
    """A residual block, one FSDP unit."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 2 * WIDTH)
        self.down = nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (batch, width) to (batch, width)."""
        out: torch.Tensor = x + self.down(torch.relu(self.up(self.norm(x))))
        return out


def wrap(model: nn.Module, fixed: bool) -> FullyShardedDataParallel:
    """Shard the model, one unit per block."""
    return FullyShardedDataParallel(
        model,
        auto_wrap_policy=ModuleWrapPolicy({Block}),
        device_id=torch.device("cpu"),
        use_orig_params=fixed,
    )


def split(model: nn.Module, matrix_names: set[str], fixed: bool) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    """Return the parameters with two dimensions, for the momentum optimizer, and all others, for AdamW."""
    matrices, others = [], []
    for name, parameter in model.named_parameters():
        plain = name.replace("_fsdp_wrapped_module.", "")
        # A shard has one dimension, so the names decide, taken before the model was wrapped.
        is_matrix = plain in matrix_names if fixed else parameter.ndim == 2
        (matrices if is_matrix else others).append(parameter)
    return matrices, others


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="keep the original parameters and choose them by name")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=TIMEOUT)
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    torch.manual_seed(0)
    plain = nn.Sequential(Block(), Block())
    matrix_names = {name for name, parameter in plain.named_parameters() if parameter.ndim == 2}
    model = wrap(plain, fixed)
    log.info("first parameter: %s", next(iter(dict(model.named_parameters()))))
    matrices, others = split(model, matrix_names, fixed)
    optimizers = [torch.optim.SGD(matrices, lr=0.02, momentum=0.9, nesterov=True), torch.optim.AdamW(others, lr=1e-3)]
    log.info("%d matrices, %d other parameters", len(matrices), len(others))
    torch.manual_seed(1 + rank)
    for step in range(1, STEPS + 1):
        batch = torch.randn(8, WIDTH)
        loss = (model(batch) - batch).square().mean()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        log.info("step %d loss %.4f", step, loss.item())
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
