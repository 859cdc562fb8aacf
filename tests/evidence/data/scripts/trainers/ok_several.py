import argparse

import lightning as L


class Net(L.LightningModule):
    def validation_step(self, batch, index):
        self.log("val_loss", self(batch).mean(), sync_dist=True)


def main(loader):
    parser = argparse.ArgumentParser()
    parser.add_argument("--devices", type=int, default=1)
    args = parser.parse_args()
    trainer = L.Trainer(accelerator="gpu", devices=args.devices, max_epochs=3)
    trainer.fit(Net(), loader)


def on_two_nodes(loader):
    return L.Trainer(accelerator="gpu", devices=8, num_nodes=2, strategy="ddp").fit(Net(), loader)
