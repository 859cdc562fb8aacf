import torch

CTX = 48
NOTES = 36


def pieces(n, seed):
    """Tunes in which an eight note motif comes back with a few changed notes."""
    gen = torch.Generator().manual_seed(seed)
    motif = torch.randint(0, NOTES, (n, 8), generator=gen)
    tune = motif.repeat(1, CTX // 8 + 1)[:, : CTX + 1]
    other = torch.randint(0, NOTES, tune.shape, generator=gen)
    return torch.where(torch.rand(tune.shape, generator=gen) < 0.04, other, tune)


def read():
    return pieces(6000, 1), pieces(256, 2), NOTES


def batch(tunes, n, gen):
    rows = tunes[torch.randint(0, len(tunes), (n,), generator=gen)]
    return rows[:, :-1], rows[:, 1:]
