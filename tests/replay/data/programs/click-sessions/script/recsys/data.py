import random

import torch
from torch.utils.data import Dataset

COUNTRIES = ["de", "fr", "it", "es", "pl", "nl", "se", "pt"]


def read_sessions(n, n_items, seed):
    """Stand-in for the nightly export: one record per session."""
    rnd = random.Random(seed)
    for i in range(n):
        k = rnd.randint(6, 18)
        start = 1_600_000_000 + rnd.randrange(30_000_000)
        yield {
            "session": f"s{i:09d}",
            "country": rnd.choice(COUNTRIES),
            "clicks": [
                {"item": rnd.randrange(1000, n_items), "ts": start + 13 * j, "dwell": rnd.random() * 60}
                for j in range(k)
            ],
            "bought": int(rnd.random() < 0.2),
        }


class SessionDataset(Dataset):
    def __init__(self, n_sessions, n_items, max_len, seed=0):
        self.max_len = max_len
        self.sessions = list(read_sessions(n_sessions, n_items, seed))

    def __len__(self):
        return len(self.sessions)

    def __getitem__(self, idx):
        s = self.sessions[idx]
        items = torch.zeros(self.max_len, dtype=torch.long)
        dwell = torch.zeros(self.max_len)
        for j, c in enumerate(s["clicks"][-self.max_len:]):
            items[j] = c["item"]
            dwell[j] = c["dwell"] / 60.0
        return items, dwell, COUNTRIES.index(s["country"]), float(s["bought"])
