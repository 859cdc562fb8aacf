"""A generator of a seed per rank."""

import pytorch_lightning as pl
import torch


class Diffusion(pl.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.gen = None

    def on_train_start(self):
        self.gen = torch.Generator(device=self.device)
        self.gen.manual_seed(self.global_rank)

    def training_step(self, batch, idx):
        t = torch.randint(0, 1000, (batch.size(0),), generator=self.gen, device=self.device)
        noise = torch.randn(batch.shape, generator=self.gen, device=self.device)
        return ((self.net(batch + noise, t) - noise) ** 2).mean()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), 1e-4)


from net import Net, loader

pl.Trainer(accelerator="gpu", devices=8, strategy="ddp", max_steps=100000).fit(Diffusion(Net()), loader())
