import torch


def sample_batch(size, length, vocab, gen):
    """Arpeggio-like event sequences: a root, a chord pattern and a drift."""
    root = torch.randint(40, 80, (size, 1), generator=gen)
    pattern = torch.tensor([0, 4, 7, 12, 7, 4])
    kind = torch.randint(0, 2, (size, 1), generator=gen)
    t = torch.arange(length + 1)
    note = root + pattern[t % 6] - kind * (pattern[t % 6] == 4).long() + t // 24
    ids = torch.where(t % 2 == 0, note, note + 128) % vocab
    return ids[:, :-1], ids[:, 1:]
