import torch.distributed as dist
from torch.distributed.fsdp import fully_shard


def norms(model):
    for name, parameter in model.named_parameters():
        whole = parameter.full_tensor() if hasattr(parameter, "full_tensor") else parameter
        print(name, whole.norm().item())


def main(model, loader):
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    for step, batch in enumerate(loader):
        model(batch).sum().backward()
        if step % 40 == 0 and dist.get_rank() == 0:
            norms(model)  # distkb: script.collective-on-some-ranks
