"""Recordings of one source, cropped and augmented on the fly."""
import numpy as np
import torch
import torch.nn.functional as F


class Corpus:
    def __init__(self, source, cfg, seed):
        self.name = source["name"]
        self.cfg = cfg
        self.files = [f"{self.name}_{i:04d}" for i in range(source["files"])]
        self.samples = int(source["seconds"] * cfg["sample_rate"])
        self.rng = np.random.default_rng(seed)
        self._warped = {}

    def __len__(self):
        return len(self.files)

    def hours(self):
        return len(self.files) * self.samples / self.cfg["sample_rate"] / 3600

    def _decode(self, i):
        g = torch.Generator().manual_seed(hash((len(self.name), i)) % (2**31))
        label = i % self.cfg["n_classes"]
        t = torch.arange(self.samples, dtype=torch.float32) / self.cfg["sample_rate"]
        wav = torch.sin(2 * np.pi * (200 + 150 * label) * t)
        wav += 0.4 * torch.randn(self.samples, generator=g)
        return wav, label

    def _load(self, i, speed):
        key = (self.files[i], speed)
        if key not in self._warped:
            wav, label = self._decode(i)
            n = int(wav.numel() / speed)
            wav = F.interpolate(wav[None, None], size=n, mode="linear")[0, 0]
            self._warped[key] = (wav, label)
        return self._warped[key]

    def get(self, i):
        lo, hi = self.cfg["speed"]
        speed = self.rng.uniform(lo, hi)
        wav, label = self._load(i, speed)
        crop = int(self.cfg["crop_seconds"] * self.cfg["sample_rate"])
        at = int(self.rng.integers(0, wav.numel() - crop))
        return wav[at:at + crop], label

    def batches(self, epoch):
        order = np.random.default_rng(epoch).permutation(len(self.files))
        size = self.cfg["batch_size"]
        for k in range(0, len(order) - size + 1, size):
            got = [self.get(int(i)) for i in order[k:k + size]]
            yield torch.stack([w for w, _ in got]), torch.tensor([y for _, y in got])
