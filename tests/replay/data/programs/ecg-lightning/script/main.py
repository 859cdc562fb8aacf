import argparse

import lightning as L
import torch
from lightning.pytorch.loggers import CSVLogger

from ecg import BeatData
from net import BeatNet
from report import EpochReport


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--out", default="logs/out")
    a = p.parse_args()
    torch.set_num_threads(1)
    L.seed_everything(3)
    trainer = L.Trainer(
        accelerator="cpu", devices=2, strategy="ddp", max_epochs=a.epochs,
        default_root_dir=a.out, logger=CSVLogger(a.out, name="ecg", flush_logs_every_n_steps=5),
        callbacks=[EpochReport()], log_every_n_steps=5, num_sanity_val_steps=0,
        enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(BeatNet(), BeatData())
    print(f"rank {trainer.global_rank} done, best acc {trainer.callback_metrics['val_acc']:.3f}", flush=True)


if __name__ == "__main__":
    main()
