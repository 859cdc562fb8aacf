import json
import logging
import sys

import torch
import torch.distributed as dist

from ocean.fields import sample
from ocean.net import SeaNet

CFG = dict(rows=48, cols=64, batch=4, steps=60, lr=3e-3, width=12, seed=8)


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format=f"%(asctime)s [band {rank}] %(message)s")
    log = logging.getLogger()
    torch.manual_seed(CFG["seed"])
    net = SeaNet(CFG["width"])
    opt = torch.optim.Adam(net.parameters(), lr=CFG["lr"])
    rows = CFG["rows"] // world
    log.info("config %s", json.dumps(CFG))
    log.info("rows %d to %d of %d, %d parameters", rank * rows, (rank + 1) * rows - 1, CFG["rows"], sum(p.numel() for p in net.parameters()))
    gen = torch.Generator().manual_seed(CFG["seed"])     # same fields everywhere, each band takes its rows

    for step in range(1, CFG["steps"] + 1):
        x, y = sample(gen, CFG["batch"], CFG["rows"], CFG["cols"])
        x, y = (v[..., rank * rows:(rank + 1) * rows, :].contiguous() for v in (x, y))
        loss = ((net(x) - y) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        for p in net.parameters():
            dist.all_reduce(p.grad)
            p.grad /= world
        opt.step()
        if step == 1 or step % 10 == 0:
            log.info("step %d  mse in band %.4f", step, loss.item())
    if rank == 0:
        torch.save(net.state_dict(), "seanet.pt")
        log.info("saved seanet.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
