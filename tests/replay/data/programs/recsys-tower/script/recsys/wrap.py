import contextlib

import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel as DDP


def wrap(model, kind):
    if dist.get_world_size() == 1:
        return model
    if kind == "fsdp":
        mesh = init_device_mesh("cpu", (dist.get_world_size(),))
        for b in model.blocks:
            fully_shard(b, mesh=mesh)
        return fully_shard(model, mesh=mesh)
    return DDP(model)


@contextlib.contextmanager
def sync(model, last):
    """Exchange gradients in the last micro batch of a step only."""
    if isinstance(model, DDP):
        with contextlib.nullcontext() if last else model.no_sync():
            yield
    else:
        if hasattr(model, "set_requires_gradient_sync"):
            model.set_requires_gradient_sync(last)
        yield
