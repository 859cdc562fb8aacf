import json
import logging
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from intent.classifier import IntentClassifier
from intent.data import Utterances


def setup_logging(cfg, rank):
    os.makedirs(cfg["out_dir"], exist_ok=True)
    log = logging.getLogger("intent")
    log.setLevel(logging.INFO)
    fmt = logging.Formatter(f"%(asctime)s [rank {rank}] %(levelname)s %(message)s")
    for h in (logging.FileHandler(os.path.join(cfg["out_dir"], f"train_rank{rank}.log"), mode="w"),
              logging.StreamHandler(sys.stderr)):
        h.setFormatter(fmt)
        if isinstance(h, logging.FileHandler) or rank == 0:
            log.addHandler(h)
    return log


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    hits = torch.zeros(2)
    for batch in loader:
        pred = model(batch["ids"], batch["mask"]).argmax(-1)
        hits += torch.tensor([(pred == batch["label"]).sum().item(), len(pred)])
    dist.all_reduce(hits)
    model.train()
    return (hits[0] / hits[1]).item()


def worker(rank, cfg):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{cfg['port']}",
                            rank=rank, world_size=cfg["world_size"])
    log = setup_logging(cfg, rank)
    torch.manual_seed(cfg["seed"])

    train_set = Utterances(cfg["train_size"], cfg, seed=1)
    valid_set = Utterances(cfg["valid_size"], cfg, seed=2)
    sampler = DistributedSampler(train_set, seed=cfg["seed"])
    loader = DataLoader(train_set, cfg["batch_size"], sampler=sampler)
    valid_loader = DataLoader(valid_set, cfg["batch_size"],
                              sampler=DistributedSampler(valid_set, shuffle=False))

    net = IntentClassifier(cfg)
    n_params = sum(p.numel() for p in net.parameters() if p.requires_grad)
    log.info("model: %d trainable parameters in %d tensors", n_params, len(list(net.parameters())))
    model = DistributedDataParallel(net)
    optim = torch.optim.AdamW(model.parameters(), lr=cfg["lr"], weight_decay=0.01)
    log.info("train %d / valid %d examples, %d batches per rank", len(train_set), len(valid_set), len(loader))

    step, t0 = 0, time.time()
    for epoch in range(cfg["epochs"]):
        sampler.set_epoch(epoch)
        for batch in loader:
            logits = model(batch["ids"], batch["mask"])
            loss = F.cross_entropy(logits, batch["label"])
            optim.zero_grad(set_to_none=True)
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optim.step()
            if step % cfg["log_every"] == 0:
                log.info("epoch %d step %d loss %.4f grad norm %.3f (%.1fs)",
                         epoch, step, loss.item(), norm.item(), time.time() - t0)
            step += 1
        log.info("epoch %d valid accuracy %.3f", epoch, accuracy(model, valid_loader))
    if rank == 0:
        path = os.path.join(cfg["out_dir"], "intent.pt")
        torch.save(net.state_dict(), path)
        log.info("saved %s", path)
    dist.destroy_process_group()


if __name__ == "__main__":
    with open(sys.argv[1] if len(sys.argv) > 1 else "config.json") as f:
        cfg = json.load(f)
    mp.spawn(worker, args=(cfg,), nprocs=cfg["world_size"])
