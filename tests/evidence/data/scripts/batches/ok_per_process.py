import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def main(data, model, size):
    dist.init_process_group("gloo")
    world = dist.get_world_size()
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=size // world, sampler=sampler)
    print("effective batch", size * world)
    model = DistributedDataParallel(model)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for batch in loader:
            model(batch).mean().backward()
    dist.destroy_process_group()
