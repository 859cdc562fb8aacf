import lightning.pytorch as pl
import torch.distributed as dist


class Report(pl.Callback):
    def on_train_end(self, trainer, module):
        if dist.is_initialized() and dist.get_rank() == 0:
            print("seen", trainer.num_training_batches * dist.get_world_size())


def main(module, loader):
    trainer = pl.Trainer(max_epochs=3, callbacks=[Report()])  # distkb: script.trainer-chooses-devices
    trainer.fit(module, loader)
