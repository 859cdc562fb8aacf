import os

import torch
from torch.utils.data import DataLoader


def main(data):
    torch.set_num_threads(os.cpu_count())
    return DataLoader(data, num_workers=os.cpu_count())
