import logging
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from .graphs import make_graphs
from .model import MolNet

DTYPES = {"fp32": None, "bf16": torch.bfloat16, "fp16": torch.float16}


class Runner:
    def __init__(self, cfg, rank, world):
        self.cfg, self.rank, self.world = cfg, rank, world
        self.log = logging.getLogger("molnet")
        torch.manual_seed(cfg["seed"])
        self.train = [t[rank::world] for t in make_graphs(cfg["train_graphs"], 11)]
        self.valid = make_graphs(cfg["valid_graphs"], 12)
        self.model = DDP(MolNet(cfg["width"], cfg["depth"]))
        self.opt = torch.optim.Adam(self.model.parameters(), lr=cfg["lr"])
        self.dtype = DTYPES[cfg["precision"]]
        self.log.info("graphs %d of %d, parameters %d, precision %s", len(self.train[0]), cfg["train_graphs"],
                      sum(p.numel() for p in self.model.parameters()), cfg["precision"])

    def cast(self):
        return torch.autocast("cpu", dtype=self.dtype, enabled=self.dtype is not None)

    def step(self, batch):
        adj, feat, mask, y = batch
        with self.cast():
            out, stat = self.model(adj, feat, mask)
        loss = F.smooth_l1_loss(out.float(), y)
        self.opt.zero_grad(set_to_none=True)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg["clip"])
        self.opt.step()
        return loss.item(), norm.item(), stat.item()

    @torch.no_grad()
    def mae(self):
        adj, feat, mask, y = self.valid
        with self.cast():
            out, _ = self.model.module(adj, feat, mask)
        return (out.float() - y).abs().mean().item()

    def fit(self):
        n, bs, step = len(self.train[0]), self.cfg["batch"], 0
        for epoch in range(self.cfg["epochs"]):
            t0 = time.time()
            order = torch.randperm(n, generator=torch.Generator().manual_seed(self.cfg["seed"] * 1000 + epoch))
            for s in range(0, n - bs + 1, bs):
                idx = order[s:s + bs]
                loss, norm, stat = self.step([t[idx] for t in self.train])
                step += 1
                if step % self.cfg["log_every"] == 0:
                    self.log.info("step %3d loss %.4f gnorm %.3f hmax %.4g", step, loss, norm, stat)
            if self.rank == 0:
                self.log.info("epoch %d mae %.4f  %.1fs", epoch, self.mae(), time.time() - t0)
            dist.barrier()
