"""Joint forecasting of speed, flow and (where a camera exists) queue length at road sensors."""
import csv
import json
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

CFG = dict(history=24, horizon=6, sensors=20, hidden=64, batch=32, epochs=4, lr=2e-3, windows=1600, seed=11)


def make_windows(cfg, split):
    g = torch.Generator().manual_seed(100 + split)
    n, t = cfg["windows"] if split == 0 else 240, cfg["history"] + cfg["horizon"]
    start = torch.randint(0, 288, (n, 1), generator=g)
    tod = (start + torch.arange(t)) % 288
    sensor = torch.randint(0, cfg["sensors"], (n,), generator=g)
    rush = torch.exp(-((tod - 96) / 18.0) ** 2) + 0.8 * torch.exp(-((tod - 210) / 24.0) ** 2)
    scale = 0.5 + sensor.float().unsqueeze(1) / cfg["sensors"]
    speed = 1.0 - 0.6 * rush * scale + 0.05 * torch.randn(n, t, generator=g)
    flow = 0.3 + rush * (1.2 - 0.5 * scale) + 0.05 * torch.randn(n, t, generator=g)
    queue = torch.relu(rush * scale - 0.4) * 3 + 0.05 * torch.randn(n, t, generator=g)
    has_cam = (sensor % 10 == 0).float()
    h = cfg["history"]
    x = torch.stack([speed[:, :h], flow[:, :h], tod[:, :h] / 288.0], -1)
    y = torch.stack([speed[:, h:], flow[:, h:], queue[:, h:]], 1)
    return TensorDataset(x.float(), sensor, y.float(), has_cam)


class MultiTaskForecaster(nn.Module):
    tasks = ("speed", "flow", "queue")

    def __init__(self, cfg):
        super().__init__()
        self.sensor = nn.Embedding(cfg["sensors"], 8)
        self.rnn = nn.GRU(3 + 8, cfg["hidden"], batch_first=True)
        self.heads = nn.ModuleDict({t: nn.Linear(cfg["hidden"], cfg["horizon"]) for t in self.tasks})
        # learned log-variance of each task (homoscedastic uncertainty weighting)
        self.log_var = nn.Parameter(torch.zeros(len(self.tasks)))

    def forward(self, x, sensor, with_queue=True):
        e = self.sensor(sensor).unsqueeze(1).expand(-1, x.size(1), -1)
        _, h = self.rnn(torch.cat([x, e], -1))
        out = {t: self.heads[t](h[-1]) for t in ("speed", "flow")}
        if with_queue:
            out["queue"] = self.heads["queue"](h[-1])
        return out


class WeightedLoss(nn.Module):
    def forward(self, out, y, has_cam, log_var):
        total, parts = 0.0, {}
        for i, task in enumerate(MultiTaskForecaster.tasks):
            if task not in out:
                continue
            err = (out[task] - y[:, i]).pow(2).mean(1)
            err = (err * has_cam).sum() / has_cam.sum() if task == "queue" else err.mean()
            total = total + torch.exp(-log_var[i]) * err + log_var[i]
            parts[task] = err.item()
        return total, parts


def main():
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    cfg = CFG
    torch.manual_seed(cfg["seed"])
    net = MultiTaskForecaster(cfg)
    # batches without a camera do not touch the queue head
    model = DistributedDataParallel(net, find_unused_parameters=True)
    crit = WeightedLoss()
    opt = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    train = make_windows(cfg, 0)
    sampler = DistributedSampler(train, seed=cfg["seed"])
    loader = DataLoader(train, cfg["batch"], sampler=sampler, drop_last=True)
    vx, vs, vy, vc = make_windows(cfg, 1).tensors

    out_file = None
    if rank == 0:
        os.makedirs("logs", exist_ok=True)
        json.dump(cfg, open("logs/config.json", "w"), indent=1)
        out_file = csv.writer(open("logs/metrics.csv", "w", buffering=1))
        out_file.writerow(["epoch", "step", "loss", "speed", "flow", "queue", "sec"])
    print(f"rank {rank}/{world}: {len(loader)} batches, {sum(p.numel() for p in net.parameters())} parameters", flush=True)
    t0, step = time.time(), 0
    for epoch in range(cfg["epochs"]):
        sampler.set_epoch(epoch)
        for x, s, y, cam in loader:
            pred = model(x, s, with_queue=bool(cam.any()))
            loss, parts = crit(pred, y, cam, model.module.log_var)
            opt.zero_grad()
            loss.backward()
            opt.step()
            step += 1
            if out_file and step % 5 == 0:
                out_file.writerow([epoch, step, f"{loss.item():.4f}"] + [f"{parts.get(t, float('nan')):.4f}" for t in net.tasks]
                                  + [f"{time.time() - t0:.1f}"])
        with torch.no_grad():
            _, parts = crit(net(vx, vs), vy, vc, net.log_var)
        if rank == 0:
            w = [f"{v:.3f}" for v in torch.exp(-net.log_var).tolist()]
            print(f"epoch {epoch}: val " + " ".join(f"{k} {v:.4f}" for k, v in parts.items()) + f" weights {w}", flush=True)
    if rank == 0:
        torch.save(net.state_dict(), "traffic.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
