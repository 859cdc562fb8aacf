"""D52: a sharded model generates; the rank whose prompt is longer stops first and no longer takes part in the forwards.

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
from torch.distributed.fsdp import fully_shard

TIMEOUT = timedelta(seconds=5)
VOCAB, WIDTH, MAX_LENGTH = 32, 16, 12
PROMPTS = {0: [5, 9, 2, 7, 11, 3, 8, 1], 1: [4, 6, 2]}

log = logging.getLogger("eval")


class TinyLM(nn.Module):
    """Embedding, two blocks and a head: predicts the next token from the mean of those before."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCAB, WIDTH)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU()) for _ in range(2))
        self.head = nn.Linear(WIDTH, VOCAB)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        hidden = self.embed(tokens).mean(dim=1)
        for block in self.blocks:
            hidden = hidden + block(hidden)
        return self.head(hidden)


def all_finished(finished: bool) -> bool:
    """Whether every rank has finished; called by all ranks in each decoding step."""
    unfinished = torch.tensor(0.0 if finished else 1.0)
    dist.all_reduce(unfinished)
    return unfinished.item() == 0.0


@torch.no_grad()
def generate(model: nn.Module, tokens: torch.Tensor, synced: bool) -> torch.Tensor:
    """Decode greedily until the sequence, prompt included, has MAX_LENGTH tokens."""
    finished = False
    while not (all_finished(finished) if synced else finished):
        logits = model(tokens)  # Gathers the shards of all ranks.
        if finished:
            continue  # Only takes part for the others' sake.
        tokens = torch.cat([tokens, logits.argmax(dim=1, keepdim=True)], dim=1)
        finished = tokens.shape[1] >= MAX_LENGTH
    return tokens


def evaluate(fixed: bool) -> None:
    rank = dist.get_rank()
    # Python objects are gathered over a group of their own, as one does beside NCCL.
    objects = dist.new_group(backend="gloo", timeout=TIMEOUT)
    torch.manual_seed(0)
    model = TinyLM()
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    prompt = torch.tensor([PROMPTS[rank]])
    log.info("generating from a prompt of %d tokens", prompt.shape[1])
    tokens = generate(model, prompt, synced=fixed)
    log.info("generated %d new tokens", tokens.shape[1] - prompt.shape[1])
    answers: list[list[int]] = [[] for _ in range(dist.get_world_size())]
    dist.all_gather_object(answers, tokens[0].tolist(), group=objects)
    log.info("evaluation finished, %d answers", len(answers))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="go on with the forwards until all ranks have finished")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=TIMEOUT)
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{dist.get_rank()}] %(levelname)s %(message)s")
    evaluate(fixed)
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
