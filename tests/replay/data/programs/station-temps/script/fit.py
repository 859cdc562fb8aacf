import json
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

import io_utils
import stations
from model import StationNet


class Fit:
    def __init__(self, cfg):
        self.cfg = cfg
        dist.init_process_group("gloo")
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.mesh = init_device_mesh("cpu", (self.world,))
        torch.manual_seed(cfg["seed"])
        self.net = StationNet(cfg["past"], cfg["ahead"], cfg["width"], cfg["depth"])
        self.n_params = sum(p.numel() for p in self.net.parameters())
        for b in self.net.blocks:
            fully_shard(b, mesh=self.mesh)
        fully_shard(self.net, mesh=self.mesh)
        self.opt = torch.optim.AdamW(self.net.parameters(), lr=cfg["lr"])
        self.g = torch.Generator().manual_seed(100 + self.rank)
        self.series = stations.make(200, 1200, seed=1)
        self.log = os.path.join(cfg["log_dir"], "train.jsonl")

    def say(self, **row):
        if self.rank == 0:
            io_utils.append(self.log, row)
            print(" ".join(f"{k}={v}" for k, v in row.items()), flush=True)

    def run(self):
        c = self.cfg
        self.say(event="start", ranks=self.world, params=self.n_params, batch=c["batch"])
        t0 = time.time()
        for step in range(1, c["steps"] + 1):
            x, y = stations.batch(self.series, c["past"], c["ahead"], c["batch"], self.g)
            loss = F.mse_loss(self.net(x), y)
            loss.backward()
            self.opt.step()
            self.opt.zero_grad()
            if step % c["log_every"] == 0:
                v = loss.detach().clone()
                dist.all_reduce(v)
                self.say(step=step, mse=round(v.item() / self.world, 5), sec=round(time.time() - t0, 1))
        path = c["weights"]
        state = io_utils.write_weights(self.net, path, self.rank)
        dist.barrier()
        self.say(event="saved", file=path, tensors=len(state),
                 mb=round(os.path.getsize(path) / 2 ** 20, 3))
        dist.destroy_process_group()


if __name__ == "__main__":
    with open(sys.argv[1]) as f:
        Fit(json.load(f)).run()
