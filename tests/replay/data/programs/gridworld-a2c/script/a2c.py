"""Advantage actor-critic in a grid with a moving goal; every rank has its own copies of the grid."""
import csv
import datetime
import os
import socket
import sys
import time

import numpy as np
import torch
import torch.distributed as dist
from torch import nn

UPDATES = 240
ENVS, HORIZON, SIZE = 8, 24, 6
GAMMA, LR, ENTROPY = 0.97, 3e-3, 0.01
SAVE_EVERY = 20


class Grid:
    MOVES = np.array([[0, 1], [0, -1], [1, 0], [-1, 0]])

    def __init__(self, rng):
        self.rng = rng
        self.reset()

    def reset(self):
        self.me, self.goal = self.rng.integers(0, SIZE, 2), self.rng.integers(0, SIZE, 2)
        self.t = 0

    def see(self):
        return np.concatenate([self.me / SIZE, self.goal / SIZE, (self.goal - self.me) / SIZE])

    def act(self, a):
        self.me = np.clip(self.me + self.MOVES[a], 0, SIZE - 1)
        self.t += 1
        hit = bool((self.me == self.goal).all())
        done = hit or self.t >= 30
        reward = 1.0 if hit else -0.02
        if done:
            self.reset()
        return reward, done, hit


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh())
        self.pi, self.v = nn.Linear(48, 4), nn.Linear(48, 1)

    def forward(self, x):
        h = self.body(x)
        return self.pi(h), self.v(h).squeeze(-1)


class Learner:
    def __init__(self, run_dir):
        dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=25))
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        torch.manual_seed(0)
        self.policy = Policy()
        self.opt = torch.optim.Adam(self.policy.parameters(), lr=LR)
        self.envs = [Grid(np.random.default_rng(100 * self.rank + k)) for k in range(ENVS)]
        self.path = os.path.join(run_dir, "policy.pt")
        self.first = 0
        if os.path.exists(self.path):
            state = torch.load(self.path)
            self.policy.load_state_dict(state["policy"])
            self.opt.load_state_dict(state["opt"])
            self.first = state["update"]
        print(f"{socket.gethostname()} rank {self.rank}/{self.world} from update {self.first}", flush=True)
        if self.rank == 0:
            self.file = open(os.path.join(run_dir, "progress.csv"), "a", newline="")
            self.csv = csv.writer(self.file)

    def rollout(self):
        obs, logp, val, rew, end, ent = [], [], [], [], [], []
        hits = 0
        for _ in range(HORIZON):
            x = torch.tensor(np.stack([e.see() for e in self.envs]), dtype=torch.float32)
            logits, v = self.policy(x)
            d = torch.distributions.Categorical(logits=logits)
            a = d.sample()
            out = [e.act(int(k)) for e, k in zip(self.envs, a)]
            logp.append(d.log_prob(a)); val.append(v); ent.append(d.entropy())
            rew.append(torch.tensor([o[0] for o in out])); end.append(torch.tensor([float(o[1]) for o in out]))
            hits += sum(o[2] for o in out)
        with torch.no_grad():
            ret = self.policy(torch.tensor(np.stack([e.see() for e in self.envs]), dtype=torch.float32))[1]
        returns = []
        for r, d in zip(reversed(rew), reversed(end)):
            ret = r + GAMMA * ret * (1 - d)
            returns.append(ret)
        returns = torch.stack(returns[::-1])
        val = torch.stack(val)
        adv = returns - val.detach()
        loss = -(torch.stack(logp) * adv).mean() + 0.5 * (returns - val).pow(2).mean() - ENTROPY * torch.stack(ent).mean()
        return loss, hits

    def update(self):
        loss, hits = self.rollout()
        self.opt.zero_grad()
        loss.backward()
        flat = torch.cat([p.grad.flatten() for p in self.policy.parameters()] + [torch.tensor([float(hits), loss.item()])])
        dist.all_reduce(flat)
        flat /= self.world
        at = 0
        for p in self.policy.parameters():
            p.grad.copy_(flat[at:at + p.numel()].view_as(p))
            at += p.numel()
        self.opt.step()
        return flat[-2].item(), flat[-1].item()

    def run(self):
        t0 = time.time()
        for u in range(self.first + 1, UPDATES + 1):
            hits, loss = self.update()
            if self.rank == 0 and u % 5 == 0:
                self.csv.writerow([time.strftime("%H:%M:%S"), u, round(loss, 4), round(hits, 2), self.world * ENVS * HORIZON * 5])
                self.file.flush()
            if self.rank == 0 and u % SAVE_EVERY == 0:
                torch.save({"policy": self.policy.state_dict(), "opt": self.opt.state_dict(), "update": u}, self.path)
            if u % 20 == 0:
                print(f"{time.strftime('%H:%M:%S')} {socket.gethostname()} rank {self.rank} update {u} loss {loss:.4f} hits {hits:.1f}", flush=True)
        if self.rank == 0:
            print(f"finished in {time.time() - t0:.0f}s", flush=True)


if __name__ == "__main__":
    Learner(sys.argv[1]).run()
    dist.destroy_process_group()
