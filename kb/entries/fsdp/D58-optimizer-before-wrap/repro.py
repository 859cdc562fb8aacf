"""D58: the optimizer is made before fully_shard, so it steps tensors that the model no longer uses.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import inspect
import logging
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard

TIMEOUT = timedelta(seconds=6)
STEPS = 20
WIDTH = 16

log = logging.getLogger("train")


def build() -> nn.Sequential:
    """Return the model, with the same values on every rank."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 1))


def train_stale(mesh: DeviceMesh) -> nn.Module:
    """Make the optimizer first, then shard."""
    model = build()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for layer in (model[0], model[2]):
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    loop(model, optimizer)
    return model


def train_current(mesh: DeviceMesh) -> nn.Module:
    """Shard first, then make the optimizer."""
    model = build()
    for layer in (model[0], model[2]):
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    loop(model, optimizer)
    return model


def loop(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Train the model to add up four of its inputs."""
    generator = torch.Generator().manual_seed(1 + dist.get_rank())
    for step in range(1, STEPS + 1):
        inputs = torch.randn(64, WIDTH, generator=generator)
        loss = nn.functional.mse_loss(model(inputs), inputs[:, :4].sum(dim=1, keepdim=True))
        loss.backward()
        optimizer.step()
        model.zero_grad()
        if step % 5 == 0:
            log.info("step %d loss %.4f", step, loss.item())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="make the optimizer after fully_shard")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=TIMEOUT)
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    train = train_current if fixed else train_stale
    if rank == 0:
        # What the user has beside the logs: the script.
        imports = "import torch\nfrom torch.distributed.fsdp import fully_shard\n\n\n"
        Path("train.py").write_text(imports + inspect.getsource(train))
    before = [p.detach().clone() for p in build().parameters()]
    model = train(init_device_mesh("cpu", (dist.get_world_size(),)))
    after = [p.full_tensor().detach() for p in model.parameters()]  # type: ignore[attr-defined]
    changed = sum(not torch.equal(a, b) for a, b in zip(before, after, strict=True))
    log.info("parameters changed by %d steps: %d of %d", STEPS, changed, len(before))
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()
    if not changed:
        raise SystemExit("training changed no parameter")


if __name__ == "__main__":
    main()
