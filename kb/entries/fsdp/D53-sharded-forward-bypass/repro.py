"""D53: training goes through the sharded model, evaluation calls a method of its own and meets the shards.

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
from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method

TIMEOUT = timedelta(seconds=6)
STEPS = 3
VOCABULARY, WIDTH = 64, 16

log = logging.getLogger("train")


class Encoder(nn.Module):
    """A small language model that also hands out sentence vectors."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(2))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def encode(self, tokens: torch.Tensor) -> torch.Tensor:
        """Map tokens (batch, length) to vectors (batch, length, width)."""
        hidden: torch.Tensor = self.embed(tokens)
        for layer in self.layers:
            hidden = hidden + torch.relu(layer(hidden))
        return hidden

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Map tokens (batch, length) to logits (batch, length, vocabulary)."""
        logits: torch.Tensor = self.head(self.encode(tokens)) * 1.0
        return logits


def shard(model: Encoder, fixed: bool) -> Encoder:
    """Apply fully_shard to each layer and to the whole."""
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    if fixed:
        # The method gathers the parameters around its call, as forward does.
        register_fsdp_forward_method(model, "encode")
    return model


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="register encode as a second forward")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=TIMEOUT)
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    torch.manual_seed(0)
    model = shard(Encoder(), fixed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    torch.manual_seed(1 + rank)
    for step in range(1, STEPS + 1):
        tokens = torch.randint(0, VOCABULARY, (4, 8))
        logits = model(tokens)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        log.info("step %d loss %.4f", step, loss.item())
    model.eval()
    with torch.no_grad():
        vectors = model.encode(torch.randint(0, VOCABULARY, (4, 8))).mean(dim=1)
    log.info("evaluation: %d sentence vectors of norm %.3f", len(vectors), vectors.norm(dim=1).mean().item())
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
