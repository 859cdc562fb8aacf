"""The dimensions the wrong way round."""

import os

from net import Net
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)


def main(tp=2):
    world = int(os.environ["WORLD_SIZE"])
    mesh = init_device_mesh("cuda", (world // tp, tp), mesh_dim_names=("dp", "tp"))
    model = Net().cuda()
    for layer in model.layers:
        parallelize_module(  # distkb: script.other-dimension
            layer, mesh["dp"], {"w1": ColwiseParallel(), "w2": RowwiseParallel()}
        )
        fully_shard(layer, mesh=mesh["tp"])  # distkb: script.other-dimension
    fully_shard(model, mesh=mesh["tp"])  # distkb: script.other-dimension


main()
