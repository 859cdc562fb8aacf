import json
import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import lightning as L
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from lightning.pytorch.utilities import rank_zero_only
from torch import nn
from torch.utils.data import DataLoader, Dataset


@dataclass
class Config:
    feeders: int = 40
    days: int = 120
    window: int = 72
    horizon: int = 24
    hidden: int = 32
    batch_size: int = 64
    lr: float = 2e-3
    epochs: int = 3
    devices: int = 2
    out: str = "runs"


def make_load(cfg):
    """Hourly feeder load in kW, one row per feeder."""
    g = torch.Generator().manual_seed(2024)
    t = torch.arange(cfg.days * 24).float()
    base = 80 + 300 * torch.rand(cfg.feeders, 1, generator=g)
    day = torch.sin(2 * math.pi * (t / 24 - torch.rand(cfg.feeders, 1, generator=g) * 0.2))
    week = torch.sin(2 * math.pi * t / 168)
    return base * (1 + 0.35 * day + 0.1 * week + 0.05 * torch.randn(cfg.feeders, len(t), generator=g))


class Windows(Dataset):
    def __init__(self, load, cfg, start, stop, step=12):
        self.load, self.cfg = load, cfg
        last = stop - cfg.window - cfg.horizon
        self.index = [(f, s) for f in range(cfg.feeders) for s in range(start, last, step)]

    def __len__(self):
        return len(self.index)

    def __getitem__(self, i):
        f, s = self.index[i]
        w, h = self.cfg.window, self.cfg.horizon
        return self.load[f, s:s + w], self.load[f, s + w:s + w + h], f


class LoadData(L.LightningDataModule):
    def __init__(self, cfg, run_dir):
        super().__init__()
        self.cfg, self.run_dir = cfg, run_dir

    def setup(self, stage):
        load = make_load(self.cfg)
        cut = int(load.shape[1] * 0.8)
        self.mean, self.std = load[:, :cut].mean(1, keepdim=True), load[:, :cut].std(1, keepdim=True)
        if stage == "fit":
            self._write_scaler()
        z = (load - self.mean) / self.std
        self.train, self.val = Windows(z, self.cfg, 0, cut), Windows(z, self.cfg, cut, load.shape[1])

    @rank_zero_only
    def _write_scaler(self):
        torch.save({"mean": self.mean, "std": self.std}, self.run_dir / "scaler.pt")

    def train_dataloader(self):
        return DataLoader(self.train, batch_size=self.cfg.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.val, batch_size=256)

    test_dataloader = val_dataloader


class Forecaster(L.LightningModule):
    def __init__(self, cfg, run_dir):
        super().__init__()
        self.cfg, self.run_dir = cfg, run_dir
        self.rnn = nn.GRU(1, cfg.hidden, batch_first=True)
        self.out = nn.Linear(cfg.hidden, cfg.horizon)

    def forward(self, x):
        h, _ = self.rnn(x.unsqueeze(-1))
        return self.out(h[:, -1])

    def training_step(self, batch, _):
        x, y, _f = batch
        loss = nn.functional.mse_loss(self(x), y)
        self.log("train_loss", loss, on_step=False, on_epoch=True, sync_dist=True)
        return loss

    def validation_step(self, batch, _):
        x, y, _f = batch
        self.log("val_loss", nn.functional.mse_loss(self(x), y), sync_dist=True)

    def on_test_start(self):
        self.scaler = torch.load(self.run_dir / "scaler.pt")

    def test_step(self, batch, _):
        x, y, f = batch
        std = self.scaler["std"][f]
        self.log("mae_kw", ((self(x) - y) * std).abs().mean(), sync_dist=True)

    def on_validation_epoch_end(self):
        m = self.trainer.callback_metrics
        if not self.trainer.sanity_checking:
            self.print(f"epoch {self.current_epoch} val_loss {m['val_loss']:.4f}")

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.cfg.lr)


def main():
    cfg = Config()
    L.seed_everything(7, workers=True)
    torch.set_num_threads(1)

    run_dir = Path(cfg.out) / time.strftime("%m%d-%H%M%S")
    run_dir.mkdir(parents=True, exist_ok=True)
    (run_dir / "config.json").write_text(json.dumps(asdict(cfg), indent=1))

    model, data = Forecaster(cfg, run_dir), LoadData(cfg, run_dir)
    ckpt = ModelCheckpoint(dirpath=run_dir, filename="best", monitor="val_loss")
    trainer = L.Trainer(
        accelerator="cpu", devices=cfg.devices, strategy="ddp", max_epochs=cfg.epochs,
        logger=CSVLogger(run_dir, name="", version=""), callbacks=[ckpt],
        enable_progress_bar=False, enable_model_summary=False, log_every_n_steps=10,
    )
    trainer.fit(model, data)
    print(f"best {ckpt.best_model_path} val_loss {ckpt.best_model_score:.4f}")
    trainer.test(model, data, ckpt_path=ckpt.best_model_path)


if __name__ == "__main__":
    main()
