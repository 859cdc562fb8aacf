import lightning as L
import torch.distributed as dist


class Module(L.LightningModule):
    def on_train_epoch_end(self):
        if self.trainer.is_global_zero:
            self.log("loss", 1.0, sync_dist=True)  # distkb: script.hidden-collective-on-some-ranks
        self.log("step", 2.0, sync_dist=True)
        if self.global_rank == 0:
            self.log("lr", 0.1)

    def on_fit_end(self):
        if self.trainer.global_rank == 0:
            self.trainer.save_checkpoint("last.ckpt")  # distkb: script.save-on-some-ranks


class Callback(L.Callback):
    def on_validation_end(self, trainer, module):
        if trainer.is_global_zero:
            trainer.strategy.barrier()  # distkb: script.hidden-collective-on-some-ranks


def plain(rank):
    if rank == 0:
        dist.send(rank, 1)
