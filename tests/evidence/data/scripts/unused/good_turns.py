"""The strategy looks for what is left out."""

import lightning as L
import torch
from torch import nn
from lib import Net, loader


class Lit(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.gen, self.disc = Net(1), Net(2)

    def training_step(self, batch, i):
        og, od = self.optimizers()
        fake = self.gen(batch)
        self.toggle_optimizer(od)
        d = self.disc(batch).mean() - self.disc(fake.detach()).mean()
        self.manual_backward(d)
        od.step()
        od.zero_grad()
        self.untoggle_optimizer(od)
        self.toggle_optimizer(og)
        g = -self.disc(self.gen(batch)).mean()
        self.manual_backward(g)
        og.step()
        og.zero_grad()
        self.untoggle_optimizer(og)

    def configure_optimizers(self):
        return torch.optim.Adam(self.gen.parameters()), torch.optim.Adam(self.disc.parameters())


L.Trainer(devices=4, strategy="ddp_find_unused_parameters_true").fit(Lit(), loader())
