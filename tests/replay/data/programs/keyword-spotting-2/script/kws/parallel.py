import logging
import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

log = logging.getLogger("kws")


def setup():
    dist.init_process_group("gloo")
    return dist.get_rank(), dist.get_world_size()


def shard(model):
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    # log-mel energies keep their range this way
    policy = MixedPrecisionPolicy(
        param_dtype=torch.bfloat16,
        reduce_dtype=torch.float32,
        cast_forward_inputs=False,
    )
    for blk in model.blocks:
        fully_shard(blk, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    log.info("sharded over %d ranks, %s", dist.get_world_size(), policy)
    return model


def open_log(out, rank):
    os.makedirs(out, exist_ok=True)
    logging.basicConfig(
        filename=os.path.join(out, f"train_rank{rank}.log"),
        filemode="w",
        level=logging.INFO,
        format="%(asctime)s %(levelname)s [%(process)d] %(message)s",
    )
