import argparse
import logging
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
import yaml
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from kws.data import TonePhrases
from kws.model import KeywordEncoder

log = logging.getLogger("kws")


def dtype(name):
    return getattr(torch, name)


def build(cfg, mesh):
    torch.manual_seed(cfg["seed"])
    model = KeywordEncoder(**cfg["model"])
    policy = MixedPrecisionPolicy(param_dtype=dtype(cfg["param_dtype"]), reduce_dtype=dtype(cfg["reduce_dtype"]))
    for layer in model.layers:
        fully_shard(layer, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    log.info("sharded %d parameters, param=%s reduce=%s", sum(p.numel() for p in model.parameters()),
             policy.param_dtype, policy.reduce_dtype)
    return model


def evaluate(model, loader, amp):
    model.eval()
    hit = torch.zeros(2)
    with torch.no_grad():
        for x, y in loader:
            with amp():
                pred = model(x).argmax(-1)
            hit += torch.tensor([(pred == y).sum(), len(y)])
    dist.all_reduce(hit)
    model.train()
    return (hit[0] / hit[1]).item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", default="conf.yaml")
    args = ap.parse_args()
    cfg = yaml.safe_load(open(args.config))

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(1)
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [{rank}/{world}] %(levelname)s %(name)s: %(message)s")
    log.info("config %s", cfg)

    mesh = init_device_mesh("cpu", (world,))
    model = build(cfg, mesh)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg["lr"], weight_decay=cfg["weight_decay"])

    train = TonePhrases(1536, seed=1)
    valid = TonePhrases(256, seed=2)
    sampler = DistributedSampler(train, seed=cfg["seed"])
    loader = DataLoader(train, cfg["batch_size"], sampler=sampler, drop_last=True)
    vloader = DataLoader(valid, 64, sampler=DistributedSampler(valid, shuffle=False))
    log.info("train %d valid %d batches/epoch %d", len(train), len(valid), len(loader))

    def amp():
        return torch.autocast("cpu", dtype=dtype(cfg["amp"]), enabled=cfg["amp"] is not None)

    for epoch in range(cfg["epochs"]):
        sampler.set_epoch(epoch)
        for step, (x, y) in enumerate(loader):
            with amp():
                logits = model(x)
            loss = F.cross_entropy(logits.float(), y)
            loss.backward()
            opt.step()
            opt.zero_grad()
            if step % 8 == 0:
                log.info("epoch %d step %d loss %.4f", epoch, step, loss.item())
        acc = evaluate(model, vloader, amp)
        log.info("epoch %d valid acc %.3f", epoch, acc)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
