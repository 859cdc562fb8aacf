import json
import logging
import os
import random

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
import yaml
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

import corpus
from net import IntentNet

log = logging.getLogger("intents")


def seed_all(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


@torch.no_grad()
def evaluate(model, ds, n_classes):
    model.eval()
    hit = torch.zeros(n_classes)
    cnt = torch.zeros(n_classes)
    for x, y in DataLoader(ds, batch_size=128):
        pred = model(x).argmax(1)
        cnt += torch.bincount(y, minlength=n_classes)
        hit += torch.bincount(y[pred == y], minlength=n_classes)
    model.train()
    return (hit.sum() / cnt.sum()).item(), (hit / cnt.clamp(min=1)).tolist()


def main():
    cfg = yaml.safe_load(open("config.yaml"))
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(
        level=logging.INFO,
        format=f"%(asctime)s r{rank}/{world} %(levelname)s %(message)s",
        datefmt="%H:%M:%S",
    )
    seed_all(cfg["seed"])

    train_ds, dev_ds, vocab, label2id = corpus.load(cfg["data_dir"], cfg["max_len"])
    log.info("train %d dev %d vocab %d", len(train_ds), len(dev_ds), len(vocab))
    log.info("classes: %s", " ".join(f"{i}={n}" for n, i in label2id.items()))

    net = IntentNet(len(vocab), cfg["embed_dim"], len(label2id))
    model = DDP(net)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg["lr"])
    sampler = DistributedSampler(train_ds, seed=cfg["seed"])
    loader = DataLoader(train_ds, batch_size=cfg["batch_size"], sampler=sampler, drop_last=True)

    os.makedirs(cfg["out_dir"], exist_ok=True)
    step = 0
    for epoch in range(cfg["epochs"]):
        sampler.set_epoch(epoch)
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            gnorm = torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
            step += 1
            if step % cfg["log_every"] == 0:
                log.info("epoch %d step %d loss %.3f grad %.2f", epoch, step, loss.item(), gnorm)
        if rank == 0:
            acc, per_class = evaluate(net, dev_ds, len(label2id))
            log.info("epoch %d dev acc %.3f", epoch, acc)
            torch.save(net.state_dict(), os.path.join(cfg["out_dir"], "model.pt"))
            with open(os.path.join(cfg["out_dir"], "labels.json"), "w") as fh:
                json.dump(label2id, fh, indent=1)
            if epoch == cfg["epochs"] - 1:
                for name, i in label2id.items():
                    log.info("  %-18s recall %.3f", name, per_class[i])
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
