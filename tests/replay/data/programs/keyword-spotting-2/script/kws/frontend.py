import math

import torch
from torch import nn


def mel_filters(n_freq, n_mels, sr):
    def to_mel(f):
        return 2595 * math.log10(1 + f / 700)

    top = to_mel(sr / 2)
    mels = torch.linspace(0, top, n_mels + 2)
    hz = 700 * (10 ** (mels / 2595) - 1)
    freqs = torch.linspace(0, sr / 2, n_freq)
    up = (freqs[None] - hz[:-2, None]) / (hz[1:-1] - hz[:-2])[:, None]
    down = (hz[2:, None] - freqs[None]) / (hz[2:] - hz[1:-1])[:, None]
    return torch.clamp(torch.minimum(up, down), min=0)


class LogMel(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.n_fft, self.hop = cfg["n_fft"], cfg["hop"]
        fb = mel_filters(self.n_fft // 2 + 1, cfg["n_mels"], cfg["sample_rate"])
        self.register_buffer("fb", fb, persistent=False)
        self.register_buffer("window", torch.hann_window(self.n_fft), persistent=False)

    @torch.no_grad()
    def forward(self, wave):
        spec = torch.stft(wave, self.n_fft, self.hop, window=self.window, return_complex=True)
        power = spec.abs().pow(2)
        mel = torch.log(self.fb @ power + 1e-6)
        mel = (mel - mel.mean(-1, keepdim=True)) / (mel.std(-1, keepdim=True) + 1e-5)
        return mel.transpose(1, 2)
