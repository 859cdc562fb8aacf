"""D27: Accelerate decides that rank 0 reads the stream for everybody, and the batches do not fit together.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Iterator
from datetime import timedelta

import torch
from accelerate import Accelerator, DataLoaderConfiguration, InitProcessGroupKwargs
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

TIMEOUT = timedelta(seconds=8)
DOCUMENTS = 16

log = logging.getLogger("train")


class Documents(IterableDataset[torch.Tensor]):
    """A stream of token rows, longer and longer."""

    def __iter__(self) -> Iterator[torch.Tensor]:
        for document in range(DOCUMENTS):
            yield torch.ones(4 + document // 2)


def pad(rows: list[torch.Tensor]) -> torch.Tensor:
    """Pads the rows of one batch to the longest of them."""
    return nn.utils.rnn.pad_sequence(rows, batch_first=True)


def train(accelerator: Accelerator) -> None:
    torch.manual_seed(0)
    weight = nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([weight], lr=0.01)
    loader = accelerator.prepare(DataLoader(Documents(), batch_size=2, collate_fn=pad))
    log.info("%d processes, %s", accelerator.num_processes, type(loader).__name__)
    for step, batch in enumerate(loader, start=1):
        loss = ((batch.sum(dim=1) * weight - 1) ** 2).mean()
        accelerator.backward(loss)
        weight.grad = accelerator.reduce(weight.grad, reduction="mean")
        optimizer.step()
        optimizer.zero_grad()
        log.info("step %d loss %.4f rows of %d", step, loss.item(), batch.shape[1])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="say that every process reads its own part")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    # Left alone, dispatch_batches is True for an IterableDataset and False for anything else.
    data = DataLoaderConfiguration(dispatch_batches=False) if fixed else None
    handlers = [InitProcessGroupKwargs(backend="gloo", timeout=TIMEOUT)]
    accelerator = Accelerator(cpu=True, dataloader_config=data, kwargs_handlers=handlers)
    rank_format = f"%(asctime)s [rank{accelerator.process_index}] %(levelname)s %(message)s"
    logging.basicConfig(level=logging.INFO, format=rank_format)
    train(accelerator)
    torch.distributed.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    accelerator.end_training()
    log.info("training finished")


if __name__ == "__main__":
    main()
