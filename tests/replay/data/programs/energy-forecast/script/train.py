import argparse
import logging
import os

import torch
import torch.distributed as dist

from forecaster.net import PatchForecaster
from forecaster.series import Windows, make_meters
from forecaster.trainer import Trainer


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--out", default="runs/base")
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--warmup", type=int, default=60)
    ap.add_argument("--seed", type=int, default=11)
    ap.add_argument("--log-every", type=int, default=20)
    ap.add_argument("--stop-after", type=int, default=0, help="leave after this epoch (to fit into the night slot)")
    ap.add_argument("--resume", action="store_true")
    cfg = ap.parse_args()

    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    rank = int(os.environ["RANK"])
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING,
                        format="%(asctime)s %(name)s %(message)s", datefmt="%H:%M:%S")
    torch.manual_seed(cfg.seed)
    series = make_meters()
    cut = int(series.shape[1] * 0.8)
    trainer = Trainer(PatchForecaster(), Windows(series[:, :cut]), Windows(series[:, cut - 72 :], stride=24), cfg)
    if cfg.resume:
        trainer.restore()
    trainer.fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
