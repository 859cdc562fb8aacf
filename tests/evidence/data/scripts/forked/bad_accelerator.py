"""The device of the accelerator."""

import torch
from accelerate import Accelerator
from features import load_rows
from net import Net
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self, rows, device):
        self.rows, self.device = rows, device

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return torch.tensor(self.rows[i]).to(self.device)  # distkb: script.cuda-in-worker


def main():
    accelerator = Accelerator()
    loader = DataLoader(Rows(load_rows(), accelerator.device), 32, num_workers=4)
    net, loader = accelerator.prepare(Net(), loader)
    for x in loader:
        net(x)


main()
