"""Only weights and the epoch, in the style of torch's tutorial."""

import os

import torch
import torch.distributed as dist
from net import Net
from torch.nn.parallel import DistributedDataParallel as DDP

from data import make_loader


class Trainer:
    def __init__(self):
        self.model = DDP(Net().cuda())
        self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-3)  # distkb: script.resume-without-optimizer
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, 100)
        self.epoch = 0
        if os.path.exists("snapshot.pt"):
            self._load_snapshot("snapshot.pt")

    def _load_snapshot(self, path):
        snap = torch.load(path, map_location="cuda")
        self.model.module.load_state_dict(snap["MODEL_STATE"])
        self.epoch = snap["EPOCHS_RUN"]

    def _save_snapshot(self):
        torch.save(
            {"MODEL_STATE": self.model.module.state_dict(), "EPOCHS_RUN": self.epoch},
            "snapshot.pt",
        )

    def train(self):
        while self.epoch < 100:
            for x, y in make_loader(self.epoch):
                self.optimizer.zero_grad()
                torch.nn.functional.mse_loss(self.model(x.cuda()), y.cuda()).backward()
                self.optimizer.step()
            self.scheduler.step()
            self.epoch += 1
            if dist.get_rank() == 0:
                self._save_snapshot()


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
Trainer().train()
