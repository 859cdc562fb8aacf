import torch
from lightning.fabric import Fabric
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


def fabric_ddp(model):
    fabric = Fabric(devices=2, strategy="ddp")
    fabric.launch()
    optimizer = torch.optim.AdamW(model.parameters())
    return fabric.setup(model, optimizer)


def kept_objects(model, policy):
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(model.parameters())
    model = FSDP(model, auto_wrap_policy=policy, use_orig_params=True)
    torch.nn.utils.clip_grad_value_(trained, 1.0)
    return model, optimizer
