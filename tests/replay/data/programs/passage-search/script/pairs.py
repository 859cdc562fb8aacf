import random

import torch

TOPICS, WORDS, PER = 24, 600, 18


def make_pairs(n, qlen=8, plen=40, seed=5):
    """(query, passage) ids; a passage shares topic words with its query."""
    rng = random.Random(seed)
    vocab = [[rng.randrange(2, WORDS) for _ in range(PER)] for _ in range(TOPICS)]
    out = []
    for _ in range(n):
        words = vocab[rng.randrange(TOPICS)] + rng.sample(range(2, WORDS), 6)
        q = rng.sample(words, rng.randint(4, qlen))
        p = [rng.choice(words) if rng.random() < 0.7 else rng.randrange(2, WORDS)
             for _ in range(rng.randint(plen // 2, plen))]
        out.append((q, p))
    return out


def pad(seqs):
    n = max(len(s) for s in seqs)
    return torch.tensor([list(s) + [0] * (n - len(s)) for s in seqs])


def collate(rows):
    return {"query": pad([r[0] for r in rows]), "passage": pad([r[1] for r in rows])}
