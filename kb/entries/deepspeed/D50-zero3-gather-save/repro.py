"""D50: the state dict of a ZeRO-3 model is saved while its parameters are partitioned.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]

DeepSpeed is not needed: `partition` and `gathered` do to `param.data` what zero.Init and GatheredParameters do.
"""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

WIDTH, STEPS = 32, 4
log = logging.getLogger("train")


def build() -> nn.Module:
    return nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH, bias=False), nn.ReLU(), nn.Linear(2 * WIDTH, 1, bias=False))


def partition(model: nn.Module) -> None:
    """Leave each rank with its slice of every parameter, in `ds_tensor`; the parameter itself becomes empty."""
    for param in model.parameters():
        param.ds_shape = param.shape
        param.ds_tensor = param.detach().flatten().chunk(dist.get_world_size())[dist.get_rank()].clone()
        param.data = torch.empty(0)


@contextmanager
def gathered(model: nn.Module) -> Iterator[None]:
    """Make every parameter whole on all ranks; on the way out keep the own slice of what it has become."""
    for param in model.parameters():
        slices = [torch.empty_like(param.ds_tensor) for _ in range(dist.get_world_size())]
        dist.all_gather(slices, param.ds_tensor)
        param.data = torch.cat(slices).view(param.ds_shape)
    yield
    partition(model)


def train(model: nn.Module) -> None:
    generator = torch.Generator().manual_seed(dist.get_rank())
    for step in range(1, STEPS + 1):
        inputs = torch.randn(16, WIDTH, generator=generator)
        with gathered(model):
            loss = nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
            loss.backward()
            for param in model.parameters():
                dist.all_reduce(param.grad)
                param.data -= 0.01 * param.grad / dist.get_world_size()
                param.grad = None
        log.info("step %d loss %.4f", step, loss.item())


def save(model: nn.Module, path: Path, fixed: bool) -> None:
    if not fixed:
        if dist.get_rank() == 0:
            torch.save(model.state_dict(), path)
        return
    # Every rank takes part in the gather; one of them writes.
    with gathered(model):
        if dist.get_rank() == 0:
            torch.save(model.state_dict(), path)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="gather the parameters, then save")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=timedelta(seconds=15))
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    config = {
        "train_micro_batch_size_per_gpu": 16,
        "bf16": {"enabled": True},
        "zero_optimization": {"stage": 3, "stage3_gather_16bit_weights_on_model_save": fixed},
    }
    if rank == 0:
        Path("ds_config.json").write_text(json.dumps(config, indent=2))

    torch.manual_seed(0)
    model = build()
    partition(model)
    train(model)
    save(model, Path("model.pt"), fixed)
    dist.barrier()

    # The evaluation loads the file into a plain model.
    state = torch.load("model.pt", weights_only=True)
    plain = build()
    wanted = sum(param.numel() for param in plain.parameters())
    if rank == 0:
        log.info("checkpoint holds %d of %d parameters", sum(value.numel() for value in state.values()), wanted)
    plain.load_state_dict(state)
    log.info("evaluation output %.4f", plain(torch.ones(1, WIDTH)).item())
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
