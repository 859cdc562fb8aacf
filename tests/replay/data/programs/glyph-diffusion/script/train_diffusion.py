#!/usr/bin/env python
"""Train a small pixel diffusion model with FSDP.

    torchrun --nproc-per-node 3 train_diffusion.py --steps 90 --save-every 30
"""
import argparse
import copy
import functools
import os
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.fsdp import FullStateDictConfig, StateDictType
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from tqdm import tqdm

from glyphs import Glyphs
from unet import ResBlock, TinyUNet


def parse():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=90)
    ap.add_argument("--save-every", type=int, default=30)
    ap.add_argument("--batch-size", type=int, default=16)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--ema", type=float, default=0.98)
    ap.add_argument("--out", default="checkpoints")
    ap.add_argument("--seed", type=int, default=0)
    return ap.parse_args()


class DiffusionTrainer:
    def __init__(self, args):
        self.args = args
        self.rank = dist.get_rank()
        self.world = dist.get_world_size()
        torch.manual_seed(args.seed)
        net = TinyUNet()
        shadow = copy.deepcopy(net)
        wrap = functools.partial(
            FSDP,
            auto_wrap_policy=ModuleWrapPolicy({ResBlock}),
            device_id=torch.device("cpu"),
            use_orig_params=True,
        )
        self.net = wrap(net)
        self.shadow = wrap(shadow).requires_grad_(False)
        self.optim = torch.optim.AdamW(self.net.parameters(), lr=args.lr)
        self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.optim, args.steps)
        data = Glyphs()
        self.sampler = DistributedSampler(data, seed=args.seed)
        self.loader = DataLoader(data, args.batch_size, sampler=self.sampler, drop_last=True)
        self.noise = torch.Generator().manual_seed(1000 + self.rank)
        self.step = 0

    def batches(self):
        epoch = 0
        while True:
            self.sampler.set_epoch(epoch)
            yield from self.loader
            epoch += 1

    def loss(self, x0):
        t = torch.rand(len(x0), generator=self.noise)
        eps = torch.randn(x0.shape, generator=self.noise)
        alpha = torch.cos(t * torch.pi / 2)[:, None, None, None]
        sigma = torch.sin(t * torch.pi / 2)[:, None, None, None]
        return F.mse_loss(self.net(alpha * x0 + sigma * eps, t), eps)

    @torch.no_grad()
    def update_shadow(self):
        for s, p in zip(self.shadow.parameters(), self.net.parameters()):
            s.lerp_(p, 1 - self.args.ema)

    def full_weights(self, model):
        cfg = FullStateDictConfig(rank0_only=True)
        with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, cfg):
            return model.state_dict()

    def save(self):
        os.makedirs(self.args.out, exist_ok=True)
        path = os.path.join(self.args.out, f"glyphs_{self.step:05d}.pt")
        torch.save({"step": self.step, "ema": self.full_weights(self.shadow)}, path)
        print(f"wrote {path} ({os.path.getsize(path) / 1024:.0f} KiB)", flush=True)

    def fit(self):
        bar = tqdm(total=self.args.steps, disable=self.rank != 0, mininterval=0.5, ncols=90)
        running, started = 0.0, time.time()
        for images in self.batches():
            loss = self.loss(images)
            self.optim.zero_grad()
            loss.backward()
            self.net.clip_grad_norm_(1.0)
            self.optim.step()
            self.sched.step()
            self.update_shadow()
            self.step += 1
            running += loss.item()
            bar.update(1)
            if self.step % 10 == 0:
                print(
                    f"[{self.rank}] step {self.step:4d} loss {running / 10:.4f} "
                    f"lr {self.sched.get_last_lr()[0]:.2e} {(time.time() - started) / 10:.3f} s/step",
                    flush=True,
                )
                running, started = 0.0, time.time()
                bar.set_postfix(loss=f"{loss.item():.3f}")
            if self.step % self.args.save_every == 0:
                if self.rank == 0:
                    self.save()
                dist.barrier()
            if self.step == self.args.steps:
                break
        bar.close()


def main():
    args = parse()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    trainer = DiffusionTrainer(args)
    if trainer.rank == 0:
        print(f"world size {trainer.world}, {len(trainer.loader)} batches per epoch")
        print(trainer.net)
    trainer.fit()
    print(f"[{trainer.rank}] finished at step {trainer.step}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
