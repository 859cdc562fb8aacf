import torch
import torch.distributed as dist
from torch.distributed.fsdp import CPUOffloadPolicy, fully_shard

from nets import Net


def main():
    dist.init_process_group("cpu:gloo,cuda:nccl")
    with torch.device("meta"):
        model = Net()
    for layer in model.layers:
        fully_shard(layer, **dict(offload_policy=CPUOffloadPolicy()))
    fully_shard(model, **dict(offload_policy=CPUOffloadPolicy()))
    model.to_empty(device=torch.device("cuda", 0))  # distkb: script.offloaded-made-on-gpu
    model.init_weights()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for x in model.batches():
        model(x).sum().backward()
        opt.step()
        opt.zero_grad()


main()
