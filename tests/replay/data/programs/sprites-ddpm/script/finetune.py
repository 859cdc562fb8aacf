import logging
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.fsdp import fully_shard

from unet import Denoiser

WORLD = 2
BASE = "base_sprites.pt"
STEPS = 40


def make_base():
    torch.manual_seed(0)
    torch.save(Denoiser().state_dict(), BASE)


def sprites(n, gen):
    img = torch.zeros(n, 3, 16, 16)
    for i in range(n):
        x, y = torch.randint(2, 10, (2,), generator=gen).tolist()
        img[i, :, y:y + 4, x:x + 4] = torch.rand(3, 1, 1, generator=gen)
    return img * 2 - 1


class Finetuner:
    def __init__(self, rank):
        self.rank = rank
        self.log = logging.getLogger(f"rank{rank}")
        self.gen = torch.Generator().manual_seed(100 + rank)
        self.beta = torch.linspace(1e-4, 0.02, 200)
        self.abar = torch.cumprod(1 - self.beta, 0)
        self.model = self.build()
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=1e-3)

    def build(self):
        with torch.device("meta"):
            model = Denoiser()
        weights = torch.load(BASE, map_location="cpu", mmap=True)
        model.load_state_dict(weights)
        self.log.info("loaded %s, %d tensors", BASE, len(weights))
        for block in model.blocks:
            fully_shard(block)
        fully_shard(model)
        self.log.info("sharded, %d parameters", sum(p.numel() for p in model.parameters()))
        return model

    def step(self):
        x = sprites(16, self.gen)
        t = torch.randint(0, 200, (16,), generator=self.gen)
        noise = torch.randn(x.shape, generator=self.gen)
        a = self.abar[t][:, None, None, None]
        pred = self.model(a.sqrt() * x + (1 - a).sqrt() * noise, t)
        loss = (pred - noise).pow(2).mean()
        loss.backward()
        self.opt.step()
        self.opt.zero_grad()
        return loss.item()

    def fit(self):
        for s in range(STEPS):
            loss = self.step()
            if s % 10 == 0 or s == STEPS - 1:
                self.log.info("step %d loss %.4f", s, loss)


def worker(rank, port):
    logging.basicConfig(filename=f"logs/rank{rank}.log", filemode="w", level=logging.INFO,
                        format="%(asctime)s %(name)s %(message)s")
    logging.captureWarnings(True)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    torch.set_num_threads(1)
    try:
        Finetuner(rank).fit()
    except Exception:
        logging.exception("training stopped")
        raise
    dist.destroy_process_group()


if __name__ == "__main__":
    os.makedirs("logs", exist_ok=True)
    if not os.path.exists(BASE):
        make_base()
    mp.spawn(worker, args=(29637,), nprocs=WORLD)
    print("done")
