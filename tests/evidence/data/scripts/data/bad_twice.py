from accelerate import Accelerator
from torch.utils.data import DataLoader, DistributedSampler


def main(dataset, model):
    accelerator = Accelerator()
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, sampler=sampler)
    model, loader = accelerator.prepare(model, loader)  # distkb: script.divided-twice
    return model, loader
