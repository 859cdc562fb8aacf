"""A mesh that is four times too large."""

import os

from net import Net
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


def main(tp=4):
    world = int(os.environ["WORLD_SIZE"])
    mesh = init_device_mesh("cuda", (world, tp), mesh_dim_names=("dp", "tp"))  # distkb: script.mesh-too-large
    fully_shard(Net(), mesh=mesh["dp"])


main()
