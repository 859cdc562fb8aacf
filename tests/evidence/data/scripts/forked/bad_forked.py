"""Samples that are put on the GPU in the workers of a loader."""

import torch
from torch.utils.data import DataLoader, Dataset, DistributedSampler, IterableDataset

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Direct(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i].cuda()  # distkb: script.cuda-in-worker


class Told(Dataset):
    def __init__(self, rows, device):
        self.rows, self.device = rows, device

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return torch.as_tensor(self.rows[i], device=self.device)  # distkb: script.cuda-in-worker


class Named(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return torch.zeros(2).to(DEVICE)  # distkb: script.cuda-in-worker


class Stream(IterableDataset):
    def __iter__(self):
        for i in range(8):
            yield torch.full((2,), i).to("cuda:0")  # distkb: script.cuda-in-worker


def collate(rows):
    return torch.stack(rows).cuda(non_blocking=True)  # distkb: script.cuda-in-worker


class Batches:
    def join(self, rows):
        return torch.stack(rows).to(f"cuda:{torch.cuda.current_device()}")  # distkb: script.cuda-in-worker

    def loader(self, data):
        return DataLoader(data, collate_fn=self.join, num_workers=2)


def main(rows, local_rank, workers):
    direct = DataLoader(Direct(rows), sampler=DistributedSampler(rows), num_workers=4)
    told = Told(rows, device=f"cuda:{local_rank}")
    second = DataLoader(told, num_workers=workers)
    third = DataLoader(Named(), num_workers=1)
    return direct, second, third, DataLoader(Stream(), num_workers=2), DataLoader(rows, collate_fn=collate, num_workers=2)
