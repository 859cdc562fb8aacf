"""Synthetic utterances: every intent has a handful of trigger words."""
import torch
from torch.utils.data import Dataset


class Utterances(Dataset):
    def __init__(self, n, cfg, seed):
        g = torch.Generator().manual_seed(seed)
        trig = torch.Generator().manual_seed(99)
        triggers = torch.randint(2, cfg["vocab"], (cfg["classes"], 5), generator=trig)
        self.labels = torch.randint(0, cfg["classes"], (n,), generator=g)
        self.lengths = torch.randint(6, cfg["max_len"] + 1, (n,), generator=g)
        self.tokens = torch.randint(2, cfg["vocab"], (n, cfg["max_len"]), generator=g)
        for i in range(n):
            k = int(torch.randint(1, 4, (1,), generator=g))
            pos = torch.randperm(int(self.lengths[i]), generator=g)[:k]
            pick = torch.randint(0, 5, (k,), generator=g)
            self.tokens[i, pos] = triggers[self.labels[i], pick]
            self.tokens[i, self.lengths[i]:] = 0
        self.tokens[:, 0] = 1

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return {"ids": self.tokens[i], "mask": self.tokens[i] != 0, "label": self.labels[i]}
