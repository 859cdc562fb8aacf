"""Samples on the CPU, loaders without workers, devices that are not the GPU's."""

import torch
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self, rows, device="cpu"):
        self.rows, self.device = rows, device
        self.table = torch.zeros(2)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i].to(self.device).to(torch.float32)


class Ready(Dataset):
    def __init__(self, rows):
        self.rows = rows.cuda()

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]

    def to_gpu(self, x):
        return x.cuda()


class Alone(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, i):
        return torch.zeros(2).cuda()


def collate(rows):
    return torch.stack(rows)


def on_gpu(rows):
    return torch.stack(rows).cuda()


def main(rows):
    first = DataLoader(Rows(rows, "cpu"), num_workers=4, collate_fn=collate)
    second = DataLoader(Alone(), num_workers=0)
    third = DataLoader(Alone(), collate_fn=on_gpu)
    for batch in first:
        print(batch.cuda())
    return second, third, DataLoader(Ready(rows), num_workers=0)
