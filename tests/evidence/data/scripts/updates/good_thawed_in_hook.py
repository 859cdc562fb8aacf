"""The backbone has its gradients from the start and waits with a learning rate of 0; two models take turns."""

import lightning as L
from torch import nn, optim
from torch.utils.data import DataLoader


class Thaw(L.Callback):
    def __init__(self, epoch):
        self.epoch = epoch

    def on_train_epoch_start(self, trainer, pl_module):
        if trainer.current_epoch == self.epoch:
            trainer.optimizers[0].param_groups[1]["lr"] = 0.01


class Classifier(L.LightningModule):
    def __init__(self, teacher):
        super().__init__()
        self.teacher = teacher.requires_grad_(False)
        self.backbone = nn.Linear(32, 16)
        self.head = nn.Linear(16, 4)

    def training_step(self, batch, index):
        images, labels = batch
        self.head.requires_grad_(True)
        loss = nn.functional.cross_entropy(self.head(self.backbone(images)), labels)
        return loss + nn.functional.mse_loss(self.backbone(images), self.teacher(images))

    def configure_optimizers(self):
        return optim.SGD([{"params": self.head.parameters()}, {"params": self.backbone.parameters(), "lr": 0.0}], lr=0.1)


def main(data, teacher):
    trainer = L.Trainer(devices=4, strategy="ddp", max_epochs=10, callbacks=[Thaw(3)])
    trainer.fit(Classifier(teacher), DataLoader(data, batch_size=32))
