import logging
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from kws.data import SpokenWords
from kws.model import TinyTCN

RUN = Path(os.environ.get("RUN_DIR", "run"))
EPOCHS = 6
LR = 3e-3


def main():
    rank = int(os.environ["RANK"])
    logging.basicConfig(
        level=logging.INFO,
        format=f"%(asctime)s [r{rank}] %(message)s",
        datefmt="%H:%M:%S",
    )
    log = logging.getLogger("kws")
    torch.set_num_threads(1)
    RUN.mkdir(exist_ok=True)
    (RUN / f"rank{rank}.pid").write_text(str(os.getpid()))

    dist.init_process_group("gloo")
    world = dist.get_world_size()
    log.info("pid %d, world %d", os.getpid(), world)

    train = SpokenWords(2400, seed=1)
    valid = SpokenWords(240, seed=2)
    sampler = DistributedSampler(train)
    loader = DataLoader(train, batch_size=16, sampler=sampler, drop_last=True)
    vloader = DataLoader(valid, batch_size=40)

    torch.manual_seed(0)
    model = DDP(TinyTCN())
    opt = torch.optim.AdamW(model.parameters(), lr=LR)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, LR, total_steps=EPOCHS * len(loader))

    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)
        model.train()
        t0 = time.time()
        for i, (x, y) in enumerate(loader):
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            time.sleep(0.05)
            if i % 10 == 0:
                log.info("epoch %d it %d/%d loss %.3f lr %.2e", epoch, i, len(loader), loss.item(), sched.get_last_lr()[0])
        model.eval()
        hit = torch.zeros(2)
        with torch.no_grad():
            for j, (x, y) in enumerate(vloader):
                if j % world == rank:
                    hit[0] += (model.module(x).argmax(1) == y).sum()
                    hit[1] += len(y)
        dist.all_reduce(hit)
        log.info("epoch %d done in %.1fs, accuracy %.3f", epoch, time.time() - t0, (hit[0] / hit[1]).item())
        if rank == 0:
            torch.save(model.module.state_dict(), RUN / "kws.pt")
            log.info("saved %s", RUN / "kws.pt")

    dist.destroy_process_group()


if __name__ == "__main__":
    main()
