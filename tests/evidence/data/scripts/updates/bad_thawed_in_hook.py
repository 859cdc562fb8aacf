"""A callback that begins to train the backbone after some epochs: DDP has wrapped the model long before."""

import lightning as L
from torch import nn, optim
from torch.utils.data import DataLoader


class Thaw(L.Callback):
    def __init__(self, epoch):
        self.epoch = epoch

    def on_train_epoch_start(self, trainer, pl_module):
        if trainer.current_epoch == self.epoch:
            for parameter in pl_module.backbone.parameters():
                parameter.requires_grad = True  # distkb: script.thawed-in-hook


class Classifier(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Linear(32, 16)
        self.head = nn.Linear(16, 4)
        self.backbone.requires_grad_(False)

    def training_step(self, batch, index):
        images, labels = batch
        return nn.functional.cross_entropy(self.head(self.backbone(images)), labels)

    def configure_optimizers(self):
        return optim.SGD(self.parameters(), lr=0.1)


def main(data):
    trainer = L.Trainer(devices=4, strategy="ddp", max_epochs=10, callbacks=[Thaw(3)])
    trainer.fit(Classifier(), DataLoader(data, batch_size=32))
