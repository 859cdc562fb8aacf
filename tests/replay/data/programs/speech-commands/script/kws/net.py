import torch
from torch import nn


class LogMel(nn.Module):
    def __init__(self, n_mels, n_fft=400, hop=160):
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        self.register_buffer("window", torch.hann_window(n_fft))
        bank = torch.zeros(n_mels, n_fft // 2 + 1)
        edges = torch.linspace(0, n_fft // 2, n_mels + 2)
        for m in range(n_mels):
            f = torch.arange(n_fft // 2 + 1)
            up = (f - edges[m]) / (edges[m + 1] - edges[m])
            down = (edges[m + 2] - f) / (edges[m + 2] - edges[m + 1])
            bank[m] = torch.minimum(up, down).clamp(min=0)
        self.register_buffer("bank", bank)

    def forward(self, wav):
        spec = torch.stft(wav, self.n_fft, self.hop, window=self.window, return_complex=True)
        return (self.bank @ spec.abs().pow(2) + 1e-6).log()


class KWSNet(nn.Module):
    def __init__(self, n_mels, n_classes, width=48):
        super().__init__()
        self.front = LogMel(n_mels)
        self.body = nn.Sequential(
            nn.Conv1d(n_mels, width, 5, stride=2), nn.BatchNorm1d(width), nn.ReLU(),
            nn.Conv1d(width, width, 5, stride=2), nn.BatchNorm1d(width), nn.ReLU(),
        )
        self.head = nn.Linear(width, n_classes)

    def forward(self, wav):
        return self.head(self.body(self.front(wav)).mean(-1))
