import json
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.fsdp import fully_shard
from torch.optim.lr_scheduler import LambdaLR


class DiffusionTrainer:
    def __init__(self, model, args, rank, world):
        self.args, self.rank, self.world = args, rank, world
        self.model = model
        betas = torch.linspace(1e-4, 0.02, args.T)
        self.abar = torch.cumprod(1 - betas, 0)
        self.opt, self.sched = self._build_optim()
        self._shard()
        self.log_file = open(args.log, "w") if rank == 0 else None

    def _build_optim(self):
        decay = [p for p in self.model.parameters() if p.ndim > 1]
        rest = [p for p in self.model.parameters() if p.ndim <= 1]
        opt = torch.optim.AdamW(
            [{"params": decay, "weight_decay": 0.01}, {"params": rest, "weight_decay": 0.0}],
            lr=self.args.lr, betas=(0.9, 0.99),
        )
        sched = LambdaLR(opt, lambda s: min(1.0, (s + 1) / self.args.warmup))
        return opt, sched

    def _shard(self):
        mesh = dist.device_mesh.init_device_mesh("cpu", (self.world,))
        for block in self.model.blocks:
            fully_shard(block, mesh=mesh)
        fully_shard(self.model, mesh=mesh)

    def loss(self, x0, gen):
        t = torch.randint(self.args.T, (len(x0),), generator=gen)
        eps = torch.randn(x0.shape, generator=gen)
        a = self.abar[t][:, None]
        return F.mse_loss(self.model(a.sqrt() * x0 + (1 - a).sqrt() * eps, t.float()), eps)

    @torch.no_grad()
    def evaluate(self, val):
        gen = torch.Generator().manual_seed(99)
        loss = sum(self.loss(x, gen) for x in val.split(self.args.batch)) / len(val.split(self.args.batch))
        dist.all_reduce(loss)
        return (loss / self.world).item()

    def write(self, **row):
        if self.log_file:
            self.log_file.write(json.dumps(row) + "\n")
            self.log_file.flush()

    def fit(self, train, val):
        gen = torch.Generator().manual_seed(1000 + self.rank)
        step, t0 = 0, time.time()
        for epoch in range(self.args.epochs):
            perm = torch.randperm(len(train), generator=gen)
            for idx in perm.split(self.args.batch):
                loss = self.loss(train[idx], gen)
                loss.backward()
                norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.args.clip)
                self.opt.step()
                self.sched.step()
                self.opt.zero_grad()
                step += 1
                norm = norm.full_tensor().item()
                if step % self.args.log_every == 0:
                    self.write(step=step, epoch=epoch, loss=round(loss.item(), 4), grad_norm=round(norm, 4),
                               lr=self.sched.get_last_lr()[0], sec=round(time.time() - t0, 2))
            val_loss = self.evaluate(val)
            self.write(step=step, epoch=epoch, val_loss=round(val_loss, 4))
            if self.rank == 0:
                print(f"epoch {epoch + 1}/{self.args.epochs}  val {val_loss:.4f}", flush=True)
