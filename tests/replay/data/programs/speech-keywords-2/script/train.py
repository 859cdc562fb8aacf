import argparse
import json
import logging
import os
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader, DistributedSampler

from kws import checkpoint
from kws.data import SpokenWords
from kws.model import KeywordNet


def batches(loader, sampler, start):
    per_epoch = len(loader)
    epoch = start // per_epoch
    skip = start % per_epoch
    while True:
        sampler.set_epoch(epoch)
        for i, b in enumerate(loader):
            if i >= skip:
                yield b
        skip, epoch = 0, epoch + 1


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", default="conf/base.json")
    cfg = json.load(open(ap.parse_args().config))

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [{rank}] %(name)s: %(message)s", datefmt="%H:%M:%S")
    log = logging.getLogger("kws.train")
    torch.set_num_threads(1)
    torch.manual_seed(cfg["seed"])

    mesh = init_device_mesh("cpu", (world,))
    model = KeywordNet(cfg)
    for b in model.blocks:
        fully_shard(b, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optim = torch.optim.AdamW(model.parameters(), lr=cfg["lr"], weight_decay=0.01)
    sched = torch.optim.lr_scheduler.LambdaLR(optim, lambda s: min(1.0, (s + 1) / cfg["warmup"]))
    log.info("world %d, local params %d", world, sum(p.to_local().numel() for p in model.parameters()))

    step = checkpoint.load(cfg["run_dir"], model, optim, sched)
    log.info("starting at step %d of %d", step, cfg["max_steps"])

    data = SpokenWords(cfg)
    sampler = DistributedSampler(data, world, rank, shuffle=True, seed=cfg["seed"])
    loader = DataLoader(data, batch_size=cfg["batch_size"], sampler=sampler, drop_last=True)
    t0 = time.time()
    for mel, y in batches(loader, sampler, step):
        out = model(mel)
        loss = F.cross_entropy(out, y)
        optim.zero_grad()
        loss.backward()
        optim.step()
        sched.step()
        step += 1
        if step % cfg["log_every"] == 0:
            acc = (out.argmax(-1) == y).float().mean()
            stats = torch.stack([loss.detach(), acc]) / world
            dist.all_reduce(stats)
            if rank == 0:
                log.info("step %d loss %.4f acc %.3f lr %.2e %.2f s", step, stats[0], stats[1], sched.get_last_lr()[0], time.time() - t0)
        if step % cfg["save_every"] == 0:
            checkpoint.save(cfg["run_dir"], step, model, optim, sched)
        if step >= cfg["max_steps"]:
            break
    log.info("done")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
