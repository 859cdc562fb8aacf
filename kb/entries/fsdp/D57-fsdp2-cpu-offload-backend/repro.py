"""D57: gradients lie on the CPU, as CPUOffloadPolicy leaves them, and the process group has a backend for CUDA only.

python repro.py [--fixed]

No GPU is needed: a fake process group of eight ranks stands for NCCL, and the shards are laid out as `fully_shard` with
CPUOffloadPolicy lays them out: DTensors over a mesh of GPUs whose local tensors are in host memory.
"""

from __future__ import annotations

import argparse
import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp._fully_shard._fsdp_common import _from_local_no_grad
from torch.distributed.tensor import DTensor, Shard
from torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
from torch.testing._internal.distributed.fake_pg import FakeStore

RANKS = 8
WIDTH = 64

log = logging.getLogger("train")


def offloaded(module: nn.Module, mesh: DeviceMesh) -> list[nn.Parameter]:
    """Return this rank's shards of the parameters with their gradients, all in host memory."""
    shards = []
    for parameter in module.parameters():
        meta = TensorMeta(parameter.size(), parameter.stride(), parameter.dtype)
        spec = DTensorSpec(mesh, (Shard(0),), meta)
        local = parameter.detach().chunk(RANKS)[0].contiguous()
        # What fully_shard calls: DTensor.from_local would move the shard to the mesh's device.
        shard = nn.Parameter(_from_local_no_grad(local, spec))
        shard.grad = _from_local_no_grad(torch.randn_like(local), spec)
        shards.append(shard)
    return shards


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="the group has a backend for CPU tensors too")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s [rank0] %(levelname)s %(message)s")
    # On GPUs: "nccl" and "cpu:gloo,cuda:nccl".
    backend = "cpu:fake,cuda:fake" if fixed else "cuda:fake"
    dist.init_process_group(backend, rank=0, world_size=RANKS, store=FakeStore())
    mesh = init_device_mesh("cuda", (RANKS,))
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH))
    shards = offloaded(model, mesh)
    log.info("offloaded: parameters and gradients on cpu, mesh of %s", mesh.device_type)
    optimizer = torch.optim.AdamW(shards, lr=1e-4)
    norm = nn.utils.clip_grad_norm_(shards, max_norm=1.0)
    if isinstance(norm, DTensor):
        norm = norm.full_tensor()
    optimizer.step()
    log.info("step 1 grad norm %.3f", norm.item())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
