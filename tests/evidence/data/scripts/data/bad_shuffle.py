from torch.utils.data import DataLoader, DistributedSampler


def main(dataset):
    sampler = DistributedSampler(dataset)
    return DataLoader(dataset, sampler=sampler, shuffle=True)  # distkb: script.sampler-and-shuffle
