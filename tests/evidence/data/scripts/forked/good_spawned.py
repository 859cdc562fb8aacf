"""Workers that begin anew may use CUDA."""

import torch
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, i):
        return torch.zeros(2).cuda()


def main():
    return DataLoader(Rows(), num_workers=2, multiprocessing_context="spawn")
