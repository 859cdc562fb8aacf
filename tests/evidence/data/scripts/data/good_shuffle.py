from torch.utils.data import DataLoader, DistributedSampler


def main(dataset, distributed):
    sampler = DistributedSampler(dataset) if distributed else None
    return DataLoader(dataset, sampler=sampler, shuffle=sampler is None)
