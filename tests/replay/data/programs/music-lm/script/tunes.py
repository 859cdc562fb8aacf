import torch

VOCAB = 96


class TuneStream:
    """Endless melodies: a scale walk with a per-tune step pattern, a few wrong notes."""

    def __init__(self, rank, length=64):
        self.g = torch.Generator().manual_seed(400 + rank)
        self.length = length

    def batch(self, n):
        key = torch.randint(VOCAB, (n, 1), generator=self.g)
        pattern = torch.randint(1, 4, (n, 4), generator=self.g).repeat(1, self.length // 4 + 1)[:, : self.length + 1]
        notes = (key + pattern.cumsum(1)) % VOCAB
        noise = torch.rand(notes.shape, generator=self.g) < 0.02
        notes[noise] = torch.randint(VOCAB, (int(noise.sum()),), generator=self.g)
        return notes[:, :-1], notes[:, 1:]
