import logging
import os
import sys

import kwspot
import torch
import torch.distributed as dist
from kwspot.config import TrainConfig
from kwspot.data import batches
from kwspot.model import Spotter
from torch.nn.parallel import DistributedDataParallel as DDP

CKPT = "ckpt/last.pt"


def load_or_new(log):
    if os.path.exists(CKPT):
        state = torch.load(CKPT, map_location="cpu", weights_only=False)
        log.info("resuming %s after epoch %d", CKPT, state["epoch"])
        return state["cfg"], state
    return TrainConfig(), None


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(stream=sys.stdout, level=logging.INFO,
                        format=f"%(asctime)s rank{rank} %(levelname)s %(message)s")
    log = logging.getLogger("train")
    log.info("kwspot %s torch %s world %d", kwspot.__version__, torch.__version__, world)
    torch.manual_seed(0)
    cfg, state = load_or_new(log)
    until = int(os.environ.get("EPOCHS", cfg.epochs))
    model = Spotter(cfg)
    if state:
        model.load_state_dict(state["model"])
    net = DDP(model)
    opt = torch.optim.AdamW(net.parameters(), lr=cfg.lr)
    if state:
        opt.load_state_dict(state["opt"])
    log.info("%d parameters, lr %g", sum(p.numel() for p in model.parameters()), cfg.lr)

    for epoch in range(state["epoch"] + 1 if state else 0, until):
        tot = hit = n = 0
        for x, y in batches(cfg, rank, epoch):
            logits = net(x)
            loss = torch.nn.functional.cross_entropy(logits, y)
            opt.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            tot += loss.item()
            hit += (logits.argmax(1) == y).sum().item()
            n += len(y)
        log.info("epoch %d loss %.4f acc %.3f", epoch, tot / cfg.steps, hit / n)
        if rank == 0:
            os.makedirs("ckpt", exist_ok=True)
            torch.save({"epoch": epoch, "cfg": cfg, "model": model.state_dict(), "opt": opt.state_dict()}, CKPT)
            log.info("saved %s", CKPT)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
