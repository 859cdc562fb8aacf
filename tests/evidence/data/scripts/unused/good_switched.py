"""A head that is used."""

import lightning as L
import torch
from torch import nn
from lib import make_loader


class VAE(L.LightningModule):
    def __init__(self, aux_weight=0.1):
        super().__init__()
        self.enc = nn.Linear(784, 64)
        self.dec = nn.Linear(32, 784)
        self.classifier = nn.Linear(32, 10)
        self.aux_weight = aux_weight

    def forward(self, x):
        mu, lv = self.enc(x).chunk(2, -1)
        z = mu + torch.randn_like(mu) * (0.5 * lv).exp()
        return self.dec(z), mu, lv, z

    def training_step(self, batch, i):
        x, y = batch
        rec, mu, lv, z = self(x)
        loss = nn.functional.mse_loss(rec, x) - 0.5 * (1 + lv - mu**2 - lv.exp()).mean()
        if self.aux_weight > 0:
            loss = loss + self.aux_weight * nn.functional.cross_entropy(self.classifier(z), y)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 1e-3)


L.Trainer(accelerator="gpu", devices=2, strategy="ddp").fit(VAE(), make_loader())
