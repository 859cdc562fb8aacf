import random

import torch
from torch.utils.data import Dataset

QUEUES = ["billing", "login", "shipping", "returns", "other"]
WORDS = {
    "billing": "invoice charge refund card payment price paid twice",
    "login": "password account locked reset email code sign",
    "shipping": "parcel late courier tracking address delivery arrived",
    "returns": "return broken label exchange size wrong item",
    "other": "hello question store opening hours thanks please",
}
VOCAB = ["[PAD]", "[CLS]"] + sorted({w for ws in WORDS.values() for w in ws.split()})
STOI = {w: i for i, w in enumerate(VOCAB)}


class Tickets(Dataset):
    def __init__(self, n, seed, max_len=14):
        rng = random.Random(seed)
        self.rows = []
        for _ in range(n):
            y = rng.randrange(len(QUEUES))
            own = WORDS[QUEUES[y]].split()
            k = rng.randint(4, max_len - 1)
            toks = [rng.choice(own) if rng.random() < 0.55 else rng.choice(VOCAB[2:]) for _ in range(k)]
            ids = [STOI["[CLS]"]] + [STOI[t] for t in toks]
            ids += [0] * (max_len - len(ids))
            self.rows.append((torch.tensor(ids), y))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        ids, y = self.rows[i]
        return {"input_ids": ids, "attention_mask": (ids != 0).long(), "labels": torch.tensor(y)}
