import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F


def conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())


class WaterNet(L.LightningModule):
    def __init__(self, width, lr):
        super().__init__()
        self.save_hyperparameters()
        self.a = conv(3, width)
        self.b = conv(width, width * 2)
        self.c = conv(width * 3, width)
        self.out = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        a = self.a(x)
        b = self.b(F.max_pool2d(a, 2))
        b = F.interpolate(b, scale_factor=2)
        return self.out(self.c(torch.cat([a, b], 1))).squeeze(1)

    def training_step(self, batch, _):
        x, m = batch
        loss = F.binary_cross_entropy_with_logits(self(x), m)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, _):
        x, m = batch
        p = (self(x) > 0).float()
        iou = (p * m).sum() / ((p + m) > 0).float().sum().clamp(min=1)
        self.log("val_iou", iou, sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)
