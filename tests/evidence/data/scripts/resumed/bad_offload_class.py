import torch.distributed as dist
from torch.distributed.fsdp import CPUOffloadPolicy, fully_shard
from torch.nn.utils import clip_grad_norm_

BACKEND = "nccl"


class Run:
    def __init__(self, model):
        dist.init_process_group(backend=BACKEND)
        self.model = model
        fully_shard(self.model.layers, offload_policy=CPUOffloadPolicy(pin_memory=False))
        fully_shard(self.model, offload_policy=CPUOffloadPolicy(pin_memory=False))

    def step(self, batch, optimizer):
        self.model(batch).mean().backward()
        clip_grad_norm_(self.model.parameters(), 1.0)  # distkb: script.offload-over-nccl
        optimizer.step()
