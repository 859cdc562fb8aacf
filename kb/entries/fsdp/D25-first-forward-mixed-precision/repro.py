"""D25: the ranks decide for themselves whether to compute in bf16, so FSDP's first all-gather has two dtypes.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import logging
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

TIMEOUT = timedelta(seconds=5)
STEPS = 4
WIDTH = 32

log = logging.getLogger("train")


def read_config(rank: int) -> dict[str, str]:
    """Return the settings of the run; only rank 0 is given the file, as when one node has an older copy of it."""
    return {"mixed_precision": "bf16"} if rank == 0 else {"mixed_precision": "no"}


def precision(rank: int, fixed: bool) -> str:
    """Return `bf16` or `no`."""
    setting = read_config(rank)["mixed_precision"]
    if not fixed:
        return setting
    # One rank decides for all.
    shared = [setting]
    dist.broadcast_object_list(shared, src=0)
    return shared[0]


class Block(nn.Module):
    """A residual block, one unit of fully_shard."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (batch, width) to (batch, width)."""
        out: torch.Tensor = x + self.down(torch.relu(self.up(self.norm(x))))
        return out


def shard(model: nn.Sequential, setting: str) -> None:
    """Apply fully_shard to each block and to the whole."""
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    policy = MixedPrecisionPolicy()
    if setting == "bf16":
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in model:
        fully_shard(block, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="rank 0 decides about the precision of all")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=TIMEOUT)
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    setting = precision(rank, fixed)
    torch.manual_seed(0)
    model = nn.Sequential(Block(), Block())
    shard(model, setting)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    log.info("model sharded, mixed precision: %s", setting)
    torch.manual_seed(1 + rank)
    for step in range(1, STEPS + 1):
        batch = torch.randn(8, WIDTH)
        if step == 1:
            log.info("first batch: on device, starting forward pass")
        loss = (model(batch).float() - batch).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        log.info("step %d loss %.4f", step, loss.item())
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
