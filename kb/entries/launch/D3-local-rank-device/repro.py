"""D3: the global rank is used as the number of the GPU; the second machine has no GPU of that number.

python repro.py [--fixed]

Two processes play two machines with one GPU each. There is no GPU: `set_device` is given the numbers that CUDA would
accept, and answers as CUDA does. The user's script is left as train.py.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import runpy
import socket
import sys
from pathlib import Path

import torch

GPUS_PER_NODE = 1

TRAIN = """\
import logging
import os
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main():
    on_gpu = torch.cuda.is_available()
    dist.init_process_group("nccl" if on_gpu else "gloo", timeout=timedelta(seconds=8))
    rank = dist.get_rank()
    {local}torch.cuda.set_device({device})
    logging.info("GPU %d", {device})
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(8, 1).to("cuda" if on_gpu else "cpu"))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    generator = torch.Generator().manual_seed(rank)
    for step in range(1, 4):
        inputs = torch.randn(16, 8, generator=generator)
        loss = nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        logging.info("step %d loss %.4f", step, loss.item())
    if not on_gpu:
        dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    prefix = f"%(asctime)s [rank{{os.environ['RANK']}}]"
    logging.basicConfig(level=logging.INFO, format=prefix + " %(levelname)s %(message)s")
    main()
"""


def set_device(device: int) -> None:
    """Answer as CUDA does on a machine with GPUS_PER_NODE GPUs."""
    if not 0 <= device < GPUS_PER_NODE:
        raise torch.AcceleratorError(
            "CUDA error: invalid device ordinal\n"
            "GPU device may be out of range, do you have enough GPUs?\n"
            "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might "
            "be incorrect."
        )


def node(rank: int, nodes: int, port: int) -> None:
    """What the launcher of one machine does: variables, then the script."""
    values = {"RANK": rank, "LOCAL_RANK": 0, "WORLD_SIZE": nodes, "LOCAL_WORLD_SIZE": 1, "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in values.items()} | {"MASTER_ADDR": "127.0.0.1"})
    torch.cuda.set_device = set_device
    runpy.run_path("train.py", run_name="__main__")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="take the device from LOCAL_RANK")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    local = 'local_rank = int(os.environ["LOCAL_RANK"])\n    ' if fixed else ""
    Path("train.py").write_text(TRAIN.format(local=local, device="local_rank" if fixed else "rank"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = multiprocessing.get_context("fork")
    machines = [context.Process(target=node, args=(rank, 2, port)) for rank in range(2)]
    for machine in machines:
        machine.start()
    for machine in machines:
        machine.join()
    return max(machine.exitcode or 0 for machine in machines)


if __name__ == "__main__":
    sys.exit(main())
