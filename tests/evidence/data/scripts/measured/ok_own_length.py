import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def whole_on_rank_0(model, valid):
    loader = DataLoader(valid, batch_size=32)
    correct = 0
    for x, y in loader:
        correct += (model(x).argmax(1) == y).sum().item()
    return correct / len(valid)


def own_share(model, valid):
    sampler = DistributedSampler(valid, shuffle=False)
    loader = DataLoader(valid, batch_size=32, sampler=sampler)
    correct, lost = 0, 0.0
    for step, (x, y) in enumerate(loader):
        out = model(x)
        correct += (out.argmax(1) == y).sum().item()
        lost += torch.nn.functional.cross_entropy(out, y).item()
        print(f"{100 * step / len(loader):.0f}% of {len(valid)}")
    return correct / len(sampler), lost / len(loader)


def across_ranks(model, valid, world):
    loader = DataLoader(valid, batch_size=32, sampler=DistributedSampler(valid, shuffle=False))
    correct = 0
    for x, y in loader:
        correct += (model(x).argmax(1) == y).sum().item()
    return correct * world / len(valid), correct / (len(valid) // world)


def main(model, valid):
    dist.init_process_group("gloo")
    model = DistributedDataParallel(model)
    if dist.get_rank() == 0:
        print(whole_on_rank_0(model.module, valid))
    print(own_share(model.module, valid), across_ranks(model.module, valid, dist.get_world_size()))
