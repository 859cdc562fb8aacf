"""D54: the process group exists before the Accelerator, so the longer timeout that it is given reaches nothing.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import logging
import time
from datetime import timedelta

import torch
from accelerate import Accelerator, InitProcessGroupKwargs, PartialState

log = logging.getLogger("train")

CLUSTER_TIMEOUT = timedelta(seconds=3)
LONGER = InitProcessGroupKwargs(backend="gloo", timeout=timedelta(minutes=30))


def start_logging() -> None:
    """The cluster's helper: it needs the rank, so it makes the process group if there is none yet."""
    state = PartialState(cpu=True, timeout=CLUSTER_TIMEOUT)
    rank_format = f"%(asctime)s [rank{state.process_index}] %(levelname)s %(message)s"
    logging.basicConfig(level=logging.INFO, format=rank_format)


def make_accelerator() -> Accelerator:
    return Accelerator(cpu=True, kwargs_handlers=[LONGER])


def tokenize(documents: int) -> torch.Tensor:
    """Takes longer than the cluster's timeout and far less than the one that the script asks for."""
    tokens = []
    for document in range(documents):
        time.sleep(1.0)
        tokens.append(torch.full((4,), float(document)))
        log.info("tokenized %d/%d documents", document + 1, documents)
    return torch.stack(tokens)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="make the group where its timeout is given")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    if fixed:
        accelerator = make_accelerator()
        start_logging()
    else:
        start_logging()
        accelerator = make_accelerator()
    log.info("started with %s", LONGER)

    with accelerator.main_process_first():
        if accelerator.is_main_process:
            data = tokenize(documents=6)
            torch.save(data, "tokens.pt")
        else:
            data = torch.load("tokens.pt")
    log.info("%d documents ready", len(data))

    model = accelerator.prepare(torch.nn.Linear(4, 1))
    loss = model(data).mean()
    accelerator.backward(loss)
    log.info("step 1 loss %.4f", loss.item())
    torch.distributed.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    accelerator.end_training()
    log.info("training finished")


if __name__ == "__main__":
    main()
