"""D7: DDP is chosen for a model whose training state does not fit on one GPU; the number of GPUs does not matter.

python repro.py [--fixed]

No GPU: the model is built on the meta device, and torch itself shards it over a fake group of eight ranks. The user's
script is left as train.py.
"""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.testing._internal.distributed.fake_pg import FakeStore

GIB = 2**30
RANKS, GPU_GIB = 8, 79.15
WIDTH, LAYERS, VOCABULARY = 4096, 32, 32_000
log = logging.getLogger("train")

TRAIN = """\
import os

import torch
import torch.distributed as dist
{imports}
from model import Decoder, batches

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = Decoder().cuda()
{wrap}
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for inputs, targets in batches():
    loss = torch.nn.functional.cross_entropy(model(inputs), targets)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
"""
DDP = {
    "imports": "from torch.nn.parallel import DistributedDataParallel",
    "wrap": 'model = DistributedDataParallel(model, device_ids=[int(os.environ["LOCAL_RANK"])])',
}
FSDP = {
    "imports": "from torch.distributed.fsdp import fully_shard",
    "wrap": "for layer in model.layers:\n    fully_shard(layer)\nfully_shard(model)",
}


def build() -> nn.Sequential:
    """Return the model on the meta device: its shapes and dtypes, and no memory."""
    with torch.device("meta"):
        layers = [
            nn.TransformerEncoderLayer(WIDTH, WIDTH // 128, 4 * WIDTH, batch_first=True, norm_first=True)
            for _ in range(LAYERS)
        ]
        return nn.Sequential(nn.Embedding(VOCABULARY, WIDTH), *layers, nn.Linear(WIDTH, VOCABULARY, bias=False))


def training_bytes(model: nn.Module) -> dict[str, int]:
    """Return what one rank holds of fp32 weights, gradients and Adam's two moments."""
    weights = 0
    for param in model.parameters():
        local = param.to_local() if hasattr(param, "to_local") else param
        weights += local.numel() * local.element_size()
    return {"weights": weights, "gradients": weights, "optimizer state": 2 * weights}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="shard the model with fully_shard")
    fixed = parser.parse_args().fixed
    logging.basicConfig(level=logging.INFO, format="%(asctime)s [rank0] %(levelname)s %(message)s", stream=sys.stderr)
    torch.set_num_threads(1)
    Path("train.py").write_text(TRAIN.format(**(FSDP if fixed else DDP)))

    dist.init_process_group("fake", rank=0, world_size=RANKS, store=FakeStore())
    model = build()
    count = sum(param.numel() for param in model.parameters())
    if fixed:
        mesh = init_device_mesh("cpu", (RANKS,))
        for layer in model:
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
    kind, need = "FSDP" if fixed else "DDP", sum(training_bytes(model).values()) / GIB
    log.info("%.1f billion parameters on %d GPUs of %.1f GiB", count / 1e9, RANKS, GPU_GIB)
    log.info("training state: %.1f GiB per GPU with %s", need, kind)
    used = 0.0
    for name, size in training_bytes(model).items():
        wanted = size / GIB
        if used + wanted > GPU_GIB:
            message = (
                f"CUDA out of memory. Tried to allocate {wanted:.2f} GiB. GPU 0 has a total capacity of {GPU_GIB} GiB "
                f"of which {GPU_GIB - used:.2f} GiB is free. ({name})"
            )
            raise torch.OutOfMemoryError(message)
        used += wanted
        log.info("%s: %.1f GiB, together %.1f GiB", name, wanted, used)
    log.info("%.1f of %.1f GiB are left for activations", GPU_GIB - used, GPU_GIB)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
