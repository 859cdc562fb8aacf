import torch
from torch import nn


class SpecVAE(nn.Module):
    """Small convolutional VAE over log-mel patches (1 x 40 x 32)."""

    def __init__(self, n_mels=40, frames=32, width=24, latent=16):
        super().__init__()
        self.enc = nn.Sequential(
            nn.Conv2d(1, width, 3, stride=2, padding=1), nn.GELU(),
            nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.GELU(),
            nn.Flatten(),
        )
        flat = 2 * width * (n_mels // 4) * (frames // 4)
        self.to_mu = nn.Linear(flat, latent)
        self.to_logvar = nn.Linear(flat, latent)
        self.from_z = nn.Linear(latent, flat)
        self.shape = (2 * width, n_mels // 4, frames // 4)
        self.dec = nn.Sequential(
            nn.ConvTranspose2d(2 * width, width, 4, stride=2, padding=1), nn.GELU(),
            nn.ConvTranspose2d(width, 1, 4, stride=2, padding=1),
        )

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.to_mu(h), self.to_logvar(h).clamp(-8, 8)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp() if self.training else mu
        y = self.dec(self.from_z(z).view(-1, *self.shape))
        return y, mu, logvar
