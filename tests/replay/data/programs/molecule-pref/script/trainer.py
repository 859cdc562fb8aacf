import json
import os
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from lm import seq_logp


class PreferenceTrainer:
    def __init__(self, model, train_set, eval_set, cfg, ref_model=None):
        self.cfg = cfg
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.model = self._prepare(model)
        self.ref_model = self._prepare(ref_model if ref_model is not None else model)
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=cfg["lr"], weight_decay=0.0)
        self.sampler = DistributedSampler(train_set, shuffle=True, seed=cfg["seed"])
        self.train_loader = DataLoader(train_set, cfg["batch_size"], sampler=self.sampler, drop_last=True)
        self.eval_loader = DataLoader(eval_set, cfg["batch_size"], sampler=DistributedSampler(eval_set, shuffle=False))
        self.log_path = os.path.join(cfg["out"], "train_log.jsonl")
        if self.rank == 0:
            os.makedirs(cfg["out"], exist_ok=True)
            open(self.log_path, "w").close()

    def _prepare(self, m):
        return DDP(m, gradient_as_bucket_view=True)

    def log(self, **kw):
        if self.rank == 0:
            with open(self.log_path, "a") as f:
                f.write(json.dumps({k: round(v, 5) if isinstance(v, float) else v for k, v in kw.items()}) + "\n")

    def losses(self, chosen, rejected):
        both = torch.cat([chosen, rejected])
        pi_c, pi_r = seq_logp(self.model, both).chunk(2)
        with torch.no_grad():
            ref_c, ref_r = seq_logp(self.ref_model, both).chunk(2)
        beta = self.cfg["beta"]
        rew_c, rew_r = beta * (pi_c - ref_c), beta * (pi_r - ref_r)
        loss = -F.logsigmoid(rew_c - rew_r).mean()
        return loss, {
            "rewards/chosen": rew_c.mean().item(), "rewards/rejected": rew_r.mean().item(),
            "rewards/margins": (rew_c - rew_r).mean().item(),
            "rewards/accuracies": (rew_c > rew_r).float().mean().item(),
            "logps/chosen": pi_c.mean().item(), "logps/rejected": pi_r.mean().item()}

    def average(self, stats):
        t = torch.tensor(list(stats.values()))
        dist.all_reduce(t)
        return dict(zip(stats, (t / self.world).tolist()))

    @torch.no_grad()
    def evaluate(self):
        tot = {}
        for n, (c, r) in enumerate(self.eval_loader, 1):
            loss, m = self.losses(c, r)
            m["loss"] = loss.item()
            for k, v in m.items():
                tot[k] = tot.get(k, 0.0) + v
        return {"eval_" + k: v for k, v in self.average({k: v / n for k, v in tot.items()}).items()}

    def train(self):
        step, t0 = 0, time.time()
        self.log(step=0, **self.evaluate())
        for epoch in range(self.cfg["epochs"]):
            self.sampler.set_epoch(epoch)
            for c, r in self.train_loader:
                loss, m = self.losses(c, r)
                self.opt.zero_grad()
                loss.backward()
                gn = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg["max_grad_norm"])
                self.opt.step()
                step += 1
                if step % self.cfg["log_every"] == 0:
                    self.log(epoch=epoch, step=step, grad_norm=gn.item(),
                             **self.average({"loss": loss.item(), **m}))
            self.log(epoch=epoch, step=step, **self.evaluate())
        if self.rank == 0:
            torch.save(self.model.module.state_dict(), os.path.join(self.cfg["out"], "policy.pt"))
            print(f"{step} steps in {time.time() - t0:.1f}s, policy written to {self.cfg['out']}/policy.pt")
