import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.fsdp import fully_shard


class Keeper:
    def __init__(self, folder):
        self.folder = folder

    def keep(self, step, model):
        whole = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
        torch.save(whole, f"{self.folder}/{step}.pt")


def train(model, batches):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    for block in model.blocks:
        fully_shard(block)
    model = fully_shard(model)
    keeper = Keeper("out") if rank == 0 else None
    other = None
    if rank == 0:
        other = Keeper("best")
    for step, batch in enumerate(batches):
        model(batch).sum().backward()
        if rank == 0:
            keeper.keep(step, model)  # distkb: script.state-dict-on-some-ranks
        if rank == 0 and step % 100 == 0:
            other.keep(step, model)  # distkb: script.state-dict-on-some-ranks
        dist.barrier()
