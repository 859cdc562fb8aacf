"""Rain nowcast for the gauges of the catchment, one model, sharded."""
import logging
import math
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

GAUGES, HISTORY, HORIZON = 64, 48, 12


class MixerBlock(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.a, self.b = nn.Linear(dim, hidden), nn.Linear(hidden, dim)

    def forward(self, x):
        return x + self.b(torch.nn.functional.gelu(self.a(self.norm1(x))))


class Nowcaster(nn.Module):
    def __init__(self, dim=32, blocks=3):
        super().__init__()
        self.inp = nn.Linear(HISTORY, dim)
        self.blocks = nn.ModuleList(MixerBlock(dim, 2 * dim) for _ in range(blocks))
        self.out = nn.Linear(dim, HORIZON)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, x):                    # (batch, gauges, history)
        h = self.inp(x)
        for b in self.blocks:
            h = b(h)
        return self.out(h)


class Feed:
    """Gauge series of the catchment; input standardised, target in m/h as the river model takes it."""

    def __init__(self, rank, seed=0):
        g = torch.Generator().manual_seed(11)
        self.phase = torch.rand(GAUGES, 1, generator=g) * 2 * math.pi
        self.amp = 0.3 + 0.6 * torch.rand(GAUGES, 1, generator=g)
        self.g = torch.Generator().manual_seed(1000 * seed + rank)

    def batch(self, n):
        t0 = torch.randint(0, 24 * 365, (n, 1, 1), generator=self.g)
        t = t0 + torch.arange(HISTORY + HORIZON)
        front = torch.sin(2 * math.pi * t / 36 + self.phase) + 0.4 * torch.sin(2 * math.pi * t / 24)
        rain = (self.amp * front).clamp(min=0) + 0.05 * torch.rand(n, GAUGES, HISTORY + HORIZON, generator=self.g)   # mm/h
        return (rain[..., :HISTORY] - 0.4) / 0.6, rain[..., HISTORY:] * 1e-3


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        torch.manual_seed(cfg["seed"])
        mesh = init_device_mesh("cpu", (self.world,))
        policy = MixedPrecisionPolicy(param_dtype=cfg["dtype"], reduce_dtype=torch.float32)
        self.model = Nowcaster()
        for block in self.model.blocks:
            fully_shard(block, mesh=mesh, mp_policy=policy)
        fully_shard(self.model, mesh=mesh, mp_policy=policy)
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=cfg["lr"], eps=1e-15)
        self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, cfg["steps"])
        self.train_feed, self.valid_feed = Feed(self.rank), Feed(self.rank, seed=7)
        self.log = logging.getLogger("nowcast")

    def step(self):
        x, y = self.train_feed.batch(self.cfg["batch"])
        pred = self.model(x)
        loss = ((pred - y) ** 2).mean()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg["clip"]).full_tensor()
        self.opt.step()
        self.opt.zero_grad()
        self.sched.step()
        return loss.detach(), norm

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        total = torch.zeros(2)
        for _ in range(2):
            x, y = self.valid_feed.batch(self.cfg["batch"])
            err = self.model(x).float() - y
            total += torch.tensor([err.abs().mean(), (err ** 2).mean()])
        dist.all_reduce(total)
        self.model.train()
        return (total / (2 * self.world)).tolist()

    def fit(self):
        t0 = time.time()
        n = sum(p.numel() for p in self.model.parameters())
        self.log.info("%d parameters on %d ranks, compute dtype %s, %d values per batch", n, self.world, self.cfg["dtype"], self.cfg["batch"] * GAUGES * HORIZON)
        for step in range(1, self.cfg["steps"] + 1):
            loss, norm = self.step()
            if step % 5 == 0:
                dist.all_reduce(loss.div_(self.world))
                self.log.info("step %4d  mse %.4e  grad_norm %.3e  lr %.2e  %.1f s", step, loss.item(), norm.item(), self.sched.get_last_lr()[0], time.time() - t0)
            if step % 25 == 0:
                mae, mse = self.validate()
                self.log.info("valid @%d  mae %.3f  rmse %.3f mm/h", step, mae * 1e3, mse ** 0.5 * 1e3)
        state = get_model_state_dict(self.model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
        if self.rank == 0:
            torch.save(state, "nowcast.pt")
            self.log.info("wrote nowcast.pt (%d tensors)", len(state))


def main():
    dist.init_process_group("gloo")
    rank = int(os.environ["RANK"])
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING, format=f"%(asctime)s r{rank} %(message)s", filename=os.environ.get("LOGFILE", "logs/train.log") if rank == 0 else None)
    Trainer(dict(seed=5, dtype=torch.float16, lr=3e-4, batch=128, clip=1.0, steps=100)).fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
