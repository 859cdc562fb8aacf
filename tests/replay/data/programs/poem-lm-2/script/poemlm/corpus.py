import random

import torch

NOUNS = "river moon sparrow window autumn harbor candle orchard winter letter stone garden".split()
VERBS = "waits sings falls burns wanders sleeps returns listens trembles answers".split()
ADJS = "quiet silver broken distant golden hollow tender bitter narrow early".split()


def poems(n, seed=4):
    r = random.Random(seed)
    out = []
    for _ in range(n):
        lines = [f"the {r.choice(ADJS)} {r.choice(NOUNS)} {r.choice(VERBS)}" for _ in range(4)]
        out.append("\n".join(lines) + "\n")
    return out


class PoemDataset(torch.utils.data.Dataset):
    def __init__(self, n, ctx):
        text = poems(n)
        self.chars = sorted(set("".join(text)))
        self.stoi = {c: i for i, c in enumerate(self.chars)}
        self.ctx = ctx
        self.rows = [torch.tensor([self.stoi[c] for c in (t + "\n" * (ctx + 1))[:ctx + 1]]) for t in text]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        r = self.rows[i]
        return r[:-1], r[1:]
