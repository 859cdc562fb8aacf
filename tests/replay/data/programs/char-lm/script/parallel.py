from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


def build_mesh(cfg, device_type):
    return init_device_mesh(device_type, (cfg["dp"], cfg["tp"]), mesh_dim_names=("dp", "tp"))


def parallelize(model, mesh):
    plan = {
        "attn.wq": ColwiseParallel(),
        "attn.wk": ColwiseParallel(),
        "attn.wv": ColwiseParallel(),
        "attn.wo": RowwiseParallel(),
        "ff.w1": ColwiseParallel(),
        "ff.w2": RowwiseParallel(),
    }
    for blk in model.blocks:
        parallelize_module(blk, mesh["tp"], plan)
        fully_shard(blk, mesh=mesh["dp"])
    fully_shard(model, mesh=mesh["dp"])
    return model
