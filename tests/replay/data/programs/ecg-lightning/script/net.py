import lightning as L
import torch
import torch.nn as nn
import torchmetrics


class BeatNet(L.LightningModule):
    def __init__(self, lr=2e-3):
        super().__init__()
        self.save_hyperparameters()
        self.f = nn.Sequential(
            nn.Conv1d(1, 16, 9, stride=3), nn.BatchNorm1d(16), nn.ReLU(),
            nn.Conv1d(16, 32, 7, stride=3), nn.BatchNorm1d(32), nn.ReLU(),
            nn.AdaptiveAvgPool1d(4), nn.Flatten(), nn.Linear(128, 3))
        self.val_acc = torchmetrics.Accuracy(task="multiclass", num_classes=3)
        self.confmat = torchmetrics.ConfusionMatrix(task="multiclass", num_classes=3)

    def training_step(self, batch, _):
        x, y = batch
        loss = nn.functional.cross_entropy(self.f(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        p = self.f(x)
        self.val_acc(p, y)
        self.confmat.update(p, y)
        self.log("val_acc", self.val_acc, on_epoch=True, prog_bar=True)
        self.log("val_loss", nn.functional.cross_entropy(p, y), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)
