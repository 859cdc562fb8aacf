import torch
import torch.nn as nn
import torch.nn.functional as F


class Quantizer(nn.Module):
    def __init__(self, codes, dim, commit):
        super().__init__()
        self.codebook = nn.Embedding(codes, dim)
        nn.init.normal_(self.codebook.weight, std=0.1)
        self.commit = commit

    def forward(self, z):
        # z: B, D, T -> B, T, D
        z = z.transpose(1, 2)
        with torch.no_grad():
            ids = torch.cdist(z.reshape(-1, z.size(-1)), self.codebook.weight).argmin(1).view(z.shape[:-1])
        q = self.codebook(ids)
        loss = self.commit * F.mse_loss(z, q.detach())
        out = z + (q - z).detach()
        return out.transpose(1, 2), ids, loss


class Codec(nn.Module):
    def __init__(self, channels, dim, codes, commit):
        super().__init__()
        c = channels
        self.enc = nn.Sequential(
            nn.Conv1d(1, c, 7, 2, 3), nn.ELU(),
            nn.Conv1d(c, c, 7, 2, 3), nn.ELU(),
            nn.Conv1d(c, dim, 3, 2, 1))
        self.vq = Quantizer(codes, dim, commit)
        self.dec = nn.Sequential(
            nn.ConvTranspose1d(dim, c, 4, 2, 1), nn.ELU(),
            nn.ConvTranspose1d(c, c, 4, 2, 1), nn.ELU(),
            nn.ConvTranspose1d(c, 1, 4, 2, 1), nn.Tanh())

    def forward(self, wav):
        q, ids, vq_loss = self.vq(self.enc(wav))
        return self.dec(q), ids, vq_loss


def spectral(x, y, n=128):
    w = torch.hann_window(n)
    a = torch.stft(x.squeeze(1), n, window=w, return_complex=True).abs()
    b = torch.stft(y.squeeze(1), n, window=w, return_complex=True).abs()
    return F.l1_loss(a, b)
