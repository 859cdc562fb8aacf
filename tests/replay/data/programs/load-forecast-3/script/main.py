import sys
import tomllib

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F

from forecast import model as zoo
from forecast import series, storage


def train(rank, cfg, phase):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{cfg['port']}", rank=rank, world_size=cfg["ranks"])
    part = cfg[phase]
    torch.manual_seed(cfg["seed"])
    net = zoo.build(cfg["model"], cfg["ranks"])
    if rank == 0:
        print(f"{phase}: {sum(p.numel() for p in net.parameters())} parameters, {part['sites']} sites", flush=True)
    if "init" in part:
        n = storage.start_from(net, part["init"])
        if rank == 0:
            print(f"{phase}: {n} tensors from {part['init']}", flush=True)
    opt = torch.optim.AdamW(net.parameters(), lr=part["lr"])
    data = series.make(part["sites"], 24 * 60, part["data_seed"])
    windows = series.Windows(data, cfg["model"]["context"], cfg["model"]["horizon"], rank, cfg["ranks"], cfg["seed"])
    for step in range(1, part["steps"] + 1):
        past, future = windows.draw(cfg["batch"])
        loss = F.l1_loss(net(past), future)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % part["report"] == 0:
            mean = loss.detach().clone()
            dist.all_reduce(mean)
            if rank == 0:
                print(f"{phase}: step {step:4d}  mae {mean.item() / cfg['ranks']:.4f}", flush=True)
    storage.export(net, part["save"])
    if rank == 0:
        print(f"{phase}: wrote {part['save']}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    cfg = tomllib.load(open(sys.argv[1], "rb"))
    for phase in sys.argv[2:]:
        mp.spawn(train, args=(cfg, phase), nprocs=cfg["ranks"])
