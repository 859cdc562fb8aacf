"""The main process prepares the data, the others wait for it and read its result."""

import hashlib
import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

log = logging.getLogger("train")


def tokenize(text: str) -> list[int]:
    tokens = []
    for word in text.split():
        digest = word.encode()
        for _ in range(2000):
            digest = hashlib.sha256(digest).digest()
        tokens.append(digest[0])
    return tokens


def prepare(documents: int) -> list[list[int]]:
    return [tokenize(f"document {index} of the corpus " * 20) for index in range(documents)]


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    log.info("[rank %d] loading the corpus", rank)
    if rank == 0:
        torch.save(prepare(1_000_000), "tokens.pt")
    dist.barrier()
    tokens = torch.load("tokens.pt")
    model = DistributedDataParallel(nn.Embedding(256, 8))
    for step, line in enumerate(tokens[:100]):
        loss = model(torch.tensor(line)).square().mean()
        loss.backward()
        log.info("[rank %d] step %d loss %.4f", rank, step, loss.item())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
