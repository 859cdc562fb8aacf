import os
import time
from dataclasses import dataclass

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from cache import TileDataset, TileWriter, cut
from scenes import BANDS, CATALOG, CLASSES


@dataclass
class Settings:
    world: int = 3
    port: int = 29523
    cache: str = "cache/tiles32"
    epochs: int = 2
    batch: int = 64
    lr: float = 2e-3


class Trainer:
    def __init__(self, rank, s):
        self.rank, self.s = rank, s
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(s.port))
        dist.init_process_group("gloo", rank=rank, world_size=s.world)
        torch.manual_seed(0)
        torch.set_num_threads(1)
        self.t0 = time.time()

    def say(self, text):
        print(f"{time.time() - self.t0:6.1f}s [worker {self.rank}] {text}", flush=True)

    def prepare(self):
        tiles, labels = [], []
        for scene in CATALOG[self.rank :: self.s.world]:
            t, l = cut(scene)
            self.say(f"{scene.name} {scene.rows}x{scene.cols} -> {len(l)} tiles")
            tiles.append(t)
            labels.append(l)
        writer = TileWriter(self.s.cache, self.rank)
        path = writer.write(np.concatenate(tiles), np.concatenate(labels))
        self.say(f"wrote {path} ({sum(map(len, labels))} tiles)")
        dist.barrier()

    def fit(self):
        data = TileDataset(self.s.cache, self.s.world)
        sampler = DistributedSampler(data, self.s.world, self.rank)
        loader = DataLoader(data, self.s.batch, sampler=sampler)
        net = nn.Sequential(
            nn.Conv2d(BANDS, 16, 3, 2, 1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, len(CLASSES)),
        )
        net = DDP(net)
        opt = torch.optim.Adam(net.parameters(), self.s.lr)
        if self.rank == 0:
            self.say(f"{len(data)} tiles, {len(loader)} steps per epoch")
        for epoch in range(self.s.epochs):
            sampler.set_epoch(epoch)
            for i, (x, y) in enumerate(loader):
                loss = nn.functional.cross_entropy(net(x), y)
                opt.zero_grad()
                loss.backward()
                opt.step()
                if self.rank == 0 and i % 10 == 0:
                    self.say(f"epoch {epoch} step {i} loss {loss.item():.4f}")
        if self.rank == 0:
            torch.save(net.module.state_dict(), "landuse.pt")
            self.say("saved landuse.pt")


def worker(rank, s):
    t = Trainer(rank, s)
    t.prepare()
    t.fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    s = Settings()
    mp.spawn(worker, args=(s,), nprocs=s.world)
