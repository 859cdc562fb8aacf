import lightning as L


class Net(L.LightningModule):
    def validation_step(self, batch, index):
        self.log("val_loss", self(batch).mean())


def main(loader):
    trainer = L.Trainer(accelerator="cpu", devices=1, max_epochs=1)
    trainer.fit(Net(), loader)
