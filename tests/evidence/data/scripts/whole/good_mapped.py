import json

import numpy as np
import torch
import torch.distributed as dist
from torch.utils.data import Dataset


class Cohort(Dataset):
    def __init__(self, folder):
        self.rows = np.load(f"{folder}/rows.npy", mmap_mode="r")

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return torch.from_numpy(np.array(self.rows[index]))


class Settings:
    def __init__(self, path):
        with open(path) as file:
            self.values = json.load(file)  # no data set


if __name__ == "__main__":
    dist.init_process_group("gloo")
    print(len(Cohort("data")), Settings("settings.json"))
    dist.destroy_process_group()
