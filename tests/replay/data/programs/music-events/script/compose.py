import json
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tools.offload import OffloadAdam


class EventModel(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.emb = nn.Embedding(s["events"], s["width"])
        self.rnn = nn.GRU(s["width"], s["width"], s["layers"], batch_first=True)
        self.out = nn.Linear(s["width"], s["events"])

    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])


def tunes(s, seed):
    g = torch.Generator().manual_seed(seed)
    while True:
        start = torch.randint(s["events"], (s["batch"], 1), generator=g)
        hop = torch.randint(1, 5, (s["batch"], s["length"]), generator=g).cumsum(1)
        yield (start + hop) % s["events"]


def main():
    s = json.load(open(sys.argv[1]))
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(2)
    net = DDP(EventModel(s))
    st = s["optimizer_state"]
    opt = OffloadAdam(net.parameters(), s["lr"], st["where"], os.path.join(st.get("folder", "."), f"rank{rank}"))
    if rank == 0:
        n = sum(p.numel() for p in net.parameters())
        print(f"{n / 1e6:.2f}M parameters, optimizer state {12 * n / 2**20:.0f} MiB in {st['where']}, {world} ranks, "
              f"host memory {os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') >> 30} GiB", flush=True)
    data = tunes(s, 50 + rank)
    for step in range(s["steps"]):
        a = time.perf_counter()
        x = next(data)
        loss = nn.functional.cross_entropy(net(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
        b = time.perf_counter()
        loss.backward()
        c = time.perf_counter()
        opt.step()
        opt.zero_grad()
        d = time.perf_counter()
        if rank == 0:
            print(f"step {step} loss {loss.item():.3f} | forward {b - a:.3f} backward {c - b:.3f} optimizer {d - c:.3f} "
                  f"total {d - a:.3f} s | {x.numel() * world / (d - a):.0f} events/s", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
