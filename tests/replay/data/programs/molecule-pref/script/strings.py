"""Toy SMILES-like strings with a preference for ring-rich, short molecules."""
import random

import torch

ALPHABET = ["<pad>", "<s>", "</s>", "C", "c", "N", "n", "O", "o", "(", ")", "1", "2", "=", "F", "S"]
PAD, BOS, EOS = 0, 1, 2
IDX = {c: i for i, c in enumerate(ALPHABET)}
PIECES = ["CC", "C(=O)", "N", "c1ccccc1", "C1CC1", "O", "S", "CF", "n1cccc1", "C=C"]


def sample(rng):
    return "".join(rng.choice(PIECES) for _ in range(rng.randint(2, 5)))


def score(s):
    return s.count("1") * 0.8 - 0.05 * len(s) - 0.6 * s.count("S")


def encode(s, n):
    t = [BOS] + [IDX[c] for c in s] + [EOS]
    return torch.tensor((t + [PAD] * n)[:n])


class Pairs(torch.utils.data.Dataset):
    def __init__(self, n, max_len=36, seed=0):
        rng = random.Random(seed)
        self.rows = []
        while len(self.rows) < n:
            a, b = sample(rng), sample(rng)
            if abs(score(a) - score(b)) < 0.4:
                continue
            if score(a) < score(b):
                a, b = b, a
            self.rows.append((encode(a, max_len), encode(b, max_len)))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def corpus(n, max_len=36, seed=1):
    rng = random.Random(seed)
    return torch.stack([encode(sample(rng), max_len) for _ in range(n)])
