import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from actors import actor_loop

mp.set_start_method("spawn")
torch.set_num_threads(1)

N_ACTORS = 2
HORIZON = 32
UPDATES = 8


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.mu = nn.Linear(64, 1)
        self.v = nn.Linear(64, 1)
        self.logstd = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        h = self.body(x)
        return self.mu(h).squeeze(-1), self.v(h).squeeze(-1), self.logstd


class Pool:
    def __init__(self, rank):
        self.out = mp.Queue()
        self.inq = [mp.Queue() for _ in range(N_ACTORS)]
        self.procs = []
        for i in range(N_ACTORS):
            p = mp.Process(target=actor_loop, args=(i, 1000 * rank + i, self.inq[i], self.out), daemon=True)
            p.start()
            self.procs.append(p)

    def collect(self):
        rows = [None] * N_ACTORS
        for _ in range(N_ACTORS):
            i, obs, r, done = self.out.get()
            rows[i] = (obs, r, done)
        obs, r, done = zip(*rows)
        return torch.tensor(obs), torch.tensor(r), torch.tensor(done)

    def act(self, u):
        for q, a in zip(self.inq, u.tolist()):
            q.put(a)

    def close(self):
        for q in self.inq:
            q.put(None)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(rank)
    net = DDP(Policy())
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    print(f"[{rank}] starting {N_ACTORS} actors", flush=True)
    pool = Pool(rank)
    obs, _, _ = pool.collect()
    for up in range(UPDATES):
        O, U, R, D = [], [], [], []
        for _ in range(HORIZON):
            with torch.no_grad():
                mu, _, ls = net.module(obs)
            u = (mu + ls.exp() * torch.randn_like(mu)).clamp(-2, 2)
            O.append(obs)
            U.append(u)
            pool.act(u)
            obs, r, d = pool.collect()
            R.append(r * 0.1)
            D.append(d)
        ret, G = [], torch.zeros(N_ACTORS)
        for r, d in zip(reversed(R), reversed(D)):
            G = r + 0.95 * G * (~d)
            ret.insert(0, G)
        o, u, g = torch.cat(O), torch.cat(U), torch.cat(ret)
        mu, v, ls = net(o)
        logp = torch.distributions.Normal(mu, ls.exp()).log_prob(u)
        adv = (g - v).detach()
        loss = -(logp * adv).mean() + 0.5 * (g - v).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        m = torch.cat(R).mean()
        dist.all_reduce(m)
        if rank == 0:
            print(f"update {up} loss {loss.item():.3f} reward {m.item() / dist.get_world_size():.3f}", flush=True)
    pool.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
