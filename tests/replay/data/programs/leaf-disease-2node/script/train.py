import argparse
import os
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
import yaml
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from leafnet.data import LeafScans
from leafnet.model import LeafNet


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", default="config.yaml")
    args = ap.parse_args()
    cfg = yaml.safe_load(open(args.config))

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    local = int(os.environ["LOCAL_RANK"])
    torch.manual_seed(cfg["run"]["seed"])
    print(f"[{rank}/{world}] up, local rank {local}, group rank {os.environ['GROUP_RANK']}", flush=True)

    d = cfg["data"]
    train = LeafScans(d["train_images"], d["classes"], d["image_size"], seed=1)
    val = LeafScans(d["val_images"], d["classes"], d["image_size"], seed=2)
    sampler = DistributedSampler(train, shuffle=True, drop_last=True)
    loader = DataLoader(train, d["batch_per_rank"], sampler=sampler, drop_last=True)
    val_loader = DataLoader(val, 64, sampler=DistributedSampler(val, shuffle=False))

    model = DDP(LeafNet(cfg["model"]["width"], d["classes"]))
    o = cfg["optim"]
    opt = torch.optim.SGD(model.parameters(), lr=o["lr"], momentum=o["momentum"], weight_decay=o["weight_decay"], nesterov=True)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, o["lr"], total_steps=o["epochs"] * len(loader))

    for epoch in range(o["epochs"]):
        sampler.set_epoch(epoch)
        model.train()
        t0 = time.time()
        for x, y in loader:
            loss = F.cross_entropy(model(x), y, label_smoothing=0.05)
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
        model.eval()
        hit = torch.zeros(2)
        with torch.no_grad():
            for x, y in val_loader:
                hit += torch.tensor([(model(x).argmax(1) == y).sum().item(), len(y)])
        dist.all_reduce(hit)
        if rank == 0:
            print(f"epoch {epoch}  loss {loss.item():.4f}  val acc {hit[0] / hit[1]:.3f}  lr {sched.get_last_lr()[0]:.4f}  {time.time() - t0:.1f}s", flush=True)
    if rank == 0:
        os.makedirs(cfg["run"]["out"], exist_ok=True)
        torch.save(model.module.state_dict(), os.path.join(cfg["run"]["out"], "leafnet.pt"))
        print("saved", cfg["run"]["out"] + "/leafnet.pt", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
