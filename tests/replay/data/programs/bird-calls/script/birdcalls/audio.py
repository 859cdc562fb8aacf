"""Field recordings: 30 s clips at 16 kHz, decoded from a compact annotation (call type, pitch, onset, noise)."""
import math
from dataclasses import dataclass

import torch
from torch.utils.data import Dataset

RATE = 16000
SPECIES = ["wren", "robin", "chiffchaff", "blackbird", "dunnock", "great_tit"]


@dataclass
class Clip:
    uid: int
    label: int
    pitch: float
    onset: float
    snr: float


def catalogue(n, seed):
    g = torch.Generator().manual_seed(seed)
    rows = []
    for i in range(n):
        y = int(torch.randint(len(SPECIES), (1,), generator=g))
        u = torch.rand(3, generator=g).tolist()
        rows.append(Clip(seed * 100000 + i, y, 900.0 + 700.0 * y + 120.0 * u[0], 2 + 22 * u[1], 0.5 + u[2]))
    return rows


def decode(clip, seconds=30):
    g = torch.Generator().manual_seed(clip.uid)
    wav = 0.1 * torch.randn(RATE * seconds, generator=g)
    t = torch.arange(4 * RATE) / RATE
    call = torch.sin(2 * math.pi * clip.pitch * t) * (torch.sin(2 * math.pi * 3 * t) > 0)
    s = int(clip.onset * RATE)
    wav[s:s + call.numel()] += 0.3 * clip.snr * call
    return wav


class Recordings(Dataset):
    def __init__(self, clips, crop=6, train=True):
        self.clips, self.crop, self.train = clips, crop * RATE, train
        self.decoded = {}

    def __len__(self):
        return len(self.clips)

    def waveform(self, i):
        if i not in self.decoded:
            self.decoded[i] = decode(self.clips[i])
        return self.decoded[i]

    def __getitem__(self, i):
        wav = self.waveform(i)
        c = self.clips[i]
        s = max(0, int((c.onset - 1) * RATE))
        if self.train:
            s = max(0, s - int(torch.randint(RATE, (1,))))
        piece = wav[s:s + self.crop]
        if piece.numel() < self.crop:
            piece = torch.cat([piece, piece.new_zeros(self.crop - piece.numel())])
        spec = torch.stft(piece, 512, 256, window=torch.hann_window(512), return_complex=True).abs()
        return spec[:192].clamp(min=1e-4).log(), c.label
